"""Projection: relevance carried from judged passages to another chunking of the same documents.

Reads: relevance as stretches of text, spans of chunks. Writes: grades by chunk.
Fails: never; a query whose evidence no chunk holds is left out, with the reason.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from goldbench.records.corpus import Chunk, Evidence, Span
from goldbench.records.query import JudgedPassage, Query, TextRelevance
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.text.evidence import find_quote


@dataclass(frozen=True, slots=True)
class Cuts:
    """The chunks of one document, their ids and spans, in the order of the text; starts and ends both increase."""

    chunk_ids: list[str]
    spans: list[Span]

    def meeting(self, span: Span) -> Iterator[tuple[str, Span]]:
        """Yield the chunks that share a character with a span of the document."""
        first = bisect_right(self.spans, span.start, key=lambda cut: cut.end)
        last = bisect_left(self.spans, span.end, key=lambda cut: cut.start)
        yield from zip(self.chunk_ids[first:last], self.spans[first:last], strict=True)

    def same(self, span: Span) -> str | None:
        """Return the chunk with exactly this span."""
        position = bisect_left(self.spans, span.start, key=lambda cut: cut.start)
        is_same = position < len(self.spans) and (self.spans[position].start, self.spans[position].end) == (
            span.start,
            span.end,
        )
        return self.chunk_ids[position] if is_same else None


@dataclass(frozen=True, slots=True)
class Projection:
    """A query's relevance on another chunking.

    ``grades`` are the grades of the judged chunks, ``source`` is the relevant chunk that stands for the one the query
    was written from, ``evidence`` every stretch the labels rest on, ``lost`` the number of relevant passages that no
    chunk holds, ``needs`` the chunks that are all needed, empty if one holds all of the query's evidence, ``derived``
    the relevant chunks that only derived labels make relevant.
    """

    grades: Mapping[str, Relevance]
    source: str
    evidence: tuple[Evidence, ...]
    lost: int
    needs: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()


def judged_passage(query: Query, chunk: Chunk, grade: Relevance, quotes: Iterable[str] = ()) -> JudgedPassage:
    """Return a judged chunk as a stretch of text with the evidence for its grade.

    The evidence of a relevant chunk is the query's own if the chunk holds it; else what judges quoted from the chunk;
    else the words of the query's evidence, found again in the chunk, as in a near-duplicate.

    Args:
        query: The query.
        chunk: The judged chunk.
        grade: Its grade.
        quotes: What judges quoted from it.
    """
    if grade < RELEVANT:
        return JudgedPassage(span=chunk.span, grade=grade)
    own = [evidence for evidence in query.evidence if chunk.span.contains(evidence)]
    if own:
        return JudgedPassage(span=chunk.span, grade=grade, evidence=tuple(own))
    spans = {find_quote(quote, chunk.text) for quote in quotes if quote}
    spans = spans - {None} or {find_quote(evidence.quote, chunk.text) for evidence in query.evidence} - {None}
    evidence = tuple(chunk.evidence(*span) for span in sorted(span for span in spans if span is not None))
    return JudgedPassage(span=chunk.span, grade=grade, evidence=evidence)


def project(relevance: TextRelevance, cuts: Mapping[str, Cuts]) -> Projection | str:
    """Return a query's grades on another chunking, or the reason why there are none.

    A chunk with exactly the span of a judged passage keeps its grade. Otherwise the chunks that hold all of an evidence
    span are relevant, or if there are none, those that hold at least half of it; a chunk that lies within a passage
    judged not relevant is not relevant either. Other chunks are unjudged.

    Args:
        relevance: The query and the passages judged for it.
        cuts: The chunks of each document, by its id.
    """
    grades, rests_on, lost = _graded(relevance.passages, cuts)
    own = relevance.query.evidence
    promised = [e for passage in relevance.passages if passage.grade >= RELEVANT for e in passage.evidence]
    for evidence in own:
        if evidence in promised and not _holders(evidence, cuts, grades):
            return f"no chunk holds half of its evidence, {evidence.end - evidence.start} characters"
    source = _source(relevance, cuts, grades)
    if source is None:
        return "none of its relevant passages is in a chunk"
    others = [rests_on[position] for position in sorted(rests_on) if rests_on[position] not in own]
    needed = _needed(relevance.query, cuts, grades)
    derived = _derived(relevance.passages, cuts, grades)
    return Projection(grades, source, (*own, *others), lost, needed, derived)


def _graded(
    passages: Sequence[JudgedPassage], cuts: Mapping[str, Cuts]
) -> tuple[dict[str, Relevance], dict[tuple[str, int, int], Evidence], int]:
    """Return the grades, the evidence they rest on by its place, and how many relevant passages no chunk holds."""
    grades_known: dict[str, Relevance] = {}
    for passage in passages:
        same = _cuts_of(passage.span, cuts).same(passage.span)
        if same is not None:
            grades_known[same] = max(passage.grade, grades_known.get(same, passage.grade))
    grades: dict[str, Relevance] = {}
    rests_on: dict[tuple[str, int, int], Evidence] = {}
    lost = 0
    for passage in passages:
        if _cuts_of(passage.span, cuts).same(passage.span) is not None:
            held = list(passage.evidence)
        elif passage.grade >= RELEVANT:
            held = [
                evidence for evidence in passage.evidence if _give(evidence, passage.grade, cuts, grades_known, grades)
            ]
            lost += not held
        else:
            held = []
            _give_within(passage, cuts, grades)
        rests_on |= {(evidence.doc_id, evidence.start, evidence.end): evidence for evidence in held}
    return grades | grades_known, rests_on, lost


def _derived(
    passages: Sequence[JudgedPassage], cuts: Mapping[str, Cuts], grades: Mapping[str, Relevance]
) -> tuple[str, ...]:
    """Return the relevant chunks that are not relevant by the passages that somebody read."""
    read = [passage for passage in passages if not passage.derived]
    if len(read) == len(passages):
        return ()
    by_reading = _graded(read, cuts)[0]
    return tuple(
        chunk_id
        for chunk_id, grade in sorted(grades.items())
        if grade >= RELEVANT > by_reading.get(chunk_id, Relevance.UNRELATED)
    )


def _needed(query: Query, cuts: Mapping[str, Cuts], grades: Mapping[str, Relevance]) -> tuple[str, ...]:
    """Return the chunks that hold the evidence of a query that needs several; none if one chunk holds all of it."""
    if not query.needs:
        return ()
    holders = [
        holders_of_quote for evidence in query.evidence if (holders_of_quote := _holders(evidence, cuts, grades))
    ]
    often = Counter(chunk_id for holders_of_quote in holders for chunk_id in holders_of_quote)
    needed = dict.fromkeys(max(holder, key=lambda chunk_id: often[chunk_id]) for holder in holders)
    return tuple(needed) if len(needed) > 1 else ()


def _cuts_of(span: Span, cuts: Mapping[str, Cuts]) -> Cuts:
    return cuts.get(span.doc_id) or Cuts([], [])


def _give(
    evidence: Span,
    grade: Relevance,
    cuts: Mapping[str, Cuts],
    grades_known: Mapping[str, Relevance],
    grades: dict[str, Relevance],
) -> bool:
    """Grade the unjudged chunks that hold the evidence; return whether a relevant chunk holds it."""
    holders = holding(evidence, _cuts_of(evidence, cuts))
    for chunk_id in holders:
        if chunk_id not in grades_known:
            grades[chunk_id] = max(grade, grades.get(chunk_id, grade))
    return any(grades_known.get(chunk_id, RELEVANT) >= RELEVANT for chunk_id in holders)


def holding(evidence: Span, cuts: Cuts) -> list[str]:
    """Return the chunks that hold all of a stretch of text; if there are none, those with at least half of it."""
    meeting = list(cuts.meeting(evidence))
    whole = [chunk_id for chunk_id, span in meeting if span.contains(evidence)]
    return whole or [
        chunk_id
        for chunk_id, span in meeting
        if 2 * (min(span.end, evidence.end) - max(span.start, evidence.start)) >= evidence.end - evidence.start
    ]


def _give_within(passage: JudgedPassage, cuts: Mapping[str, Cuts], grades: dict[str, Relevance]) -> None:
    for chunk_id, span in _cuts_of(passage.span, cuts).meeting(passage.span):
        if passage.span.contains(span):
            grades[chunk_id] = max(passage.grade, grades.get(chunk_id, passage.grade))


def _holders(evidence: Evidence, cuts: Mapping[str, Cuts], grades: Mapping[str, Relevance]) -> list[str]:
    holders_of_quote = holding(evidence, _cuts_of(evidence, cuts))
    return [chunk_id for chunk_id in holders_of_quote if grades.get(chunk_id, Relevance.UNRELATED) >= RELEVANT]


def _source(relevance: TextRelevance, cuts: Mapping[str, Cuts], grades: Mapping[str, Relevance]) -> str | None:
    """Return the chunk the query was written from, else a relevant chunk with its evidence, else the first relevant."""
    if grades.get(relevance.query.chunk_id, Relevance.UNRELATED) >= RELEVANT:
        return relevance.query.chunk_id
    holders = (chunk_id for evidence in relevance.query.evidence for chunk_id in _holders(evidence, cuts, grades))
    judged = sorted({span.doc_id for passage in relevance.passages for span in (passage.span, *passage.evidence)})
    in_order = (chunk_id for doc_id in judged if doc_id in cuts for chunk_id in cuts[doc_id].chunk_ids)
    relevant = (chunk_id for chunk_id in in_order if grades.get(chunk_id, Relevance.UNRELATED) >= RELEVANT)
    return next(chain(holders, relevant), None)
