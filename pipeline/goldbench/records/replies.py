"""What a model may answer: flat, every field described, reasons before verdicts, no ids.

``sent`` holds limits that a server is told, so that a reply ends; a longer reply is still read.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache, lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model

from goldbench.records.judgment import Flag
from goldbench.records.query import QueryStyle

LONG = 800
MIDDLE = 400
SHORT = 200
"""Characters of a sentence with room to spare, of a long phrase, and of a short one."""


def described_text(description: str, length: int, *, last: bool = False) -> Any:  # noqa: ANN401  a field of pydantic
    """Return the field of a text.

    Args:
        description: What a model is told about it.
        length: Most characters, which a server alone is told.
        last: Whether the field comes at the end of the reply.
    """
    limits: dict[str, JsonValue] = {"maxLength": length, **({"last": True} if last else {})}
    return Field(description=description, json_schema_extra={"sent": limits})


SUBJECT = described_text("What the query is about, by name, in at most 8 words.", SHORT)
QUERY = described_text("The query, as a user would type it; empty when skipped.", LONG)
TOPIC = Field(ge=0, le=3, description="How well the subject of the passage matches that of the query, 0 to 3.")
GRADE = Field(ge=0, le=3, description="The grade by the rubric; in doubt the lower one.")


class Answer(BaseModel):
    """The shape of a model's reply. Fields it does not know are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class QueryKind(StrEnum):
    """What a query asks for."""

    # The kinds a query about one passage can have. Name and text are sent: the records' own kinds are more.
    FACT = "fact"
    DEFINITION = "definition"
    PROCEDURE = "procedure"
    REASON = "reason"
    COMPARISON = "comparison"
    CONDITION = "condition"
    SUMMARY = "summary"


class GeneratedQuery(Answer):
    """One proposed query. Lengths are checked later, so that one long answer does not cost the whole reply."""

    subject: str = SUBJECT
    evidence: str = described_text(
        "The sentence of the document that answers the query, copied exactly, character by character.", LONG
    )
    query: str = described_text("The query, as a user would type it.", LONG)
    answer: str = described_text("The answer the document gives, in at most 40 words.", MIDDLE)
    type: QueryKind = Field(description="What the query asks for.")
    style: QueryStyle = Field(description="How the query is put.")


class GeneratedQueries(Answer):
    """The reply to a generation prompt: candidates, or the reason why no good query exists."""

    skip_reason: str | None = described_text(
        "Why no good query can be written about this text; null when there are candidates.", SHORT, last=True
    )
    candidates: list[GeneratedQuery] = Field(description="The proposed queries, best first; empty when skipped.")


class JoinedQuery(Answer):
    """The reply to a prompt about several passages: one query that needs all of them, or the reason for none."""

    subject: str = SUBJECT
    evidence: list[str] = Field(
        description="For each passage, in their order, the sentence of it that the answer needs, copied exactly, "
        "character by character."
    )
    query: str = QUERY
    answer: str = described_text("The answer that the passages give together, in at most 40 words.", MIDDLE)
    style: QueryStyle = Field(description="How the query is put.")
    skip_reason: str | None = described_text(
        "Why no good query can be written about these texts; null when there is one.", SHORT, last=True
    )


class UnansweredQuery(Answer):
    """The reply to a prompt for a query that the collection does not answer."""

    changed: str = described_text("What was changed so that the passages do not answer it, in at most 15 words.", SHORT)
    subject: str = SUBJECT
    query: str = QUERY
    style: QueryStyle = Field(description="How the query is put.")
    skip_reason: str | None = described_text(
        "Why no such query can be written about these texts; null when there is one.", SHORT, last=True
    )


class EarlierTurn(Answer):
    """One earlier turn of a conversation."""

    question: str = described_text("What the user asked.", MIDDLE)
    answer: str = described_text("What was answered, in at most 30 words.", MIDDLE)


class Conversation(Answer):
    """The reply to a prompt for a conversation: earlier turns, then a last question that needs them."""

    subject: str = described_text("What the last question is about, by name, in at most 8 words.", SHORT)
    evidence: str = described_text(
        "The sentence of the document that answers the last question, copied exactly, character by character.", LONG
    )
    turns: list[EarlierTurn] = Field(description="One or two earlier turns, the oldest first.")
    query: str = described_text("The last question, which needs the earlier turns; empty when skipped.", LONG)
    standalone: str = described_text("The last question with everything named, so that it needs no earlier turn.", LONG)
    answer: str = described_text("The answer the document gives, in at most 40 words.", MIDDLE)
    style: QueryStyle = Field(description="How the stand-alone question is put.")
    skip_reason: str | None = described_text(
        "Why no good conversation can be written about this text; null when there is one.", SHORT, last=True
    )


class YesNo(Answer):
    """How likely a model is to answer yes rather than no, read from the probabilities of its first token."""

    yes: float = Field(ge=0, le=1, description="The probability of yes among yes and no.")


