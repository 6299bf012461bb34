"""Text of unknown origin made fit for a terminal line or a message."""

from __future__ import annotations

from pathlib import Path


def printable(text: str) -> str:
    """Return the text with a replacement character for everything that could steer a terminal, line ends included."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def one_line(text: str) -> str:
    """Return the text as one line of printable characters, words parted by single spaces."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def shown(name: Path | str) -> str:
    """Return a path, column or id for a message: one line, printable (others as escapes), at most 300 characters."""
    text = str(name)
    if not text.isprintable():
        text = text.encode("unicode_escape", "backslashreplace").decode("ascii")
    return text if len(text) <= 300 else text[:140] + "…" + text[-140:]
