"""Judgments, the pool of pairs to judge, and users' feedback."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from goldbench.records.record import Id, Record
from goldbench.records.relevance import Relevance


class Flag(StrEnum):
    """What a judge noticed about a pair beside its grade."""

    NONE = "none"
    INSTRUCTIONS_IN_TEXT = "instructions_in_text"
    UNREADABLE = "unreadable"
    AMBIGUOUS_QUERY = "ambiguous_query"


class Canary(StrEnum):
    """The kind of a pair made up to test the judge. Its grade is known beforehand, and it never enters the qrels."""

    QUERY_WORDS = "query-words"
    CLAIMED_RELEVANT = "claimed-relevant"
    UNRELATED = "unrelated"
    EVIDENCE_ALONE = "evidence-alone"
    EMPTY = "empty"
    OWN_ANSWER = "own-answer"


class Judgment(Record):
    """One assessor's grade of one query-chunk pair.

    ``assessor`` is the model and its prompt, as ``gpt-x/grade.v1``; several assessors give several judgments of one
    pair. ``evidence`` is the sentence that the judge quoted, as found in the chunk, empty if it quoted none; ``capped``
    means that a grade of 2 or 3 came without a quote from the chunk and was lowered to 1. ``shared_from`` is the judged
    chunk whose grade this near-duplicate shares. The grade of a pair is ``settled`` from its judgments; its spread is
    the highest minus the lowest of them. ``probability`` is that of yes, from a judge that was asked for yes or no and
    quotes no sentence. ``rubric`` is the digest of the rubric that the judge read; a judge by yes or no reads none.
    """

    query_id: Id
    chunk_id: Id
    relevance: Relevance
    assessor: str
    rubric: str | None = None
    rationale: str = ""
    evidence: str = ""
    topic: Relevance | None = None
    flag: Flag = Flag.NONE
    capped: bool = False
    probability: float | None = Field(default=None, ge=0, le=1)
    canary: Canary | None = None
    shared_from: Id | None = None


class Origin(StrEnum):
    """Why a chunk is in the pool even if no retriever found it."""

    SOURCE = "source"
    FEEDBACK = "feedback"
    NEAR_DUPLICATE = "near-duplicate"


class PooledPair(Record):
    """One query-chunk pair that gets a grade.

    ``ranks`` is the rank, from 1, at each retriever that found the chunk within the pool's depth; ``origin`` says that
    the chunk holds the query's evidence, that users clicked it or voted on it, or that it is in the pool only as a
    near-duplicate. Near-duplicates share one grade: ``shared_from`` is the chunk that is judged instead of this one,
    None if this one is judged.
    """

    query_id: Id
    chunk_id: Id
    ranks: dict[str, int] = Field(default_factory=dict)
    origin: Origin | None = None
    shared_from: Id | None = None


class Feedback(Record):
    """Users' clicks and votes on a passage for a query, counted for and against.

    They are not judgments, because people click on what is shown first and few vote, and never enter the qrels. They
    may bring the passage into the pool, to be judged first.
    """

    query_id: Id
    chunk_id: Id
    positive: int = Field(ge=0)
    negative: int = Field(ge=0)
