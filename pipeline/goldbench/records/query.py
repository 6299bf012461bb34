"""Queries: the user's constraints, what a generator proposes, what the checks keep and reject, what is relevant."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from goldbench.records.corpus import Evidence, Span
from goldbench.records.record import Id, Record
from goldbench.records.relevance import Relevance
from goldbench.records.settings import Setting

SIMULATION = "offline-v1"
"""The generator that simulates queries without a model."""


class Constraints(Record):
    """The user's rules for a query, given to the generator and enforced by the checks.

    Words are counted as a reader of the language would: every character of Chinese or Japanese counts as one, every
    five of Thai, Lao, Khmer and Burmese.
    """

    language: Annotated[str | None, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z]{2,4})?$"), Setting(
        "ISO 639-1 code, as en or zh", "language", "Queries", "L", unset="the chunk's language", example="en",
    )] = None  # fmt: skip
    per_chunk: Annotated[int, Field(ge=1, le=3), Setting(
        "Queries per chunk, 1 to 3", "per_chunk", "Queries", "N", unit="queries",
    )] = 1  # fmt: skip
    min_words: Annotated[int, Field(ge=1), Setting("Fewest words of a query", unit="words")] = 2
    max_words: Annotated[int, Field(ge=1), Setting("Most words of a query", unit="words")] = 40
    max_characters: Annotated[int | None, Field(ge=1), Setting(
        "Most characters of a query", unit="characters", unset="no limit", example=100,
    )] = None  # fmt: skip
    banned: Annotated[tuple[str, ...], Setting("Words or strings that no query may hold, in any case")] = ()
    punctuation: Annotated[bool, Setting("false: no punctuation mark, not even a final question mark")] = True
    option_lists: Annotated[bool, Setting('true: "A) ... B) ..." is allowed')] = False
    numbering: Annotated[bool, Setting('true: a leading "1." or "Q1:" is allowed')] = False

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.min_words > self.max_words:
            raise ValueError(f"min_words {self.min_words} is more than max_words {self.max_words}")
        if any(not word.strip() for word in self.banned):
            raise ValueError("banned holds an empty word")
        return self


class QueryKind(StrEnum):
    """What a query asks for; from ``multi_hop`` on, what makes it harder than a query that one passage answers."""

    FACT = "fact"
    DEFINITION = "definition"
    PROCEDURE = "procedure"
    REASON = "reason"
    COMPARISON = "comparison"
    CONDITION = "condition"
    SUMMARY = "summary"
    MULTI_HOP = "multi_hop"
    CROSS_COMPARISON = "cross_comparison"
    TEMPORAL = "temporal"
    UNANSWERABLE = "unanswerable"
    CONVERSATIONAL = "conversational"
    NOISY = "noisy"


class QueryStyle(StrEnum):
    """How a query is put."""

    QUESTION = "question"
    KEYWORDS = "keywords"
    PROBLEM = "problem"
    VAGUE = "vague"


class Assignment(Record):
    """What a generator is asked to write about one chunk."""

    kind: QueryKind
    style: QueryStyle
    persona: str | None = None


class Turn(Record):
    """An earlier turn of a conversation: what was asked, and what was answered if anybody wrote that down."""

    question: str
    answer: str | None = None


class Candidate(Record):
    """A query as a generator proposed it, before any check.

    ``kind`` and ``style`` are the generator's own labels; ``asked`` is what was requested. ``quote`` is the passage
    that the generator says it wrote from; ``evidence`` is that passage found again in the document, in the document's
    own words (empty if it was not found). ``first_text`` is the wording before a rewrite.

    ``needs`` are the chunks that are all needed to answer, two or more, the source first; empty if one passage is
    enough. ``history`` holds the earlier turns of a conversation, the oldest first, and ``standalone`` the last turn
    put so that it needs none of them. ``original`` is the query that this one is a noisy form of, ``noise`` the noise.
    ``mean_logprob`` is the mean natural logarithm of the probabilities that the model gave the tokens of its reply,
    None if the server does not tell.
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
    answer: str | None = None
    subject: str | None = None
    first_text: str | None = None
    needs: tuple[Id, ...] = ()
    history: tuple[Turn, ...] = ()
    standalone: str | None = None
    original: Id | None = None
    noise: str | None = None
    mean_logprob: float | None = None

    @property
    def is_simulated(self) -> bool:
        """Whether it is made of the words of its passage, without a model."""
        return self.generator == SIMULATION

    @property
    def alone(self) -> str:
        """The query as it is understood without anything said before."""
        return self.standalone or self.text

    @model_validator(mode="after")
    def _needs_several(self) -> Self:
        if self.needs and (len(set(self.needs)) != len(self.needs) or len(self.needs) < 2):
            raise ValueError("needs must name two chunks or more, each once, or none")
        return self


