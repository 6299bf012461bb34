"""What a model may answer: flat, every field described, reasons before verdicts, no ids."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from schemas.query import QueryKind, QueryStyle


class Answer(BaseModel):
    """The shape of a model's reply. Fields it does not know are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class GeneratedQuery(Answer):
    """One proposed query. Lengths are checked later, so that one long answer does not cost the whole reply."""

    subject: str = Field(description="What the query is about, by name, in at most 8 words.")
    evidence: str = Field(
        description="The sentence of the document that answers the query, copied exactly, character by character."
    )
    query: str = Field(description="The query, as a user would type it.")
    answer: str = Field(description="The answer the document gives, in at most 40 words.")
    type: QueryKind = Field(description="What the query asks for.")
    style: QueryStyle = Field(description="How the query is put.")


class GeneratedQueries(Answer):
    """The reply to a generation prompt: candidates, or the reason why no good query exists."""

    skip_reason: str | None = Field(
        description="Why no good query can be written about this text; null when there are candidates."
    )
    candidates: list[GeneratedQuery] = Field(description="The proposed queries, best first; empty when skipped.")


class Verdict(Answer):
    """The reply to a critic's prompt: the reason first, then the score."""

    rationale: str = Field(description="One sentence: what decides the score.")
    score: int = Field(ge=1, le=5, description="The score, from 1 to 5; 4 or more is good.")
