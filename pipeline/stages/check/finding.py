"""What a check is told, and what it says."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import regex

from pipeline.ports import Brief
from schemas.corpus import Chunk
from schemas.query import Candidate, Constraints

_HIDDEN = regex.compile(r"[\p{C}\p{Zl}\p{Zp}]")
_LONGEST_WORDING = 60


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a candidate breaks.

    ``filter`` names the rule, ``reason`` says in one line how it was broken, with no words but the query's own.
    ``score`` is the figure that was compared, where there is one. ``rewrite`` says that other words could mend it.
    """

    filter: str
    reason: str
    score: float | None = None
    rewrite: bool = False

    @property
    def complaint(self) -> str:
        """The reason as a sentence for whoever writes the query again."""
        sentence = self.reason[:1].upper() + self.reason[1:]
        return sentence if sentence.endswith((".", "!", "?")) else sentence + "."


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What a candidate is checked against.

    ``language`` is the one the query should be written in (ISO 639-1), None where it is not known. ``indexed_text`` is
    the chunk as retrievers will see it: its text, without the words that were held out of it.
    """

    chunk: Chunk
    constraints: Constraints
    language: str | None
    indexed_text: str

    @classmethod
    def of(cls, chunk: Chunk, candidate: Candidate, brief: Brief) -> CheckContext:
        """Return the context of a candidate that was written about a chunk to a brief."""
        language = brief.constraints.language or brief.language
        return cls(chunk, brief.constraints, language, chunk.text_without(candidate.masked))


def quoted(wording: str) -> str:
    """Return words of a query fit for a one-line message: nothing invisible, at most 60 characters."""
    plain = " ".join(_HIDDEN.sub(" ", unicodedata.normalize("NFC", wording)).split())
    return f"«{plain}»" if len(plain) <= _LONGEST_WORDING else f"«{plain[: _LONGEST_WORDING - 1]}…»"
