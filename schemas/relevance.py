"""Relevance as stretches of text: what is true of a query however its documents are cut."""

from __future__ import annotations

from schemas.corpus import Evidence, Span
from schemas.judgment import Relevance
from schemas.query import Query
from schemas.record import Record


class JudgedPassage(Record):
    """A passage that was judged: where it stands, its grade, and the words in it that the grade rests on."""

    span: Span
    grade: Relevance
    evidence: tuple[Evidence, ...] = ()


class TextRelevance(Record):
    """A query as it was made, and every passage that was judged for it."""

    query: Query
    passages: tuple[JudgedPassage, ...]
