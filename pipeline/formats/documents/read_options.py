"""How documents are to be read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How documents are to be read.

    ``text_field``, ``id_field`` and ``title_field`` name columns of tables; see ``fields.py`` for what is taken without
    them. ``ready_chunks`` marks rows as chunks already. ``limit_documents`` stops after so many. ``max_megabytes`` is
    the most one file may hold that becomes one document (of tables, JSON only). ``conversion_seconds`` is what
    converting one file may take, beside 10 s per MB.
    """

    text_field: str | None = None
    id_field: str | None = None
    title_field: str | None = None
    ready_chunks: bool = False
    limit_documents: int | None = None
    max_megabytes: int = 64
    conversion_seconds: float = 60.0
