"""HTML to Markdown-like text: headings as ``#``, lists, tables and code kept; links and pictures as their words."""

from __future__ import annotations

import re
import warnings
from collections import Counter

from bs4 import BeautifulSoup, Tag
from bs4.element import PageElement, PreformattedString
from markdownify import MarkdownConverter

from goldbench.formats.documents.main_content import main_content
from goldbench.formats.documents.page_furniture import is_bar

_BLANK_LINES = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")
_TRAILING = re.compile(r"(?<![ \t])[ \t]++(?=\n|\Z)")
_FENCES = re.compile(r"^[ \t>]*(`{3,})", re.MULTILINE)
_OPENS = re.compile(r"[\s>:.\d-]*(`{3,})")
"""A line that begins code, also as the first line of an item of a list, a definition or a quotation."""
_ROW = re.compile(r"[\s>:.\d-]*\|.*\|\Z")
_RAISABLE = re.compile(r"[-−+]?[0-9]{1,9}")
_RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
"""How a raised number is written: ten to the third is 10³, not 103."""
_DOCTYPE = re.compile(
    r"\ufeff?\s*+(?:<\?[^>]*+>\s*+|<!--(?:[^-]|-(?!->))*+-->\s*+)*+<!DOCTYPE\b[^\[>]*+\[", re.IGNORECASE
)
"""The beginning of a page whose document type holds declarations: ``<!DOCTYPE html [``."""
_SUBSET_PART = re.compile(r"<!--(?:[^-]|-(?!->))*+-->|\"[^\"]*+\"|'[^']*+'|[^]\"'<]++|<(?!!--)|](?!\s*+>)")
_SUBSET_END = re.compile(r"]\s*+>")
_BLOCKS = frozenset({"div", "p", "li", "tr", "dt", "dd"})
_MOST_COLUMNS, _MOST_REPEATED = 100, 100
"""Columns of a table in which cells may span rows, and most characters of a cell that is repeated in each of them."""


