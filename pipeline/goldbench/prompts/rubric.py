"""The rubric: what the grades 0 to 3 mean, as the judge reads it and as people see it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from goldbench.prompts.loader import FOLDER


@dataclass(frozen=True, slots=True)
class Rubric:
    """The text of a rubric, without differences that no reader sees."""

    text: str

    @classmethod
    def of(cls, text: str) -> Rubric:
        """Return the rubric that a file's text holds: line ends, and white space at them, do not count."""
        return cls("\n".join(line.rstrip() for line in text.splitlines()).strip())

    @property
    def sha(self) -> str:
        """The first 12 digits of the SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]


DEFAULT = Rubric.of((FOLDER / "rubric.md").read_text(encoding="utf-8"))
"""The rubric of a set without one of its own."""
