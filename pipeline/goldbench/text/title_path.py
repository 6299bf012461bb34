"""The title that a passage is indexed with: its document's title and the headings above it, on one line."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import regex

from goldbench.records.corpus import Chunk, Span
from goldbench.text.headings import MAX_TITLE, headings

BETWEEN = " › "
"""Stands between the parts of a title path."""
_UNSEEN = regex.compile(r"[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\ufeff]+")
"""Control characters, line ends and marks that change the direction of writing."""


def title_path(chunk: Chunk, held_out: Collection[str] = ()) -> str:
    """Return the document's title and the headings above a passage, outermost first; "" if there are none.

    A heading that is repeated, or stands as a heading in the passage's own text, is left out.

    Args:
        chunk: The passage.
        held_out: Titles and headings that are left out because a query was made from them.
    """
    own = {_seen(heading.path[-1]) for heading in headings(chunk.text)} if chunk.headings else set()
    parts = dict.fromkeys([chunk.title, *(name for name in chunk.headings if _seen(name) not in own)])
    return BETWEEN.join(dict.fromkeys(filter(None, (_seen(part) for part in parts if part not in held_out))))


def text_below(chunk: Chunk, masks: Collection[Span] = (), held_out: Collection[str] = ()) -> str:
    """Return the text of a passage without the words that are held out for queries.

    Args:
        chunk: The passage.
        masks: The parts of its document that are held out.
        held_out: As in `title_path`; lines of the text that are such a heading are left out, too.
    """
    lines = [
        Span(doc_id=chunk.span.doc_id, start=chunk.span.start + one.start, end=chunk.span.start + one.end)
        for one in (headings(chunk.text) if held_out else ())
        if one.path[-1] in held_out
    ]
    return chunk.text_without([*masks, *lines])


def titled(title: str, text: str) -> str:
    """Return a passage as it is indexed: its title, a blank line, its text; one of them alone if the other is empty."""
    return "\n\n".join(filter(None, (title, text)))


@lru_cache(maxsize=4096)
def _seen(part: str) -> str:
    return " ".join(_UNSEEN.sub(" ", part[: 4 * MAX_TITLE]).split())[:MAX_TITLE].rstrip()
