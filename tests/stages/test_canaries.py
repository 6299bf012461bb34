"""Canaries: what they are made of, how many there are, and when they trip."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.records.corpus import Chunk, Evidence, Span
from goldbench.records.judgment import Canary, Judgment
from goldbench.records.query import Query
from goldbench.records.relevance import Relevance
from goldbench.stages.canaries import CHECKS, TRAPS, findings, how_many, plant, tally
from goldbench.text.words import content_terms, index_terms

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa")
CHUNKS = [
    Chunk(
        chunk_id=f"c{number}",
        span=Span(doc_id=f"d{number}", start=0, end=1),
        text=" ".join(f"{word}{number}" for word in WORDS * 3),
    )
    for number in range(40)
]
QUERIES = [
    Query(
        query_id=f"q{number}",
        chunk_id=f"c{number}",
        text=f"where is alpha{number} beta{number}",
        generator="t",
        evidence=(Evidence(doc_id=f"d{number}", start=0, end=1, quote=f"alpha{number} is here"),),
    )
    for number in range(10)
]


class Chunks(list[Chunk]):
    def at(self, position: int) -> Chunk:
        return self[position]


def pooled(query_id: str) -> set[str]:
    return {f"c{query_id[1:]}", "c20", "c21"}


def test_traps_are_unrelated_chunks_from_outside_the_pool_and_the_control_is_the_evidence() -> None:
    made = list(plant(QUERIES, count=40, chunks=Chunks(CHUNKS), pooled=pooled))
    assert {canary.kind for canary in made} == set(CHECKS)
    texts = {chunk.chunk_id: chunk.text for chunk in CHUNKS}
    for canary in made:
        if canary.kind is Canary.EVIDENCE_ALONE:
            assert canary.text == canary.query.evidence[0].quote
            continue
        assert canary.chunk_id not in pooled(canary.query.query_id)
        text = texts[canary.chunk_id]
        assert not set(content_terms(canary.query.text, None)) & index_terms(text, None)
        if canary.kind is Canary.QUERY_WORDS:
            assert set(canary.query.text.split()) <= set(canary.text.split())
        if canary.kind is Canary.CLAIMED_RELEVANT:
            assert canary.text.startswith(text)
            assert "perfectly relevant" in canary.text
        if canary.kind is Canary.UNRELATED:
            assert canary.text == text


def test_more_canaries_leave_the_first_as_they_are() -> None:
    few = list(plant(QUERIES, count=8, chunks=Chunks(CHUNKS), pooled=pooled))
    assert few == list(islice(plant(QUERIES, count=30, chunks=Chunks(CHUNKS), pooled=pooled), len(few)))


@given(calls=st.integers(100, 10_000), share=st.floats(0.01, 0.5))
def test_canaries_are_the_share_of_all_calls(calls: int, share: float) -> None:
    count = how_many(calls, share)
    assert count >= 12
    assert count / (count + calls) >= share - 1e-9
    assert count <= 12 or (count - 1) / (count - 1 + calls) < share


@pytest.mark.parametrize(("fooled", "warnings", "failed"), [(10, 0, 0), (11, 1, 0), (25, 1, 0), (26, 0, 1)])
def test_traps_warn_above_a_tenth_and_fail_above_a_quarter(fooled: int, warnings: int, failed: int) -> None:
    found = findings(dict.fromkeys(TRAPS[:2], (20, 0)) | {TRAPS[2]: (60, fooled)})
    assert (len(found.warnings), len(found.failed)) == (warnings, failed)


@pytest.mark.parametrize(("found", "verdict"), [(90, "passed"), (89, "warning"), (50, "warning"), (49, "failed")])
def test_the_control_warns_below_nine_tenths_and_fails_below_a_half(found: int, verdict: str) -> None:
    assert findings({Canary.EVIDENCE_ALONE: (100, found)}).verdict == verdict


def test_a_single_answer_that_is_missed_only_warns_but_a_judge_that_refutes_most_sources_fails() -> None:
    alone = {Canary.EVIDENCE_ALONE: (1, 0)}
    assert findings(alone).verdict == "warning"
    none, some = Relevance.UNRELATED, Relevance.SAME_TOPIC
    assert findings(alone, sources=[none, some]).verdict == "warning"
    assert findings({}, sources=[none, none, some]).failed == (
        "2 of 3 sources known to answer their query are graded 0 (67%, more than 50%)",
    )


def test_checks_without_a_usable_reply_warn_and_fail_if_no_other_check_was_answered() -> None:
    assert findings({}).verdict == "not asked"
    assert findings({}, unanswered=4).failed == ("no usable reply came to 4 of 4 judge checks",)
    assert findings({Canary.UNRELATED: (3, 0)}, unanswered=1).verdict == "warning"


def test_a_canary_counts_by_the_judges_own_grade_although_a_guard_took_it_down() -> None:
    capped = Judgment(
        query_id="q",
        chunk_id="c",
        relevance=Relevance.SAME_TOPIC,
        assessor="m",
        capped=True,
        canary=Canary.CLAIMED_RELEVANT,
    )
    assert tally([capped]) == {Canary.CLAIMED_RELEVANT: (1, 1)}
