"""The gold set: queries, corpus, relevant_docs, mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from goldbench.schemas.earlier_name import with_present_name
from goldbench.schemas.judgment import RELEVANT, Relevance
from goldbench.schemas.record import Id, Record


class TestSet(Record):
    """A retrieval test set in which every reference resolves.

    ``queries`` maps query ids to their text, ``corpus`` chunk ids to the indexed text, ``relevant_docs`` query ids to
    the ids of relevant chunks (grade >= 2), ``relevance_scores`` query ids to graded chunks (0-3); a chunk without a
    grade is unjudged, which does not mean irrelevant. Only here ``chunk_id`` becomes the field's «document id».
    """

    __test__ = False  # not a pytest class, whatever its name

    queries: dict[Id, str]
    corpus: dict[Id, str]
    relevant_docs: dict[Id, list[Id]]
    mode: Literal["text"] = "text"
    relevance_scores: dict[Id, dict[Id, Relevance]] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    @field_validator("metadata")
    @classmethod
    def _read_earlier_name(cls, found: dict[str, Any]) -> dict[str, Any]:
        return with_present_name(found)

    @model_validator(mode="after")
    def _every_reference_resolves(self) -> Self:
        problem = next(self.problems(), None)
        if problem:
            raise ValueError(problem)
        return self

    def problems(self) -> Iterator[str]:
        """Yield one line for every reference that does not resolve."""
        for query_id, text in self.queries.items():
            if not text.strip():
                yield f"query {query_id!r} is empty"
            if not self.relevant_docs.get(query_id):
                yield f"query {query_id!r} has no relevant document"
        for query_id, doc_ids in self.relevant_docs.items():
            if query_id not in self.queries:
                yield f"relevant_docs names query {query_id!r}, which is not in queries"
            for doc_id in doc_ids:
                if doc_id not in self.corpus:
                    yield f"relevant_docs of query {query_id!r} names {doc_id!r}, which is not in corpus"
            if len(set(doc_ids)) != len(doc_ids):
                yield f"relevant_docs of query {query_id!r} names a document twice"
        yield from self._problems_of_scores()

    def _problems_of_scores(self) -> Iterator[str]:
        for query_id, scores in (self.relevance_scores or {}).items():
            if query_id not in self.queries:
                yield f"relevance_scores names query {query_id!r}, which is not in queries"
            for doc_id in scores:
                if doc_id not in self.corpus:
                    yield f"relevance_scores of query {query_id!r} names {doc_id!r}, which is not in corpus"
            relevant = {doc_id for doc_id, grade in scores.items() if grade >= RELEVANT}
            if relevant != set(self.relevant_docs.get(query_id, ())):
                yield f"query {query_id!r}: relevant_docs are not the documents graded {RELEVANT:d} or more"
