"""What servers say of their limits, and how the limits are kept."""

from __future__ import annotations

import pytest

from goldbench.llm.exchange import retry_after_s
from goldbench.llm.limits import Width


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "3", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "nan", "retry-after-ms": "-1"}, None),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], seconds: float | None):
    assert retry_after_s(headers) == seconds


def test_the_width_finds_what_the_server_can_take_and_comes_back():
    width = Width(64)
    for capacity, least, most in ((16, 12, 26), (64, 64, 64)):
        for _ in range(40):
            for number in range(width.now):
                width.record(is_overloaded=number >= capacity, seconds=1.0)
        assert least <= width.now <= most
