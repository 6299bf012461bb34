"""What servers say of their limits, and how the limits are kept."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.llm.exchange_end import Allowance, allowance, duration_s, retry_after_s
from goldbench.llm.limits import Quota, Width


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1", 1.0), ("1.5s", 1.5), ("6m0s", 360.0), ("120ms", 0.12), ("1h2m3s", 3723.0), ("1m0.5s", 60.5)],
)
def test_durations_are_read(text: str, seconds: float):
    assert duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "-1", "nan", "inf", "1x", "s"])
def test_what_is_no_duration_says_nothing(text: str):
    assert duration_s(text) is None


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


def test_what_is_left_is_read():
    headers = {"x-ratelimit-remaining-requests": "7", "x-ratelimit-reset-requests": "1m2s"}
    assert allowance(headers) == Allowance(requests=7, requests_reset_s=62.0)
    assert allowance({"content-type": "x"}) is None


@given(st.integers(1, 20), st.lists(st.floats(0, 20), min_size=1, max_size=100))
def test_no_60_seconds_hold_more_than_the_limit(limit: int, gaps: list[float]):
    window, now = Quota(limit), 0.0
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
    window = Quota(100)
    assert window.wait_s(500, 0.0) == 0.0
    window.spend(500, 0.0)
    assert window.wait_s(500, 10.0) == pytest.approx(50.0)


def test_the_announced_rest_is_used_up_and_then_waited_for():
    quota = Quota()
    quota.announce(2, 5.0, sent=0.0, later=0, now=0.0)
    quota.spend(1, 0.0)
    quota.spend(1, 0.0)
    assert quota.wait_s(1, 1.0) == pytest.approx(4.0)
    assert quota.wait_s(1, 5.0) == 0.0
    quota.spend(1, 5.0)
    assert quota.wait_s(1, 5.1) > 0


@pytest.mark.parametrize("reset", ["365d", "1e300", "9" * 400 + "s"])
def test_no_announced_wait_is_believed_without_limit(reset: str):
    headers = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": reset}
    left = allowance(headers)
    assert left is not None
    quota = Quota(longest_s=300.0)
    quota.announce(left.requests, left.requests_reset_s, sent=0.0, later=0, now=0.0)
    assert quota.wait_s(1, 0.0) == pytest.approx(300.0)
    assert quota.wait_s(1, 300.0) == 0.0


def test_an_answer_that_was_overtaken_does_not_overrule_what_is_left():
    quota = Quota()
    quota.announce(0, 9.0, sent=2.0, later=0, now=3.0)
    quota.announce(50, 9.0, sent=1.0, later=0, now=4.0)
    assert quota.wait_s(1, 4.0) == pytest.approx(8.0)


def _rounds(width: Width, *, capacity: int, rounds: int) -> None:
    for _ in range(rounds):
        now = width.now
        for place in range(now):
            width.hear(overloaded=place >= capacity)


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
        width.hear(overloaded=count % 5 == 0)
    assert width.now >= 32
