"""What servers say of their limits, and how the limits are kept."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.llm.exchange import retry_after_s
from goldbench.llm.limits import RateLimit, Width


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "3", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Sat, 21 Nov 2026 10:00:05 GMT", "date": "Sat, 21 Nov 2026 10:00:00 GMT"}, 5.0),
        ({"retry-after": "Mon, 01 Jan 9999999999 00:00:00 GMT"}, None),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], seconds: float | None):
    assert retry_after_s(headers, now=datetime(2026, 11, 21, 10, tzinfo=UTC)) == seconds


@given(st.integers(1, 20), st.lists(st.floats(0, 20), min_size=1, max_size=100))
def test_no_60_seconds_hold_more_than_the_limit(limit: int, gaps: list[float]):
    window, now = RateLimit(limit), 0.0
    sent: list[float] = []
    for gap in gaps:
        now += gap
        now += window.wait_s(1, now)
        while wait := window.wait_s(1, now):  # rounding may leave a hair
            now += max(wait, 1e-9)
        window.spend(1, now)
        sent.append(now)
    for start in sent:
        assert sum(start <= at < start + 60 - 1e-6 for at in sent) <= limit


def test_a_call_larger_than_the_limit_waits_for_an_empty_window():
    window = RateLimit(100)
    assert window.wait_s(500, 0.0) == 0.0
    window.spend(500, 0.0)
    assert window.wait_s(500, 10.0) == pytest.approx(50.0)


def test_the_width_finds_what_the_server_can_take_and_comes_back():
    width = Width(64)
    for capacity, least, most in ((16, 12, 26), (64, 64, 64)):
        for _ in range(40):
            for number in range(width.now):
                width.record(overloaded=number >= capacity)
        assert least <= width.now <= most
