"""Taking held-out words out of the text that is indexed."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.corpus import Chunk, Span


def masked_text(chunk: Chunk, masks: Iterable[Span]) -> str:
    """Return the chunk's text without the masked stretches of its document, one space in the place of each."""
    inside = [
        (max(mask.start, chunk.span.start) - chunk.span.start, min(mask.end, chunk.span.end) - chunk.span.start)
        for mask in masks
        if mask.doc_id == chunk.span.doc_id and mask.start < chunk.span.end and chunk.span.start < mask.end
    ]
    if not inside:
        return chunk.text
    pieces, position = [], 0
    for start, end in sorted(inside):
        pieces.append(chunk.text[position : max(position, start)])
        position = max(position, end)
    pieces.append(chunk.text[position:])
    return " ".join(piece.strip() for piece in pieces if piece.strip())
