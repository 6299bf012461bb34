"""Shares become exact numbers, and passages are told what they are asked."""

from __future__ import annotations

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from goldbench.records.query import QueryKind
from goldbench.text.shares import allotted, quotas

SHARES = st.dictionaries(st.sampled_from(list(QueryKind)), st.floats(0.01, 50), min_size=1)


@given(SHARES, st.integers(0, 500))
def test_quotas_add_up_and_none_is_a_whole_query_off(shares: dict[QueryKind, float], count: int) -> None:
    numbers = quotas(shares, count)
    assert sum(numbers.values()) == count
    total = math.fsum(shares.values())
    assert all(abs(numbers[kind] - count * share / total) < 1 + 1e-6 for kind, share in shares.items())


def test_shares_of_a_hundred_are_these_numbers() -> None:
    shares = {QueryKind.FACT: 0.4, QueryKind.MULTI_HOP: 0.2, QueryKind.REASON: 0.15, QueryKind.SUMMARY: 0.25}
    assert quotas(shares, 100) == {"fact": 40, "multi_hop": 20, "reason": 15, "summary": 25}
    assert quotas({QueryKind.FACT: 1, QueryKind.REASON: 1, QueryKind.SUMMARY: 0}, 3) == {"fact": 2, "reason": 1}


@given(SHARES, st.integers(1, 60), st.integers(0, 9))
def test_passages_are_asked_in_the_proportions_of_what_is_missing(
    shares: dict[QueryKind, float], count: int, seed: int
) -> None:
    missing = {kind: number for kind, number in quotas(shares, count).items() if number}
    ids = [f"c{number}" for number in range(count)]
    assert Counter(allotted(ids, missing, seed=seed)) == missing
    assert allotted(ids, missing, seed=seed) == allotted(ids, dict(reversed(missing.items())), seed=seed)
