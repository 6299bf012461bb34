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
    """One query-chunk pair that gets a grade.

    ``ranks`` is the rank, from 1, at each retriever that brought the chunk within the pool's depth; ``origin`` says
    that it holds the query's evidence, or that only a near-duplicate of it would be in the pool. Near-duplicates share
    one grade: ``shared_from`` is the chunk that is judged in this one's stead, None where this one is judged.
    """

    query_id: Id
    chunk_id: Id
    ranks: dict[str, int] = Field(default_factory=dict)
    origin: Origin | None = None
    shared_from: Id | None = None