class Level(StrEnum):
    """How hard a query is for word matching; see ``goldbench.stages.difficulty``."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class Difficulty(Record):
    """How hard a query is, measured over the corpus as it is emitted.

    ``ranks`` holds, for each system that was asked, the rank of the needed passage that it places worst, None beyond
    the first 100; a near-duplicate counts as the passage. ``needed`` is the number of passages that are all needed.
    """

    level: Level
    ranks: dict[str, int | None]
    needed: int = Field(ge=1)


class Query(Candidate):
    """A candidate that passed every check. ``overlap`` is the share of its content terms found in the source chunk.

    ``difficulty`` is None if it was not measured: nothing answers the query, or the collection is too large.

    ``frequency`` is how often users asked the query in the log that it comes from, ``traffic`` how many of the log's
    searches it stands for: those of its band (head, torso, tail), shared among the queries drawn from it. Both are None
    if the query comes from no log.

    The other fields are None until a judge has graded its pool. ``reached_by`` lists the built-in retrievers that have
    a chunk with the evidence in their top 20; ``unreachable`` means that none has one in its top 100. ``source_grade``
    is the judge's grade of the source chunk when shown the answer as well. ``too_broad`` means that at least 8 chunks
    of the pool, or more than two fifths of it, are relevant.
    """

    query_id: Id
    overlap: float | None = None
    difficulty: Difficulty | None = None
    frequency: int | None = Field(default=None, ge=1)
    traffic: float | None = Field(default=None, gt=0)
    reached_by: tuple[str, ...] | None = None
    unreachable: bool | None = None
    source_grade: Relevance | None = None
    too_broad: bool | None = None


NOWHERE = "-"
"""The source chunk of a query for which nobody found a passage."""


class UnlabelledQuery(Record):
    """A query that came without a label: a user's, or one's own.

    Nobody says which passage answers it. It waits until a judge or a person grades a passage of its pool 2 or 3. It
    then joins the set as a `Query` whose source is the best of these passages.
    """

    query_id: Id
    text: str
    generator: str
    language: str | None = None
    answer: str | None = None
    frequency: int | None = Field(default=None, ge=1)
    traffic: float | None = Field(default=None, gt=0)

    def asked(self, chunk_id: str = NOWHERE) -> Query:
        """Return the query as it stands in a set, with the passage that answers it best."""
        return Query(chunk_id=chunk_id, **self.model_dump())


class Rejection(Record):
    """A candidate that a check rejected, or a chunk for which no query was proposed, with the reason."""

    chunk_id: Id
    filter: str
    reason: str
    score: float | None = None
    candidate: Candidate | None = None


class DroppedQuery(Record):
    """A query that grading left out of the gold set, with the reason.

    ``filter`` is ``judge-check`` (the judge finds no answer in the source, or none in the whole pool) or ``unjudged``
    (nothing relevant is known yet, because its pool is not fully judged). ``position`` is its place among all queries.
    """

    position: int = Field(ge=0)
    filter: str
    reason: str
    query: Query


class RetiredQuery(Record):
    """A query that left the gold set when its documents changed, as it was then, with the reason."""

    query: Query
    reason: str


class JudgedPassage(Record):
    """A judged passage: its place, its grade, and the words that the grade rests on.

    ``derived`` marks a passage that nobody read, labelled because a sentence of it gives the same answer.
    """

    span: Span
    grade: Relevance
    evidence: tuple[Evidence, ...] = ()
    derived: bool = False


class TextRelevance(Record):
    """A query with every passage judged for it, independent of the chunking."""

    query: Query
    passages: tuple[JudgedPassage, ...]
