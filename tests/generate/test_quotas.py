"""Categories get their number, and give it up where the model does not write them."""

from __future__ import annotations

from collections import Counter

import pytest

from goldbench.generate.quotas import FIRST_TRIES, TRIES, Quotas, missing_beside
from goldbench.records.query import QueryKind

FACT, REASON, SUMMARY = QueryKind.FACT, QueryKind.REASON, QueryKind.SUMMARY


def tried(accepted: int, tries: int) -> Quotas[QueryKind]:
    """Return quotas of which ``REASON`` was tried and accepted so often."""
    kinds = Quotas({FACT: 1, REASON: 1, SUMMARY: 0}, {FACT: 4, REASON: 60})
    kinds.tries[REASON] = tries
    for _ in range(accepted):
        kinds.count(REASON, requested=REASON)
    return kinds


@pytest.mark.parametrize(
    ("accepted", "tries", "given_up"),
    [(0, FIRST_TRIES, True), (1, FIRST_TRIES, False), (1, TRIES, True), (2, TRIES, False)],
)
def test_a_kind_is_given_up_after_six_tries_with_none_accepted_or_twenty_with_fewer_than_a_tenth(
    accepted: int, tries: int, given_up: bool
) -> None:
    hopeless = dict(tried(accepted, tries).hopeless())
    assert list(hopeless) == ([REASON] if given_up else [])
    assert all(str(tries) in reason for reason in hopeless.values())


def test_what_is_written_as_another_kind_counts_as_what_it_is_and_not_as_a_success() -> None:
    kinds = tried(0, FIRST_TRIES)
    kinds.count(FACT, requested=REASON)
    assert kinds.missing == {FACT: 3, REASON: 60}
    assert [kind for kind, _ in kinds.hopeless()] == [REASON]


def test_what_a_kind_lacks_goes_to_the_others_of_which_more_can_be_written() -> None:
    kinds = tried(2, TRIES)
    kinds.give_up(REASON, "too few")
    assert kinds.missing == {FACT: 62, REASON: 0}
    assert set(kinds.request(QueryKind, ["a", "b"], seed=0).values()) == {FACT}
    kinds = tried(2, TRIES)
    kinds.give_up(REASON, "too few", exhausted=[FACT])
    assert kinds.missing == {FACT: 4, REASON: 0}


def test_a_surplus_of_one_kind_takes_from_the_others() -> None:
    wanted = {FACT: 4, REASON: 2}
    assert missing_beside(Counter({FACT: 1}), wanted, count=5) == {FACT: 3, REASON: 2}
    assert missing_beside(Counter({REASON: 4}), wanted, count=2) == {FACT: 2}
