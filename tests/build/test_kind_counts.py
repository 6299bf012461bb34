"""Kinds about single passages get their number, and give it up where the model does not write them."""

from __future__ import annotations

import pytest

from goldbench.pipeline.build.kind_counts import TRIES, PassageKinds, too_few
from goldbench.schemas.query import Assignment, Candidate, QueryKind, QueryStyle

FACT, REASON, SUMMARY = QueryKind.FACT, QueryKind.REASON, QueryKind.SUMMARY


def candidate(asked: QueryKind, kind: QueryKind) -> Candidate:
    assignment = Assignment(kind=asked, style=QueryStyle.QUESTION)
    return Candidate(chunk_id="c", text="How long?", generator="g", kind=kind, asked=assignment)


@pytest.mark.parametrize(("kept", "tries", "dropped"), [(0, TRIES - 1, False), (1, TRIES, True), (2, TRIES, False)])
def test_a_kind_is_dropped_after_twenty_tries_with_fewer_than_a_tenth_accepted(
    kept: int, tries: int, dropped: bool
) -> None:
    assert (too_few(kept, tries) is not None) is dropped


def test_a_query_counts_as_what_it_is_and_enough_is_enough() -> None:
    kinds = PassageKinds({FACT: 1, REASON: 2}, seed=0)
    assert kinds.refuse(candidate(REASON, FACT)) is None
    kinds.count(candidate(REASON, FACT))
    refused = kinds.refuse(candidate(FACT, FACT))
    assert refused is not None
    assert refused.filter == "kind-quota"
    assert set(kinds.asked(["a", "b", "c"]).values()) == {REASON}


def test_a_kind_that_is_always_written_as_another_gives_its_number_to_the_others() -> None:
    kinds = PassageKinds({FACT: 4, REASON: 6, SUMMARY: 0}, seed=0)
    for _ in range(4):
        kinds.count(candidate(FACT, FACT))
    for _ in range(TRIES):
        kinds.tried([candidate(REASON, FACT)])
    kinds.drop_hopeless()
    assert list(kinds.dropped) == [REASON]
    assert kinds.wanted == {FACT: 10, REASON: 0, SUMMARY: 0}


def test_the_last_kind_is_never_dropped() -> None:
    kinds = PassageKinds({REASON: 6}, seed=0)
    for _ in range(2 * TRIES):
        kinds.tried([candidate(REASON, FACT)])
    kinds.drop_hopeless()
    assert kinds.dropped == {}
