"""Text of unknown origin made safe for Markdown: it shows as it is, and starts no markup, link, image or HTML."""

from __future__ import annotations

import re

from pipeline.text.display import printable

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"})
_MARKS = re.compile(r"([\\`*_\[\]|~$!])")
_LINK = re.compile(r"(?i)(\b(?:https?|ftp)):(?=//)|(\bwww)\.")
_START = re.compile(r"^([#+=-])|^(\d+)([.)])(?=\s|$)")


def escaped(text: str) -> str:
    """Return the text on one line, with every mark that Markdown or HTML would act on taken literally."""
    line = printable(" ".join(text.split())).translate(_ENTITIES)
    line = _LINK.sub(lambda found: f"{found[1]}&#58;" if found[1] else f"{found[2]}&#46;", _MARKS.sub(r"\\\1", line))
    return _START.sub(lambda found: f"\\{found[1]}" if found[1] else f"{found[2]}\\{found[3]}", line)
