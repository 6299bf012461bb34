"""Documents, the spans that refer to them, and the chunks cut from them."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from goldbench.records.record import Id, Record


class Span(Record):
    """A stretch of a document: characters (code points) ``start`` to ``end`` of ``Document.text``, end excluded."""

    doc_id: Id
    start: int = Field(ge=0)
    end: int = Field(ge=0)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.end < self.start:
            raise ValueError(f"span ends at {self.end}, before it starts at {self.start}")
        return self

    def contains(self, span: Span) -> bool:
        """Return whether every character of ``span`` lies in this span."""
        return self.doc_id == span.doc_id and self.start <= span.start and span.end <= self.end

    def meets(self, span: Span) -> bool:
        """Return whether any character lies in both spans."""
        return self.doc_id == span.doc_id and self.start < span.end and span.start < self.end


class Evidence(Span):
    """A span with the words it covers: ``quote == Document.text[start:end]``."""

    quote: str


class TitleUse(StrEnum):
    """How the title of a passage is emitted: before its text, only as the title of BEIR, or not at all."""

    JOIN = "join"
    FIELD = "field"
    NONE = "none"


class Document(Record):
    """One source text as it was read: decoded, line ends as LF, otherwise unchanged.

    ``source`` is the path below the given folder, with ``/``; for a row of a table ``path#row``. ``ready`` marks a row
    that is a chunk already.
    """

    doc_id: Id
    title: str
    text: str
    source: str
    ready: bool = False


class Chunk(Record):
    """A passage: an exact span of its document, with the heading path above it (outermost first)."""

    chunk_id: Id
    span: Span
    text: str
    headings: tuple[str, ...] = ()
    title: str = ""

    def evidence(self, start: int, end: int) -> Evidence:
        """Return the characters ``start`` to ``end`` of this chunk's text as evidence in its document."""
        first = self.span.start
        quote = self.text[start:end]
        return Evidence(doc_id=self.span.doc_id, start=first + start, end=first + end, quote=quote)
