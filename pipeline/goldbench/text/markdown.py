"""Untrusted text in Markdown: shown as it is, whatever characters it holds."""

from __future__ import annotations

import re
from collections.abc import Iterable

from goldbench.text.display import printable

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_MARKS = re.compile(r"([\\`*_\[\]|~$!])")
_LINK = re.compile(r"(?i)(\b(?:https?|ftp)):(?=//)|(\bwww)\.")
_START = re.compile(r"^([#=]|[+-](?!\d))|^(\d+)([.)])(?=\s|$)")
_ADDRESS = re.compile(r"(?<![A-Za-z])@|@(?!\d+(?:[^\w.-]|\.?(?:\s|$)))")  # not the @ of ndcg@10


def escaped(text: str) -> str:
    """Return the text on one line so that Markdown and HTML show it literally: no markup, link, image or mention."""
    line = _ADDRESS.sub("&#64;", printable(" ".join(text.split())).translate(_ENTITIES))
    line = _LINK.sub(lambda match: f"{match[1]}&#58;" if match[1] else f"{match[2]}&#46;", _MARKS.sub(r"\\\1", line))
    return _START.sub(lambda match: f"\\{match[1]}" if match[1] else f"{match[2]}\\{match[3]}", line)


def markdown_row(cells: Iterable[str]) -> str:
    """Return one line of a Markdown table, the cells escaped."""
    return "| " + " | ".join(map(escaped, cells)) + " |"


def code_span(text: str) -> str:
    """Return the text on one line as a code span: no markup, and no site turns a name or number in it into a link."""
    line = printable(" ".join(text.split()))
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    return f"{fence} {line} {fence}" if "`" in line or not line else f"`{line}`"
