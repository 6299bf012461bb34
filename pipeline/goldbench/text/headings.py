"""The headings of a Markdown text, and the path of headings above any place in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

MAX_TITLE = 200
"""Most characters of a heading; a longer line is a paragraph (and would be repeated in every chunk below it)."""

MAX_FRONT_MATTER = 20_000
"""Most characters of front matter; a longer block is text."""

_FRONT_MATTER = re.compile(
    r"\A(?:---[ \t]*\n(?P<yaml>.*?\n)(?:---|\.\.\.)|\+\+\+[ \t]*\n(?P<toml>.*?\n)\+\+\+)[ \t]*(?:\n|\Z)", re.DOTALL
)
_KEY = re.compile(r"([A-Za-z_][\w.-]*|\"[^\"\n]+\"|'[^'\n]+')[ \t]*:(?:[ \t]|$)")
_BELOW_KEY = re.compile(r"[ \t]|-(?:[ \t]|$)|#|[]}],?[ \t]*$")
_FRONT_TITLE = re.compile(r"^title[ \t]*+:[ \t]*+(?![>|][-+\d]*[ \t]*$)(\S.*)", re.MULTILINE | re.IGNORECASE)
_MARKED = re.compile(r"^(?:[ ]{0,3}#{1,6}[ \t]|[ ]{0,3}(?:={2,}|-{3,})[ \t]*$)", re.MULTILINE)
_ATX = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+(.*)")
_UNDERLINE = re.compile(r"[ ]{0,3}(?:(={2,})|-{3,})[ \t]*$")
_NOT_A_TITLE = re.compile(r"[ ]{4}|\t|[ ]*(?:[-*+>|#]|\d+[.)])(?:\s|$)|[ ]*[|>]")
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})(.*)")
_LINK = re.compile(r"!?\[([^\]]*+)(\](?:\((?:[^)\]]|\](?!\())*+\)|\[[^\]]*+\]))?+")
"""A link, or, without group 2, a bracket that begins no link up to the next ``]``; no bracket within begins one."""
_DECORATION = re.compile(r"\*{1,3}|_{2,3}|`+")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its characters ``start`` to ``end``, underline included, and the path that ends in it."""

    start: int
    end: int
    path: tuple[str, ...]


def headings(text: str) -> list[Heading]:
    """Return the ATX and setext headings outside fenced code and front matter, in order, each with its path."""
    if not _MARKED.search(text):
        return []
    outline: list[Heading] = []
    above: list[tuple[int, str]] = []
    for start, end, level, title in _titles(text):
        while above and above[-1][0] >= level:
            above.pop()
        above.append((level, title))
        outline.append(Heading(start, end, tuple(name for _, name in above)))
    return outline


def path_at(outline: list[Heading], text: str, start: int, end: int) -> tuple[str, ...]:
    """Return the headings above the first words of a passage that are not a heading, outermost first.

    Headings at the beginning of the passage belong to the path; headings further inside do not.

    Args:
        outline: Headings of the text; see `headings`.
        text: The text.
        start: First character of the passage.
        end: Character after the passage.
    """
    index = bisect_left(outline, start, key=lambda heading: heading.start)
    while index < len(outline) and outline[index].start < end and not text[start : outline[index].start].strip():
        start = outline[index].end
        index += 1
    return outline[index - 1].path if index else ()


def _titles(text: str) -> Iterator[tuple[int, int, int, str]]:
    """Yield start, end, level and title of every heading."""
    fence = ""
    previous = (0, "")
    blank_before = True
    skip_until, _ = front_matter(text)
    for start, line in _lines(text):
        if start < skip_until:
            continue
        fence, fenced = _fence_after(fence, line)
        if fenced:
            previous = (start, "")
            blank_before = False
            continue
        if (atx := _ATX.match(line)) and (title := _plain(unclosed(atx[2]))):
            yield start, start + len(line), len(atx[1]), title
            previous = (start, "")
            blank_before = True
            continue
        if previous[1] and (under := _UNDERLINE.match(line)) and (title := _plain(previous[1])):
            yield previous[0], start + len(line), 1 if under[1] else 2, title
            previous = (start, "")
            blank_before = True
            continue
        blank = not line.strip()
        may_be_title = blank_before and not blank and len(line) <= MAX_TITLE and not _NOT_A_TITLE.match(line)
        previous = (start, line if may_be_title else "")
        blank_before = blank


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    while start < len(text):
        stop = text.find("\n", start)
        stop = len(text) if stop < 0 else stop
        # No heading is longer, and a copy of a giant line would double the memory used.
        yield start, text[start : min(stop, start + 4 * MAX_TITLE)]
        start = stop + 1


def front_matter(text: str) -> tuple[int, str | None]:
    """Return the number of characters of a text's front matter (0 if it has none), and the title in it, if any.

    Front matter is a block of YAML between lines of ``---``, or of TOML between lines of ``+++``, that the text begins
    with. A block that is not made of keys, each once, is text between two rules.
    """
    block = _FRONT_MATTER.match(text[:MAX_FRONT_MATTER])
    if block is None:
        return 0, None
    if block["toml"] is not None:
        keys = _toml(block["toml"])
        title = next((value for key, value in keys.items() if key.lower() == "title"), None)
        return (block.end() if keys else 0), title if isinstance(title, str) else None
    if not _has_keys(block["yaml"]):
        return 0, None
    title_line = _FRONT_TITLE.search(block["yaml"])
    return block.end(), title_line[1].rstrip(" \t").strip("\"'") if title_line else None


def _toml(block: str) -> dict[str, object]:
    """Return the keys of a block; none if it is not TOML."""
    try:
        import tomllib  # slow to import

        return tomllib.loads(block)
    except (ValueError, RecursionError):
        return {}


def _has_keys(block: str) -> bool:
    """Whether a block is YAML with keys, each once, and every other line belongs to a key or is a comment."""
    keys: list[str] = []
    for line in block.split("\n"):
        if key := _KEY.match(line):
            keys.append(key[1])
        elif line.strip() and not (line.startswith("#") or (keys and _BELOW_KEY.match(line))):
            return False
    return bool(keys) and len(set(keys)) == len(keys)


def _fence_after(fence: str, line: str) -> tuple[str, bool]:
    """Return the fence that is open after this line ("" if none), and whether the line belongs to fenced code."""
    mark = _FENCE.match(line)
    if not fence:
        opens = mark is not None and not ("`" in mark[1] and "`" in mark[2])
        return (mark[1], True) if mark and opens else ("", False)
    closes = mark is not None and mark[1].startswith(fence) and not mark[2].strip()
    return ("" if closes else fence), True


def unclosed(words: str) -> str:
    """Return the words of a heading without the marks ``##`` that may close it, and without white space at the end."""
    words = words.rstrip(" \t")
    bare = words.rstrip("#")
    return bare.rstrip(" \t") if bare[-1:] in {" ", "\t"} else words


def _plain(title: str) -> str:
    """Return the title without Markdown's decoration, empty if it is too long."""
    words = _LINK.sub(lambda link: link[1] if link[2] else link[0], title)
    bare = _DECORATION.sub("", _without_anchor(words)).strip()
    return bare if len(bare) <= MAX_TITLE else ""


def _without_anchor(title: str) -> str:
    """Return a heading without the name ``{#name}`` at its end."""
    start = title.find("{#", title.rfind("}", 0, -1) + 1) if title.endswith("}") else -1
    return title[:start].rstrip() if start >= 0 else title
