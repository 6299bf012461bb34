"""What the HTML pages of a site share: lines that stand on most of them, and the site's name in their titles.

A sentence that most pages share, such as a warning, stays on the first page. A line at the end of a page that says when
the page was made, and a version in the name of the site, are compared without their numbers.

A site is a folder that was given, with everything below it; a folder within it that has furniture of its own is one,
too. The pages wait in a temporary file while their lines are counted: first in buckets of hashes, then one by one those
of the full buckets. So memory holds some 300 bytes for each page and folder above it, and no order changes the result.
"""

from __future__ import annotations

import json
import re
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from goldbench.formats.documents.sources import SourceFile
from goldbench.formats.faults import Fault
from goldbench.records.manifest import SharedLine
from goldbench.text import table
from goldbench.text.display import amount, cut, one_line
from goldbench.text.words import word_count

FEWEST_PAGES = 5
"""Fewest pages of a site; on fewer, a line may be on most of them by chance."""
_SITE, _PART = 0.5, 0.9
"""A line is left out that stands on more than half of the pages of a folder that was given, or on more than nine tenths
of those of a folder within it: the pages of one chapter may share "See also" or the name of their author."""
_STAMPED = 0.1
"""Share of the pages from which a line that says when its page was made is one of the site's."""
_BUCKETS_PER_PAGE, _MOST_BUCKETS = 64, 1 << 20

Folder: TypeAlias = tuple[str, str]
"""The path of the folder that was given, and of a folder below it, with ``/`` at its end."""
_FENCE = re.compile(r"(?:[\s>:]|[-*+]\s|\d+\.\s)*(`{3,})\Z")
"""A line that begins or ends code, also as the first line of an item of a list, a definition or a quotation."""
_HEADING = re.compile(r"(#{1,6}) ")
_BETWEEN = re.compile(r" [—–|·•»«-] | :: | ?\| ?|: ")
"""What stands between the parts of a title, in which no white space follows another."""
_PART_OF_TITLE, _NUMBERED = "\0", "\1"
"""Begin what is counted for a part of a title, and in a form without numbers, to tell it from a line."""
_VERSION = re.compile(r"\bv?\d+(?:\.\w+)+")
_DATED = re.compile(r"(?=.*(?<!\d)(?:19|20)\d\d(?!\d))(?=.*\d+\D+\d|.*[©(])", re.DOTALL)
_NUMBER = re.compile(r"\b[^\W\d]{3,10}\.? (?=\d)|\d+\.? [^\W\d]{3,10}\.?(?= \d)|\d+")
"""A number, and a word beside one that may be the name of a month."""
_LONGEST_STAMP = 300
"""Most characters of a line that may say when the page was made."""
_LAST_LINES = 3
"""Lines at the end of a page, blank lines and rules not counted, among which a line may say when the page was made."""
_ITEM = re.compile(r"\s*(?:[-*+:]|\d+[.)])\s")
_WORD = re.compile(r"[^\W_]")
_SENTENCE = re.compile(r"[.!?…。！？؟।][\"'”’»*_)\s]*\Z")
_FEWEST_WORDS = 6
"""Fewest words of a sentence that stays on the first page."""
_MOST_LISTED, _LISTED_LENGTH = 50, 100
"""Most lines that are listed, and most characters of each."""


class Converted(NamedTuple):
    """The title of a document, if it has one, its text, and what was left out: hidden characters, lines of PDFs."""

    title: str | None
    text: str
    unseen: int = 0
    page_lines: int = 0


