"""The gold set: queries, corpus, relevant_docs, mode, and what is known of some queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from goldbench.records.query import Turn
from goldbench.records.record import Id, Record
from goldbench.records.relevance import RELEVANT, Relevance


class Citation(Record):
    """Words that an answer rests on, and the chunk they stand in, if one of the query's relevant chunks holds them."""

    quote: str
    chunk_id: Id | None = None


class Answer(Record):
    """The reference answer of a query, with the words it rests on."""

    text: str
    evidence: tuple[Citation, ...] = ()


class TestSet(Record):
    """A retrieval test set in which every reference resolves.

    ``queries`` maps query ids to their text, ``corpus`` chunk ids to the indexed text, ``relevant_docs`` query ids to
    the ids of relevant chunks (grade >= 2), ``relevance_scores`` query ids to graded chunks (0-3); a chunk without a
    grade is unjudged, which does not mean irrelevant. Only here ``chunk_id`` becomes the field's «document id».

    The other members stand in the file only if a query has one. ``needs`` maps query ids to the relevant chunks that
    are all needed, two or more; ``unanswerable`` ids to the text of queries that nothing in the corpus answers, which
    are not in ``queries`` and so in no mean; ``answers`` ids to reference answers; ``history`` ids to the earlier turns
    of a conversation, the oldest first; ``standalone`` ids to the last turn put so that it needs no earlier one;
    ``originals`` ids of noisy queries to those of the queries they were made from; ``derived`` ids to the chunks that
    nobody read for the query, and that are labelled because a sentence of theirs gives the same answer; ``frequency``
    ids to how often users asked the query, and ``traffic`` ids to how many searches of the log it stands for.
    """

    __test__ = False  # not a pytest class, whatever its name

    queries: dict[Id, str]
    corpus: dict[Id, str]
    relevant_docs: dict[Id, list[Id]]
    mode: Literal["text"] = "text"
    relevance_scores: dict[Id, dict[Id, Relevance]] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    needs: dict[Id, list[Id]] = Field(default_factory=dict)
    unanswerable: dict[Id, str] = Field(default_factory=dict)
    answers: dict[Id, Answer] = Field(default_factory=dict)
    history: dict[Id, list[Turn]] = Field(default_factory=dict)
    standalone: dict[Id, str] = Field(default_factory=dict)
    originals: dict[Id, Id] = Field(default_factory=dict)
    derived: dict[Id, list[Id]] = Field(default_factory=dict)
    frequency: dict[Id, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    traffic: dict[Id, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)

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
        yield from self._problems_of_needs()
        yield from self._problems_of_others()
        yield from self._problems_of_answers()

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

    def _problems_of_needs(self) -> Iterator[str]:
        for query_id, doc_ids in self.needs.items():
            if query_id not in self.queries:
                yield f"needs names query {query_id!r}, which is not in queries"
            for doc_id in doc_ids:
                if doc_id not in self.corpus:
                    yield f"needs of query {query_id!r} names {doc_id!r}, which is not in corpus"
                elif doc_id not in self.relevant_docs.get(query_id, ()):
                    yield f"needs of query {query_id!r} names {doc_id!r}, which is not in its relevant_docs"
            if len(doc_ids) < 2 or len(set(doc_ids)) != len(doc_ids):
                yield f"needs of query {query_id!r} must name two documents or more, each once"

    def _problems_of_others(self) -> Iterator[str]:
        for query_id, text in self.unanswerable.items():
            if not text.strip():
                yield f"unanswerable query {query_id!r} is empty"
            if query_id in self.queries:
                yield f"query {query_id!r} is in queries and in unanswerable"
        for name, named in (("history", self.history), ("standalone", self.standalone)):
            for query_id in named.keys() - self.queries.keys() - self.unanswerable.keys():
                yield f"{name} names query {query_id!r}, which is not in queries or unanswerable"
        for query_id, doc_ids in self.derived.items():
            if not set(doc_ids) <= set(self.relevant_docs.get(query_id, ())):
                yield f"derived of query {query_id!r} names a document that is not among its relevant_docs"
        originals = {name_of_query for pair in self.originals.items() for name_of_query in pair}
        for name, ids in (("originals", originals), ("frequency", set(self.frequency)), ("traffic", set(self.traffic))):
            yield from (
                f"{name} names query {name_of_query!r}, which is not in queries"
                for name_of_query in ids - self.queries.keys()
            )

    def _problems_of_answers(self) -> Iterator[str]:
        for query_id, answer in self.answers.items():
            if query_id not in self.queries:
                yield f"answers names query {query_id!r}, which is not in queries"
            for cited in answer.evidence:
                if cited.chunk_id is not None and cited.chunk_id not in self.corpus:
                    yield f"the answer of query {query_id!r} cites {cited.chunk_id!r}, which is not in corpus"
