"""Reference answers as a gold set publishes them: the text, and the words it rests on with their passage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from goldbench.records.corpus import Evidence, Span
from goldbench.records.query import Query
from goldbench.records.testset import Answer, Cited


def reference_answers(queries: Sequence[Query], passages: Iterable[tuple[str, Span | None]]) -> dict[str, Answer]:
    """Return the answer of each query that has one, by query id.

    The evidence names the passage it stands in: the source of the query if that holds it, else a passage that the query
    needs, else the first one.

    Args:
        queries: The queries.
        passages: The id of each passage with its place, in reading order; read only if some query has an answer.
    """
    answered = [query for query in queries if query.answer and query.answer.strip()]
    by_document: dict[str, list[tuple[Query, Evidence]]] = {}
    for query in answered:
        for evidence in query.evidence:
            by_document.setdefault(evidence.doc_id, []).append((query, evidence))
    holders: dict[tuple[str, Evidence], list[str]] = {}
    for chunk_id, span in passages if answered else ():
        if span is None:
            continue
        for query, evidence in by_document.get(span.doc_id, ()):
            if span.contains(evidence):
                holders.setdefault((query.query_id, evidence), []).append(chunk_id)
    return {
        query.query_id: Answer(
            text=query.answer or "",
            evidence=tuple(
                Cited(quote=evidence.quote, chunk_id=_holder(query, holders.get((query.query_id, evidence), [])))
                for evidence in query.evidence
            ),
        )
        for query in answered
    }


def _holder(query: Query, holders: Sequence[str]) -> str | None:
    return next((chunk_id for chunk_id in (query.chunk_id, *query.needs, *holders) if chunk_id in holders), None)