@dataclass(frozen=True, slots=True)
class LeftOut:
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
    """Converted pages, in order, and then again without what most pages of their site share.

    Args:
        files: The pages that will be put in.
    """

    def __init__(self, files: Sequence[SourceFile]) -> None:
        sizes = Counter(folder for file in files for folder in _folders(file))
        self._buckets = {folder: _empty(size) for folder, size in sizes.items() if size >= FEWEST_PAGES}
        self._pages: Counter[Folder] = Counter()
        self._stamps: dict[Folder, Counter[str]] = {folder: Counter() for folder in self._buckets}
        self._common: dict[Folder, frozenset[str]] = {}
        self._waiting = tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n")  # noqa: SIM115  # closed on exit
        self._kept: set[str] = set()
        self._taken: Counter[str] = Counter()
        self._lines = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waiting.close()

    @property
    def left_out(self) -> LeftOut:
        """What was left out so far."""
        most = sorted(self._taken.items(), key=lambda item: (-item[1], item[0]))[:_MOST_LISTED]
        return LeftOut(self._lines, tuple(SharedLine(line=line, pages=pages) for line, pages in most))

    def put(self, file: SourceFile, page: Converted | Fault) -> None:
        """Take a page, or why it cannot be read."""
        if isinstance(page, Fault):
            self._waiting.write(json.dumps([page.problem]) + "\n")
            return
        self._waiting.write(json.dumps(page) + "\n")
        lines = page.text.split("\n")
        kinds = _kinds(lines)
        hashes = np.array([zlib.crc32(line.encode()) for line in _counted(page.title, lines, kinds)], np.uint32)
        stamps = {form for _, form in _stamps(lines, kinds)}
        for folder in _folders(file):
            if (buckets := self._buckets.get(folder)) is not None:
                buckets[np.unique(hashes % np.uint32(len(buckets)))] += 1
                self._stamps[folder].update(stamps)
                self._pages[folder] += 1

    def settle(self, files: Sequence[SourceFile]) -> None:
        """Find what most pages share; ``files`` are those whose pages were put in, in the same order."""
        full = {
            folder: buckets > least
            for folder, buckets in self._buckets.items()
            if (least := self._least(folder)) is not None
        }
        full = {folder: buckets for folder, buckets in full.items() if buckets.any()}
        exact: dict[Folder, Counter[str]] = {folder: Counter() for folder in full}
        if full:
            for file, page in zip(files, self._again(), strict=True):
                lines = [] if isinstance(page, Fault) else page.text.split("\n")
                counted = set() if isinstance(page, Fault) else _counted(page.title, lines, _kinds(lines))
                hashes = [(line, zlib.crc32(line.encode())) for line in counted]
                for folder in _folders(file):
                    if (buckets := full.get(folder)) is not None:
                        exact[folder].update(line for line, number in hashes if buckets[number % len(buckets)])
        for folder, counts in exact.items():
            least = self._least(folder)
            assert least is not None
            if common := frozenset(line for line, count in counts.items() if count > least):
                self._common[folder] = common
        for folder, forms in self._stamps.items():
            least = max(FEWEST_PAGES, _STAMPED * self._pages[folder])
            found = frozenset(form for form, count in forms.items() if count >= least)
            self._common[folder] = self._common.get(folder, frozenset()) | found
        self._buckets.clear()
        self._stamps.clear()

    def cleaned(self, files: Sequence[SourceFile]) -> Iterator[Converted | Fault]:
        """Yield the pages again, in the same order, without what most pages of their site share."""
        for file, page in zip(files, self._again(), strict=True):
            if isinstance(page, Fault):
                yield page
                continue
            common = frozenset().union(*(self._common.get(folder, ()) for folder in _folders(file)))
            text, taken = without_lines(page.text, common, self._kept)
            self._lines += len(taken)
            self._taken.update({_listed(line) for line in taken})
            yield Converted(own_title(page.title, text, common), text, page.unseen)

    def _again(self) -> Iterator[Converted | Fault]:
        self._waiting.seek(0)
        for line in self._waiting:
            page = json.loads(line)
            yield Fault(page[0]) if len(page) == 1 else Converted(*page)

    def _least(self, folder: Folder) -> float | None:
        """Return the number of pages that a common line exceeds; None if the folder has too few pages."""
        pages = self._pages[folder]
        return (_PART if folder[1] else _SITE) * pages if pages >= FEWEST_PAGES else None


