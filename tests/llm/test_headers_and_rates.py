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
        ({"retry-after": "Sat, 21 Nov 2026 10:00:09 GMT"}, 9.0),
        ({"retry-after": "Sat, 21 Nov 2026 09:00:00 GMT"}, 0.0),
        ({"retry-after": "whenever"}, None),
        ({"retry-after": "Mon, 01 Jan 9999999999 00:00:00 GMT"}, None),
        ({"retry-after": "Mon, 01 Jan 2024 00:00:00 +99999999999999999"}, None),
        ({"retry-after": "Sat, 21 Nov 2026 10:00:05 GMT", "date": "Mon, 01 Jan 9999999999 00:00:00 GMT"}, 5.0),
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


def _rounds(width: Width, *, capacity: int, rounds: int) -> None:
    for _ in range(rounds):
        now = width.now
        for place in range(now):
            width.record(overloaded=place >= capacity)


def test_the_width_finds_what_the_server_can_take_and_comes_back():
    width = Width(64)
    _rounds(width, capacity=16, rounds=40)
    assert 12 <= width.now <= 26
    _rounds(width, capacity=64, rounds=40)
    assert width.now == 64


def test_a_server_that_turns_everything_away_is_left_with_one_call():
    width = Width(64)
    _rounds(width, capacity=0, rounds=12)
    assert width.now == 1


def test_one_refusal_in_five_leaves_most_of_the_width():
    width = Width(64)
    for count in range(5000):
        width.record(overloaded=count % 5 == 0)
    assert width.now >= 32
