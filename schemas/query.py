"""What a generator proposes, what the checks keep, and what they turn down."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from schemas.corpus import Evidence
from schemas.record import Id, Record


class QueryKind(StrEnum):
    """What a query asks for."""

    FACT = "fact"
    DEFINITION = "definition"
    PROCEDURE = "procedure"
    REASON = "reason"
    COMPARISON = "comparison"
    CONDITION = "condition"
    SUMMARY = "summary"


class QueryStyle(StrEnum):
    """How a query is put."""

    QUESTION = "question"
    KEYWORDS = "keywords"
    PROBLEM = "problem"
    VAGUE = "vague"


class Recipe(StrEnum):
    """How the generator that needs no model made a query (known-item simulation)."""

    HEADING = "heading"
    TERMS = "terms"
    HELD_OUT = "held-out"
    HELD_OUT_TERMS = "held-out-terms"


class Assignment(Record):
    """What a generator is asked to write about one chunk."""

    kind: QueryKind
    style: QueryStyle
    persona: str | None = None


class Candidate(Record):
    """A query as a generator proposed it, before any check.

    ``kind`` and ``style`` are what the generator says it wrote; ``asked`` is what it was asked for.
    ``quote`` is the passage the generator says it wrote from, as it gave it; ``evidence`` is that passage found again
    in the document, in the document's own words (empty where it could not be found). ``masked`` are the words that
    were taken out of the indexed text because the query was made of them (held-out recipes only).
    ``first_text`` is the wording before the one rewrite, where there was one. ``scores`` are the critics', 1 to 5.
    """

    chunk_id: Id
    text: str
    generator: str
    evidence: tuple[Evidence, ...] = ()
    quote: str | None = None
    language: str | None = None
    kind: QueryKind | None = None
    style: QueryStyle | None = None
    asked: Assignment | None = None
    recipe: Recipe | None = None
    answer: str | None = None
    subject: str | None = None
    masked: tuple[Evidence, ...] = ()
    first_text: str | None = None
    scores: dict[str, int] = Field(default_factory=dict)


class Query(Candidate):
    """A candidate that passed every check. ``overlap`` is the share of its content terms found in the source chunk."""

    query_id: Id
    overlap: float | None = None


class Rejection(Record):
    """A candidate (or a whole chunk, where no query could be proposed) that a filter turned down, and why."""

    chunk_id: Id
    filter: str
    reason: str
    score: float | None = None
    candidate: Candidate | None = None