def without_lines(text: str, common: frozenset[str], kept: set[str] | None = None) -> tuple[str, list[str]]:
    """Return a text without common lines, and these lines; code, tables and what is needed to read it stay.

    Of a table all rows go or none. A common heading goes if nothing is left below it, or if it is of level 1, where the
    site's name stands, and others follow. A text that would hold no word stays as it is.

    Args:
        text: Markdown-like text.
        common: Lines in the form that `normal_line` gives, and forms without numbers.
        kept: The sentences that stay on an earlier page; those that stay on this one are added.
    """
    lines = text.split("\n")
    kinds = _kinds(lines)
    gone = [bool(kind) and normal_line(line) in common for line, kind in zip(lines, kinds, strict=True)]
    stamped = {place for place, form in _stamps(lines, kinds) if form in common}
    for place in stamped:
        gone[place] = True
    if not any(gone):
        return text, []
    _keep_tables(kinds, gone)
    added = _keep_paragraphs(lines, kinds, gone, stamped, set() if kept is None else kept)
    _keep_headings(lines, kinds, gone)
    rest = "\n".join(line for line, left_out in zip(lines, gone, strict=True) if not left_out)
    rest = re.sub(r"\n{3,}", "\n\n", rest).strip("\n")
    if not _WORD.search(rest):
        return text, []
    if kept is not None:
        kept |= added
    return rest, [line for line, left_out in zip(lines, gone, strict=True) if left_out]


def own_title(title: str | None, text: str, common: frozenset[str]) -> str | None:
    """Return a title without the parts at its ends that most titles of the site share; a version that differs stays.

    Args:
        title: The title of the page.
        text: Its text; its first heading is the title of a page that has only the site's.
        common: What most pages share.
    """
    parts = _parts(title or "")
    start, end = 0, len(parts)
    while end > start and _PART_OF_TITLE + normal_line(parts[end - 1][0]) in common:
        end -= 1
    while start < end and _PART_OF_TITLE + normal_line(parts[start][0]) in common:
        start += 1
    if not parts:
        return title
    if start == end:
        heading = next((line for line in text.split("\n") if _HEADING.match(line)), "")
        return heading.lstrip("#").strip().replace("`", "") or title
    own = [part + between for part, between in parts[start:end]]
    if end == len(parts) and end - start > 1 and _numbered(parts[-1][0]) in common:
        own[-1] = " ".join(_VERSION.findall(own[-1]))
        return "".join(own)
    return "".join(own[:-1]) + parts[end - 1][0]


def normal_line(line: str) -> str:
    """Return a line in the form in which it is compared: case-folded, single spaces."""
    return " ".join(line.casefold().split())


def _counted(title: str | None, lines: Sequence[str], kinds: Sequence[str]) -> set[str]:
    """Return what is counted of a page: its lines outside code that hold a word, and the parts of its title."""
    found = {normal_line(line) for line, kind in zip(lines, kinds, strict=True) if kind}
    parts = [part for part, _ in _parts(title or "")]
    found.update(_numbered(part) for part in parts[1:][-1:] if _VERSION.search(part))
    return found | {_PART_OF_TITLE + normal_line(part) for part in parts}


def _numbered(part: str) -> str:
    """Return what is counted for the last part of a title whatever its version is."""
    return _PART_OF_TITLE + _NUMBERED + _VERSION.sub("0", normal_line(part))


@cache
def _stamp_words() -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, table("site_words")["stamp"])), re.IGNORECASE)


def _stamps(lines: Sequence[str], kinds: Sequence[str]) -> list[tuple[int, str]]:
    """Return the places and the forms of lines at the end of a page that say when it was made."""
    last = [position for position, line in enumerate(lines) if kinds[position] or line.strip("-*_ ")][-_LAST_LINES:]
    return [
        (place, _NUMBERED + _NUMBER.sub("0", normal_line(lines[place])))
        for place in last
        if kinds[place] == "text"
        and len(lines[place]) <= _LONGEST_STAMP
        and _stamp_words().search(lines[place])
        and _DATED.match(lines[place])
    ]


def _listed(line: str) -> str:
    return cut(one_line(line), _LISTED_LENGTH)


