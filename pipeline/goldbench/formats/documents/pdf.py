"""PDF to text by pdfium: in reading order, a row of a table in a line, without running headers."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from goldbench.formats.documents.html_text import tidy
from goldbench.formats.faults import Fault

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

_LINE_END = "\r\n"
_HYPHEN = "\ufffe"
"""How pdfium writes a hyphen at the end of a line whose word the next line continues."""
_DIVIDED = re.compile(rf"(?<!\w)(\w++){_HYPHEN}(\w++)")
_LIGATURES = str.maketrans({code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)})
_UNREADABLE = re.compile(r"[\x00-\x08\x0e-\x1f\ufffd\ufffe\ue000-\uf8ff]")
_PAGE_NUMBER = re.compile(r"^\d++|(?<!\d)\d++(?: ?\S{1,3} ?\d++)?$")
"""A number at an end of a line, also as ``3 of 12``."""
_EDGE = 0.15
"""Share of a page's height at its top and at its bottom in which running headers and footers stand."""
_WIDER = 1.3
"""How many times as far as a neighbouring pair of lines those are apart between which a paragraph ends."""
_CELL_WORDS = 5
_SAME_LINE = 2.0
"""Most words of a line that may be a cell, and most points between the baselines of the cells of a row."""


@dataclass(slots=True)
class _Line:
    """A line of a page: how far its bottom is from that of the page, in points and as a share of the page's height."""

    text: str
    bottom: float
    height: float

    @property
    def key(self) -> tuple[str, int]:
        """What is the same on all pages if the line is a running header or footer."""
        return _PAGE_NUMBER.sub("#", self.text.strip()), round(self.bottom / 3)


def pdf_to_text(data: bytes) -> tuple[str, int]:
    """Return the text of a PDF, and how many running headers, footers and page numbers were left out.

    A character that a font does not explain is a NUL, so that it is counted with the control characters of all texts.

    Raises:
        Fault: It is encrypted, holds no text, or its fonts do not say which characters they show.
        PdfiumError: It is damaged.
    """
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        document = PdfDocument(data)
    except PdfiumError as error:
        if re.search("password|security", str(error), re.IGNORECASE):
            raise Fault("is encrypted: save it without a password") from None
        raise
    try:
        pages = [list(_lines(page)) for page in _pages(document)]
    finally:
        document.close()
    counts = Counter(
        key for page in pages for key in {line.key for line in page if not _EDGE < line.height < 1 - _EDGE}
    )
    least = 2 if len(pages) < 6 else 3
    furniture = {key for key, count in counts.items() if count >= least}
    bodies = [_without_edges(page, furniture) for page in pages]
    if not any(bodies):  # pages that hold nothing but what they share
        bodies = pages
    text = "\n\n".join(_in_paragraphs(_join_columns(body)) for body in bodies)
    text = tidy(_join_words(text.translate(_LIGATURES)))
    if not text.strip():
        raise Fault("holds no text: if its pages are pictures of text, recognise it (OCR) first")
    if 2 * len(_UNREADABLE.findall(text)) > len(text.strip()):
        raise Fault("has fonts that do not say which characters they show: recognise its text (OCR) first")
    return _UNREADABLE.sub("\0", text), sum(map(len, pages)) - sum(map(len, bodies))


def _pages(document: PdfDocument) -> Iterator[PdfPage]:
    for index in range(len(document)):
        page = document[index]
        yield page
        page.close()


def _lines(page: PdfPage) -> Iterator[_Line]:
    """Yield the lines of a page that are not blank, in reading order."""
    textpage = page.get_textpage()
    height = page.get_height()
    start = 0
    for text in textpage.get_text_range().split(_LINE_END):
        if text.strip():
            first = start + len(text) - len(text.lstrip())
            bottom = textpage.get_charbox(min(first, textpage.count_chars() - 1), loose=True)[1]
            yield _Line(text.rstrip(), bottom, bottom / height)
        start += len(text) + len(_LINE_END)


def _without_edges(lines: Sequence[_Line], furniture: Set[tuple[str, int]]) -> list[_Line]:
    """Return the lines of a page without its running headers and footers: nothing stands outside of these."""
    upwards = sorted(lines, key=lambda line: line.bottom)
    footers = takewhile(lambda line: line.height < _EDGE and line.key in furniture, upwards)
    headers = takewhile(lambda line: line.height > 1 - _EDGE and line.key in furniture, reversed(upwards))
    edges = {id(line) for line in (*footers, *headers)}
    return [line for line in lines if id(line) not in edges]


def _join_columns(lines: Sequence[_Line]) -> list[_Line]:
    """Return the lines with the cells of a table in one line per row if they were drawn column by column."""
    rows: list[_Line] = []
    start = 0
    while start < len(lines):
        end = start + 1
        while end < len(lines) and lines[end].bottom < lines[end - 1].bottom:
            end += 1
        column = lines[start:end]
        before = rows[-len(column) :]
        if len(before) == len(column) > 1 and all(map(_are_cells, before, column)):
            for row, cell in zip(before, column, strict=True):
                row.text += f" {cell.text}"
        else:
            rows += column
        start = end
    return rows


def _in_paragraphs(lines: Sequence[_Line]) -> str:
    """Return the lines as text, with a blank line where they are farther apart than the lines before or after."""
    gaps = [upper.bottom - lower.bottom for upper, lower in pairwise(lines)]
    parts = [line.text for line in lines[:1]]
    for index, gap in enumerate(gaps):
        neighbours = [
            neighbour for neighbour in (*gaps[max(0, index - 1) : index], *gaps[index + 1 : index + 2]) if neighbour > 0
        ]
        is_end = bool(neighbours) and gap > _WIDER * min(neighbours)
        parts.append("\n\n" if is_end else "\n")
        parts.append(lines[index + 1].text)
    return "".join(parts)


def _are_cells(row: _Line, cell: _Line) -> bool:
    is_short = max(len(row.text.split()) // 2, len(cell.text.split())) <= _CELL_WORDS
    return is_short and abs(row.bottom - cell.bottom) <= _SAME_LINE


def _join_words(text: str) -> str:
    """Return the text with the words that line ends divide, with their hyphen if it seems to belong to them.

    It does if both halves stand elsewhere in the text, and the joined word does not.
    """
    words = set(re.findall(r"\w+", _DIVIDED.sub(" ", text).lower()))

    def join(match: re.Match[str]) -> str:
        first, second = match.groups()
        is_compound = {first.lower(), second.lower()} <= words and (first + second).lower() not in words
        return f"{first}-{second}" if is_compound else first + second

    return _DIVIDED.sub(join, text).replace(_HYPHEN, "-")