class Completeness(Answer):
    """The reply to a check of one passage: what is missing first, then how much of the answer it gives."""

    missing: str = described_text(
        "One sentence: which part of the answer the passage lacks, or that it lacks none.", MIDDLE
    )
    answered: Literal["completely", "partly", "not at all"] = Field(
        description="How far the query can be answered from this passage alone."
    )


class Verdict(Answer):
    """The reply to the question whether a query stands alone: the reason first, then the score."""

    rationale: str = described_text("One sentence: what decides the score.", MIDDLE)
    score: int = Field(ge=1, le=5, description="The score, from 1 to 5; 4 or more is good.")


class Grade(Answer):
    """The reply to a judge's prompt about one passage: what was meant, the words that help, then the grade."""

    intent: str = described_text("What the query most likely wants to know, in at most 20 words.", SHORT)
    evidence: str = described_text(
        "The sentence of the passage that helps most, copied exactly, character by character; empty if no "
        "sentence helps.",
        LONG,
    )
    topic: int = TOPIC
    remark: str = described_text("How far the passage can be trusted on this, in at most 15 words.", SHORT)
    grade: int = GRADE
    flag: Flag = Field(description="What is odd about the pair; none if nothing is.")


class PassageGrade(Answer):
    """The grade of one of several passages."""

    number: int = Field(ge=1, description="The number of the passage.")
    evidence: str = described_text(
        "The sentence of this passage that helps most, copied exactly, character by character; empty if no "
        "sentence helps.",
        LONG,
    )
    topic: int = TOPIC
    grade: int = GRADE
    flag: Flag = Field(description="What is odd about the pair; none if nothing is.")


class Grades(Answer):
    """The reply to a judge's prompt about several passages."""

    intent: str = described_text("What the query most likely wants to know, in at most 20 words.", SHORT)
    passages: list[PassageGrade] = Field(description="One entry for every passage, in their order.")


class RewrittenQueries(Answer):
    """The reply to a rewriting prompt; ``rewritten_queries`` says how many there must be."""

    queries: list[str] = Field(description="The rewritten queries, each as a user would type it.")


class HypotheticalPassage(Answer):
    """The reply to a HyDE prompt."""

    passage: str = Field(min_length=1, pattern=r"\S", description="The passage that would answer the query.")


class PassageOrder(Answer):
    """The reply to a listwise reranking prompt; ``passage_order`` says which numbers there are."""

    numbers: list[int] = Field(description="The numbers of the passages, the most relevant first, each once.")


class NumberedQuery(Answer):
    """The reply to a prompt with numbered sentences; ``numbered_query`` says how many there are."""

    query: str = described_text("The query, as a user would type it.", SHORT)
    sentence: int = Field(description="The number of the sentence that answers it.")
    answer: str = described_text("The answer, in a few words of that sentence.", SHORT)


class ChosenQuestion(Answer):
    """The reply to a small model's prompt; ``chosen_question`` says which questions there are."""

    question: str = Field(description="The question that the sentence answers best.")


@cache
def rewritten_queries(count: int) -> type[RewrittenQueries]:
    """Return the schema of exactly ``count`` rewritten queries, none of them blank."""
    query = Annotated[str, Field(min_length=1, max_length=2000, pattern=r"\S")]
    limits = Field(min_length=count, max_length=count, description=_described(RewrittenQueries, "queries"))
    return create_model("RewrittenQueries", __base__=RewrittenQueries, queries=(list[query], limits))


@cache
def passage_order(count: int) -> type[PassageOrder]:
    """Return the schema of an order of passages numbered from 1 to ``count``: a number out of range does not fit it."""
    number = Annotated[int, Field(ge=1, le=count)]
    limits = Field(min_length=1, description=_described(PassageOrder, "numbers"))
    return create_model("PassageOrder", __base__=PassageOrder, numbers=(list[number], limits))


@cache
def numbered_query(count: int) -> type[NumberedQuery]:
    """Return the schema of a query about ``count`` sentences; a server is told the numbers, and any is read."""
    number = Field(
        description=_described(NumberedQuery, "sentence"), json_schema_extra={"sent": {"minimum": 1, "maximum": count}}
    )
    return create_model("NumberedQuery", __base__=NumberedQuery, sentence=(int, number))


@lru_cache(maxsize=4096)
def chosen_question(questions: tuple[str, ...]) -> type[ChosenQuestion]:
    """Return the schema of one of the given questions: a question that is not among them does not fit."""
    one_of = Literal[questions]  # type: ignore[valid-type]  # known only when it runs
    described = Field(description=_described(ChosenQuestion, "question"))
    return create_model("ChosenQuestion", __base__=ChosenQuestion, question=(one_of, described))


def _described(answer: type[Answer], field: str) -> str | None:
    return answer.model_fields[field].description