def _kinds(lines: Sequence[str]) -> list[str]:
    """Return for each line ``heading``, ``row`` or ``text``, and nothing for code and lines without a word."""
    found, fence = [], ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
            found.append("")
        elif fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
            found.append("")
        elif line.lstrip().startswith("|"):
            found.append("row")
        elif not _WORD.search(line):
            found.append("")
        else:
            found.append("heading" if _HEADING.match(line) else "text")
    return found


def _keep_tables(kinds: Sequence[str], gone: list[bool]) -> None:
    start = 0
    for number in range(len(kinds) + 1):
        if number == len(kinds) or kinds[number] != "row":
            if not all(gone[start:number]):
                gone[start:number] = [False] * (number - start)
            start = number + 1


def _keep_paragraphs(
    lines: Sequence[str], kinds: Sequence[str], gone: list[bool], stamped: set[int], kept: set[str]
) -> set[str]:
    """Keep paragraphs of which a line stays, and sentences that stand on no earlier page; return the sentences.

    A line that says when the page was made is another sentence on each page, and does not count as one.
    """
    added: set[str] = set()
    for start, end in _paragraphs(lines, kinds):
        if not all(gone[start:end]):
            gone[start:end] = [False] * (end - start)
            continue
        text = normal_line(" ".join(lines[number] for number in range(start, end) if number not in stamped))
        if text not in kept and text not in added and _SENTENCE.search(text) and word_count(text) >= _FEWEST_WORDS:
            added.add(text)
            gone[start:end] = [False] * (end - start)
    return added


def _paragraphs(lines: Sequence[str], kinds: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where paragraphs and items of lists begin and end."""
    start = 0
    for number in range(len(lines) + 1):
        inside = number < len(lines) and kinds[number] == "text"
        if start < number and (not inside or _ITEM.match(lines[number])):
            yield start, number
            start = number
        if not inside:
            start = number + 1


def _keep_headings(lines: Sequence[str], kinds: Sequence[str], gone: list[bool]) -> None:
    below = [0] * 7
    """By level: whether anything is kept below a heading of this level that would stand here."""
    others = False
    for number in range(len(lines) - 1, -1, -1):
        mark = _HEADING.match(lines[number]) if kinds[number] == "heading" else None
        if mark is None:
            if not gone[number] and lines[number].strip(" -|*_"):
                below = [1] * 7
            continue
        level = len(mark[1])
        gone[number] = gone[number] and (not below[level] or (level == 1 and others))
        others = others or not gone[number]
        for lower in range(level, 7):
            below[lower] = 0
        if not gone[number]:
            below[:level] = [1] * level


def _parts(title: str) -> list[tuple[str, str]]:
    """Return the parts of a title, each with what stands after it; brackets at the end are a part."""
    title = " ".join(title.split())
    bracket = _bracket(title)
    head, tail = (title[: bracket - 1], title[bracket:]) if bracket > 1 and title[bracket - 1] == " " else (title, "")
    parts, start = [], 0
    for between in _BETWEEN.finditer(head):
        parts.append((head[start : between.start()], between[0]))
        start = between.end()
    if tail:
        return [*parts, (head[start:], " "), (tail, "")]
    return [*parts, (head[start:], "")] if head else []


def _bracket(title: str) -> int:
    """Return where the brackets begin that a title ends with; 0 if it ends otherwise."""
    depth = 0
    for number in range(len(title) - 1, 0, -1):
        depth += (title[number] == ")") - (title[number] == "(")
        if depth <= 0:
            return number if title[number] == "(" else 0
    return 0


def _folders(file: SourceFile) -> list[Folder]:
    names = file.source.split("/")
    top = str(file.path.absolute().parents[len(names) - 1])
    return [(top, "".join(f"{name}/" for name in names[:depth])) for depth in range(len(names))]


def _empty(pages: int) -> npt.NDArray[np.uint32]:
    return np.zeros(min(_MOST_BUCKETS, 1 << (_BUCKETS_PER_PAGE * pages - 1).bit_length()), np.uint32)
