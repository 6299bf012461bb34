"""Text as people read it: untrusted text made safe for a terminal line or a message, and counts and sums in words."""

from __future__ import annotations

import re
from pathlib import Path

_USER = re.compile(r"(?<=://)[^/\s]*@")
"""User name and password in an address."""


def printable(text: str) -> str:
    """Return the text with a replacement character for everything that could steer a terminal, line ends included."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def one_line(text: str) -> str:
    """Return the text as one line of printable characters, words parted by single spaces."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def cut(text: str, most: int) -> str:
    """Return the text, or if it is longer its beginning with an ellipsis.

    Args:
        text: The text.
        most: Characters of the result at most, 1 or more.
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def without_credentials(text: str) -> str:
    """Return the text without the user and password of every URL in it."""
    return _USER.sub("", text)


def brief(text: str, more: str = " (-v: more)") -> str:
    """Return the first and the last sentence of a text of three sentences or more, and how to see the others.

    Args:
        text: The text.
        more: How to see the others.
    """
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z])", text)
    return text if len(sentences) < 3 else f"{sentences[0]} {sentences[-1]}{more}"


def shown(name: Path | str) -> str:
    """Return a path, column or id for a message: one line, printable (others as escapes), at most 300 characters."""
    text = str(name)
    if not text.isprintable():
        text = text.encode("unicode_escape", "backslashreplace").decode("ascii")
    return text if len(text) <= 300 else text[:140] + "…" + text[-140:]


def amount(count: int, singular: str, plural: str | None = None) -> str:
    """Return a count with its noun: ``1 query``, ``1,200 queries``.

    Args:
        count: The count, 0 or more.
        singular: The noun in the singular.
        plural: The noun in the plural; by default ``singular`` with an s.
    """
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def shell_command(command: str, *arguments: str, **options: str) -> str:
    """Return a command for a shell: ``goldbench open DIR --query q1``; what it holds must be quoted already."""
    named = (f"--{name.replace('_', '-')} {value}".rstrip() for name, value in options.items())
    return " ".join(["goldbench", command, *arguments, *named])


def queries(count: int) -> str:
    """Return a count of queries."""
    return amount(count, "query", "queries")


def dollars(usd: float) -> str:
    """Return a sum of US dollars, with as many places as show its first two digits: ``$12.3400``, ``$0.000012``."""
    places = 4
    while 0 < usd < 10 ** (1 - places) and places < 12:
        places += 1
    return f"${usd:,.{places}f}"
