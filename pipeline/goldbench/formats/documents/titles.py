"""Titles of documents: of a Markdown text, of a file name, and cut to one line."""

from __future__ import annotations

import re

from goldbench.text.headings import front_matter, unclosed

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#[ \t]+(\S.*)")
_LOWER_HEADING = re.compile(r"#{2,6}[ \t]+(\S.*)")
_UNDERLINE = re.compile(r"^ {0,3}=+[ \t]*$")


def markdown_title(text: str) -> str | None:
    """Return the title of a Markdown text, or None.

    It is ``title`` of the front matter, else the first heading of level 1 outside code, else the heading that the text
    begins with.
    """
    end, title = front_matter(text)
    if title:
        return title
    body = text[end:].lstrip("\n")
    fence = ""
    before = ""
    for line in body.split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark.group(1)
        elif mark and mark.group(1).startswith(fence):
            fence = ""
        elif not fence:
            if heading := _HEADING.match(line):
                return unclosed(heading.group(1))
            if before.strip() and _UNDERLINE.match(line):
                return before
        before = line if not fence else ""
    lower = _LOWER_HEADING.match(body)
    return unclosed(lower.group(1)) if lower else None


def stem(source: str) -> str:
    """Return the file name without folder and suffix."""
    name = source.rsplit("/", 1)[-1]
    return name.rsplit(".", 1)[0] or name


def short_title(title: str) -> str:
    """Return a title as one line of at most 200 characters."""
    return " ".join(title[:1000].split())[:200].rstrip()
