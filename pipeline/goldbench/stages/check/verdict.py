"""The context of a check, and its result."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

import regex

from goldbench.ports import Brief
from goldbench.records.corpus import Chunk
from goldbench.records.query import Constraints
from goldbench.text.display import cut
from goldbench.text.title_path import title_path, titled

_HIDDEN = regex.compile(r"[\p{C}\p{Zl}\p{Zp}]")
_LONGEST_WORDING = 60
"""Most characters of a query that a message quotes."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a candidate breaks.

    ``filter`` names the rule, ``reason`` says on one line how it was broken and quotes no text but the query's own.
    ``score`` is the number that was compared, if any. ``rewrite`` says that other words could satisfy the rule.
    """

    filter: str
    reason: str
    score: float | None = None
    rewrite: bool = False

    @property
    def complaint(self) -> str:
        """The reason as a sentence for the prompt that asks for another wording."""
        sentence = self.reason[:1].upper() + self.reason[1:]
        return sentence if sentence.endswith((".", "!", "?")) else sentence + "."


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What a candidate is checked against.

    ``language`` is the requested language of the query (ISO 639-1), None if it is not known. ``indexed_text`` is the
    passage as retrievers will see it: its title and its text. ``own_words`` is
    false where the generator cannot say a thing in other words than the chunk's. ``title`` is the title and the
    headings alone, ``passage_language`` the language of the passage (ISO 639-1), None if it is not known.
    """

    chunk: Chunk
    constraints: Constraints
    language: str | None
    indexed_text: str
    own_words: bool = True
    title: str = ""
    passage_language: str | None = None

    @classmethod
    def of(cls, chunk: Chunk, brief: Brief) -> CheckContext:
        """Return the context of a candidate.

        Args:
            chunk: The chunk it was written from.
            brief: What was asked for.
        """
        return replace(joined_context([chunk], brief), own_words=brief.own_words)


def joined_context(chunks: Sequence[Chunk], brief: Brief) -> CheckContext:
    """Return the context of a candidate about several passages: the text of all of them.

    Args:
        chunks: The passages that it needs.
        brief: What was asked for.
    """
    return CheckContext(
        chunk=chunks[0],
        constraints=brief.constraints,
        language=brief.constraints.language or brief.language,
        indexed_text="\n\n".join(titled(title_path(chunk) if brief.titled else "", chunk.text) for chunk in chunks),
        own_words=False,
        title="\n".join(title_path(chunk) for chunk in chunks),
        passage_language=brief.language,
    )


def quoted(wording: str) -> str:
    """Return words of a query for a one-line message: without invisible characters, at most 60 characters."""
    plain = " ".join(_HIDDEN.sub(" ", unicodedata.normalize("NFC", wording)).split())
    return f"«{cut(plain, _LONGEST_WORDING)}»"