class _Text(MarkdownConverter):
    """Markdown without addresses, because in a page they outweigh the words and no query asks about them."""

    def __init__(self) -> None:
        super().__init__(
            heading_style="ATX",
            bullets="-",
            escape_asterisks=False,
            escape_underscores=False,
            escape_misc=False,
            table_infer_header=True,
        )
        self._items = Counter[int]()

    def convert_a(self, _el: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002  # called by this name
        return text

    def convert_sup(self, _el: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002  # called by this name
        return text.translate(_RAISED) if _RAISABLE.fullmatch(text) else text

    def convert_img(self, el: Tag, _text: str, parent_tags: set[str]) -> str:  # noqa: ARG002  # called by this name
        return str(el.get("alt") or "")

    def convert_li(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if el.parent is None or el.parent.name != "ol" or not text.strip():
            return str(super().convert_li(el, text, parent_tags))  # type: ignore[misc]
        self._items[id(el.parent)] += 1  # counting the items before each would take long in a long list
        start = str(el.parent.get("start", "1"))
        bullet = f"{self._items[id(el.parent)] + (int(start[:6]) - 1 if start.isdecimal() else 0)}. "
        lines = (line and " " * len(bullet) + line for line in text.strip().split("\n"))
        return bullet + "\n".join(lines).lstrip() + "\n"

    def convert_pre(self, el: Tag, _text: str, parent_tags: set[str]) -> str:  # noqa: ARG002  # called by this name
        code = _code(el).strip("\n")
        if not code.strip():
            return ""
        fence = "`" * max(3, 1 + max(map(len, _FENCES.findall(code)), default=0))
        return f"\n\n{fence}\n{code}\n{fence}\n\n"


def html_to_text(html: str) -> tuple[str | None, str]:
    """Return the page's title, if it has one, and the text of its main content; see ``main_content.py``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a page that looks like something else is read as a page
        # lxml's parser ends <li>, <p> and <td> that a page leaves open; html.parser nests them.
        page = BeautifulSoup(without_internal_subset(html.replace("\0", "")), "lxml", multi_valued_attributes=None)
    titled = page.find("title")
    title = titled.get_text().strip() if titled else ""
    content = main_content(page)
    for table in content.find_all("table"):
        _fill_rowspans(table)
    text = str(_Text().process_tag(content))  # type: ignore[attr-defined]  # of markdownify
    return title or None, tidy(_without_bars(tidy(text)))


def _fill_rowspans(table: Tag) -> None:
    """Repeat a cell that spans several rows in each of them, so that the cells beside it stay in their columns."""
    spans: dict[int, tuple[int, str]] = {}  # by column: the number of rows that follow, and the text
    for row in table.find_all("tr"):
        if row.find_parent("table") is not table:
            continue
        waiting = spans
        spans = {}
        cells: list[Tag] = []
        column = 0
        own = [node for node in row.contents if isinstance(node, Tag) and node.name in {"td", "th"}]
        for cell in [*own, None]:
            while column in waiting:
                rows, text = waiting[column]
                copy = Tag(name="td")
                copy.string = text
                cells.append(copy)
                if rows > 1:
                    spans[column] = rows - 1, text
                column += 1
            if cell is not None:
                cells.append(cell)
                rows = _span(cell, "rowspan") - 1
                text = cell.get_text()
                for number in range(_span(cell, "colspan")):
                    if rows > 0 and column < _MOST_COLUMNS:
                        spans[column] = rows, text if number == 0 and len(text) <= _MOST_REPEATED else ""
                    column += 1
        if waiting or spans:
            row.clear()
            row.extend(cells)


def _span(cell: Tag, name: str) -> int:
    digits = str(cell.get(name, "1"))
    return min(int(digits), 1000) if digits.isascii() and digits.isdigit() and len(digits) < 6 else 1


def without_internal_subset(html: str) -> str:
    """Return a page without the declarations in its document type, of which an HTML parser shows the end as text.

    A subset ends with the first ``]>`` outside quotes and comments; one that does not end stays.
    """
    start = _DOCTYPE.match(html)
    if start is None:
        return html
    place = start.end()
    while part := _SUBSET_PART.match(html, place):
        place = part.end()
    end = _SUBSET_END.match(html, place)
    return html if end is None else html[: start.end() - 1] + ">" + html[end.end() :]


def tidy(text: str) -> str:
    """Return converted text without spaces at line ends, runs of blank lines or blank lines around it."""
    text = _TRAILING.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\n"))
    return _BLANK_LINES.sub("\n\n", text).strip("\n")


def _without_bars(text: str) -> str:
    """Return a text without lines of words that lead from page to page; lines of code and rows of tables stay."""
    kept, fence = [], ""
    for line in text.split("\n"):
        if fence:
            fence = "" if line.strip(" \t>") == fence else fence
        elif opens := _OPENS.fullmatch(line):
            fence = opens[1]
        elif not _ROW.match(line) and is_bar(line):
            continue
        kept.append(line)
    return "\n".join(kept)


def _code(block: Tag) -> str:
    """Return the text of a block of code with the line breaks that its elements make."""
    parts: list[str] = []
    line: Tag = block  # the element that makes the lines in which the last text stands
    for node in block.descendants:
        if isinstance(node, Tag):
            if node.name == "br" or (node.name in _BLOCKS and parts and not parts[-1].endswith("\n")):
                parts.append("\n")
        elif not isinstance(node, PreformattedString):
            text, before = str(node), line
            if "\n" in text or text.strip():
                line = _line_of(node, block)
            breaks = "\n" in text[: len(text) - len(text.lstrip())] or parts[-1:] == ["\n"]
            if line is not before and parts and not breaks and not parts[-1].rstrip(" \t").endswith("\n"):
                parts.append("\n")
            parts.append(text)
    return "".join(parts)


def _line_of(text: PageElement, block: Tag) -> Tag:
    """Return the element that makes the lines in which a text of a block stands."""
    around = text.parent
    while around is not None and around is not block and around.name not in _BLOCKS:
        around = around.parent
    assert around is not None
    return around
