"""The pool: which chunks are judged for a query, and who brought them there."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from schemas.record import Id, Record


class Origin(StrEnum):
    """Why a chunk is in the pool whatever retrieved it."""

    SOURCE = "source"
    NEAR_DUPLICATE = "near-duplicate"


class Pooled(Record):
    """One query-chunk pair that is to be judged.

    ``ranks`` is the rank, from 1, at each retriever that brought the chunk within the pool's depth; ``origin`` says
    that it holds the query's evidence, or is a near-duplicate of a chunk that does.
    """

    query_id: Id
    chunk_id: Id
    ranks: dict[str, int] = Field(default_factory=dict)
    origin: Origin | None = None
