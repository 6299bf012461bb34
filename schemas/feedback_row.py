"""What users' clicks and thumbs say: weak judgments, kept apart from those of assessors."""

from __future__ import annotations

from pydantic import Field

from schemas.record import Id, Record


class Feedback(Record):
    """How often users were glad of a passage for a query, and how often not.

    It is no judgment: people click what is shown first, and few say anything. It never enters the qrels.
    """

    query_id: Id
    chunk_id: Id
    positive: int = Field(ge=0)
    negative: int = Field(ge=0)
