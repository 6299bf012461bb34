"""The title that a passage is indexed with: its document's title and the headings above it, on one line."""

from __future__ import annotations

from functools import lru_cache

import regex

from goldbench.records.corpus import Chunk
from goldbench.text.headings import MAX_TITLE, headings

BETWEEN = " › "
"""Stands between the parts of a title path."""
_UNSEEN = regex.compile(r"[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\ufeff]+")
"""Control characters, line ends and marks that change the direction of writing."""


def title_path(chunk: Chunk) -> str:
    """Return the document's title and the headings above a passage, outermost first; "" if there are none.

    A heading that is repeated, or stands as a heading in the passage's own text, is left out.
    """
    own = {_seen(heading.path[-1]) for heading in headings(chunk.text)} if chunk.headings else set()
    parts = dict.fromkeys([chunk.title, *(name for name in chunk.headings if _seen(name) not in own)])
    return BETWEEN.join(dict.fromkeys(filter(None, (_seen(part) for part in parts))))


def titled(title: str, text: str) -> str:
    """Return a passage as it is indexed: its title, a blank line, its text; one of them alone if the other is empty."""
    return "\n\n".join(filter(None, (title, text)))


@lru_cache(maxsize=4096)
def _seen(part: str) -> str:
    return " ".join(_UNSEEN.sub(" ", part[: 4 * MAX_TITLE]).split())[:MAX_TITLE].rstrip()
