"""What the HTML pages of a site share: lines that stand on most of them, and the site's name in their titles.

A site is a folder that was given, with everything below it. The pages wait in a temporary file while their lines are
counted; memory holds eight bytes for each line of each page.
"""

from __future__ import annotations

import array
import json
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np

from goldbench.formats.documents.identity import fingerprint
from goldbench.formats.documents.sources import SourceFile
from goldbench.formats.faults import Fault
from goldbench.records.manifest import SharedLine
from goldbench.text.display import amount, cut, one_line

FEWEST_PAGES = 5
"""Fewest pages of a site; on fewer, a line may be on most of them by chance."""
_SITE_SHARE = 0.5
"""A line is left out that stands on more than this share of the pages."""
_FENCE = re.compile(r"(?:[\s>:]|[-*+]\s|\d+\.\s)*(`{3,})\Z")
"""A line that begins or ends code, also as the first line of an item of a list, a definition or a quotation."""
_HEADING = re.compile(r"(#{1,6}) ")
_WORD = re.compile(r"[^\W_]")
_TITLE_PART = re.compile(r"(.+?)( [—–|·•»«-] | :: |: |\Z)")
"""A part of a title, and what stands between it and the next."""
_TEXT = 7
_FIXED = 8
"""The levels of lines that are no headings: text, and code and rows of tables, which stay."""
_MOST_LISTED = 50
_LISTED_LENGTH = 100
"""Most lines that are listed, and most characters of each."""


class ConvertedPage(NamedTuple):
    """The title of a document, if it has one, its text, and what was left out: hidden characters, lines of PDFs."""

    title: str | None
    text: str
    unseen: int = 0
    page_lines: int = 0


@dataclass(frozen=True, slots=True)
class LeftOutLines:
    """What was left out of texts.

    Attributes:
        lines: How many lines that most pages of a site share.
        shared: The commonest of them.
        unseen: How many control and hidden characters.
        page_lines: How many running headers and footers of PDFs.
    """

    lines: int
    shared: tuple[SharedLine, ...] = ()
    unseen: int = 0
    page_lines: int = 0

    def notes(self) -> list[str]:
        """Return what was left out in a line each, without its text."""
        counts = (
            (self.lines, "line", " that most pages of a site share"),
            (self.page_lines, "line", " that the pages of a PDF share"),
            (self.unseen, "control or hidden character", ""),
        )
        return [f"left out {amount(count, noun)}{where}" for count, noun, where in counts if count]


class SitePages:
    """Converted pages, in order, and then again without what most pages of their site share."""

    def __init__(self) -> None:
        self._waiting = tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n")  # noqa: SIM115  # closed on exit
        self._pages = Counter[Path]()
        self._prints: defaultdict[Path, array.array[int]] = defaultdict(lambda: array.array("Q"))
        """By site: the fingerprints of the lines and the parts of titles of each page."""
        self._lines = 0
        self._listed = Counter[str]()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waiting.close()

    @property
    def left_out(self) -> LeftOutLines:
        """What was left out so far."""
        most = sorted(self._listed.items(), key=lambda item: (-item[1], item[0]))[:_MOST_LISTED]
        return LeftOutLines(self._lines, tuple(SharedLine(line=line, pages=pages) for line, pages in most))

    def put(self, file: SourceFile, page: ConvertedPage | Fault) -> None:
        """Take a page, or why it cannot be read."""
        if isinstance(page, Fault):
            self._waiting.write(json.dumps([page.problem]) + "\n")
            return
        self._waiting.write(json.dumps(page) + "\n")
        lines = page.text.split("\n")
        prints = {_line_print(line) for line, level in zip(lines, _levels(lines), strict=True) if 0 < level < _FIXED}
        prints.update(_part_print(part) for part, _ in _title_parts(page.title))
        self._pages[_site(file)] += 1
        self._prints[_site(file)].extend(prints)

    def clean_pages(self, files: Iterable[SourceFile]) -> Iterator[ConvertedPage | Fault]:
        """Yield the pages again without what most pages of their site share; ``files`` are as they were put in."""
        shared_of = {site: self._shared(site) for site in self._pages}
        self._waiting.seek(0)
        for file, line in zip(files, self._waiting, strict=True):
            fields = json.loads(line)
            if len(fields) == 1:
                yield Fault(fields[0])
                continue
            page = ConvertedPage(*fields)
            shared = shared_of[_site(file)]
            text, lines = without_lines(page.text, shared)
            self._lines += len(lines)
            self._listed.update({cut(one_line(line), _LISTED_LENGTH) for line in lines})
            yield page._replace(title=own_title(page.title, text, shared), text=text)

    def _shared(self, site: Path) -> frozenset[int]:
        """Return the fingerprints of what stands on most pages of a site."""
        if self._pages[site] < FEWEST_PAGES:
            return frozenset()
        prints, counts = np.unique(np.array(self._prints[site], dtype=np.uint64), return_counts=True)
        return frozenset(prints[counts > _SITE_SHARE * self._pages[site]].tolist())


def without_lines(text: str, shared: frozenset[int]) -> tuple[str, list[str]]:
    """Return a text without shared lines, and these lines; code and tables stay, and headings with text below them.

    A shared heading of level 1 right above another heading is the site's name, and goes. A text that would hold no word
    stays as it is.

    Args:
        text: Markdown-like text.
        shared: The fingerprints of the lines.
    """
    lines = text.split("\n")
    remaining: list[str] = []
    removed: list[str] = []
    below = 0
    """The level of the next remaining line that holds a word."""
    for line, level in zip(reversed(lines), reversed(_levels(lines)), strict=True):
        is_bare = below <= level or (level == 1 and below < _TEXT)
        if 0 < level < _FIXED and is_bare and _line_print(line) in shared:
            removed.append(line)
            continue
        remaining.append(line)
        if level:
            below = min(level, _TEXT)
    rest = re.sub(r"\n{3,}", "\n\n", "\n".join(reversed(remaining))).strip("\n")
    return (rest, removed[::-1]) if _WORD.search(rest) else (text, [])


def own_title(title: str | None, text: str, shared: frozenset[int]) -> str | None:
    """Return a title without the parts that most titles of the site share; the first heading if there is no other."""
    own = [(part, between) for part, between in _title_parts(title) if _part_print(part) not in shared]
    if own:
        return "".join(part + between for part, between in own[:-1]) + own[-1][0]
    heading = next((line for line in text.split("\n") if _HEADING.match(line)), "")
    return heading.lstrip("#").strip().replace("`", "") or title


def _site(file: SourceFile) -> Path:
    """Return the folder that was given."""
    return file.path.absolute().parents[file.source.count("/")]


def _levels(lines: Sequence[str]) -> list[int]:
    """Return for each line the level of its heading, ``_TEXT``, ``_FIXED``, or 0 for a line without a word."""
    levels = []
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        heading = _HEADING.match(line)
        if fence:
            levels.append(_FIXED)
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark:
            levels.append(_FIXED)
            fence = mark[1]
        elif not _WORD.search(line):
            levels.append(0)
        elif line.lstrip().startswith("|"):
            levels.append(_FIXED)
        else:
            levels.append(len(heading[1]) if heading else _TEXT)
    return levels


def _line_print(line: str) -> int:
    return fingerprint(" ".join(line.casefold().split()).encode())


def _part_print(part: str) -> int:
    return fingerprint(f"\0{part.casefold()}".encode())  # a part of a title is no line


def _title_parts(title: str | None) -> list[tuple[str, str]]:
    return _TITLE_PART.findall(" ".join((title or "").split()))
