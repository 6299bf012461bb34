"""HTML to Markdown-like text: headings as ``#``, lists, tables and code kept; links and pictures as their words."""

from __future__ import annotations

import re
import warnings

from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString
from markdownify import MarkdownConverter

from goldbench.formats.documents.main_content import main_content, size_of

_SUBSET = re.compile(r"\A\s*+(?:<\?xml[^>]*>\s*+)?<!DOCTYPE[^>\[]*\[[^\]]*\]\s*>", re.IGNORECASE)
"""The declarations of an XHTML page, which lxml's HTML parser would take for text."""
_BLANK_LINES = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")
_TRAILING = re.compile(r"(?<![ \t])[ \t]++(?=\n|\Z)")
_FENCES = re.compile(r"^[ \t>]*(`{3,})", re.MULTILINE)
_RAISABLE = re.compile(r"[-−+]?[0-9]{1,9}")
_RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
"""How a raised number is written: ten to the third is 10³, not 103."""
_LINES_OF_CODE = ["div", "p", "li", "tr"]
_BLOCKS = ["aside", "details", "summary", "figure", "header", "footer", "hgroup", "main"]
_CELLS = ["td", "th"]
_MOST_SPANNED = 50
_LONGEST_REPEATED = 100
"""Most rows and columns that a cell spans, and most characters of a cell that is repeated in each row."""


class _Converter(MarkdownConverter):
    """Markdown without addresses, because in a page they outweigh the words and no query asks about them."""

    def convert_sup(self, _el: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002  # called by this name
        return text.translate(_RAISED) if _RAISABLE.fullmatch(text) else text

    def convert_img(self, el: Tag, _text: str, parent_tags: set[str]) -> str:  # noqa: ARG002  # called by this name
        return str(el.get("alt") or "")

    def convert_pre(self, el: Tag, _text: str, parent_tags: set[str]) -> str:  # noqa: ARG002  # called by this name
        code = el.get_text().strip("\n")
        if not code.strip():
            return ""
        fence = "`" * max(3, 1 + max(map(len, _FENCES.findall(code)), default=0))
        return f"\n\n{fence}\n{code}\n{fence}\n\n"


def html_to_text(html: str) -> tuple[str | None, str]:
    """Return the page's title, if it has one, and the text of its main content; see ``main_content.py``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a page that looks like something else is read as a page
        # lxml's parser ends <li>, <p> and <td> that a page leaves open; html.parser nests them.
        page = BeautifulSoup(_SUBSET.sub("", html.replace("\0", ""), count=1), "lxml", multi_valued_attributes=None)
    title = page.title.get_text().strip() if page.title else ""
    content = main_content(page)
    _mark_code(content)
    _mark_lines(content)
    _repeat_cells(content)
    converter = _Converter(
        heading_style="ATX",
        bullets="-",
        escape_asterisks=False,
        escape_underscores=False,
        table_infer_header=True,
        strip=["a", "video"],
        wrap=True,  # with no width: a paragraph is one line
        wrap_width=None,
    )
    try:
        text = converter.convert_soup(content)
    except RecursionError:  # more than some 300 elements around one another
        text = content.get_text("\n")
    return title or None, tidy(text)


def _mark_code(content: Tag) -> None:
    """Make one ``pre`` with line breaks of each form of code: Doxygen's, and tables with line numbers beside it."""
    for fragment in content.find_all("div", class_="fragment"):
        fragment.name = "pre"
    blocks = content.find_all("pre")
    around = set(map(id, (content, *content.parents)))
    for frame in [block.find_parent("table") for block in blocks]:
        if frame is not None and frame.parent is not None and id(frame) not in around:
            own = frame.find_all("pre")
            if size_of(frame) == sum(map(size_of, own)):
                frame.replace_with(*own)
    for block in blocks:
        for line_break in block.find_all("br"):
            line_break.replace_with("\n")
        for line in block.find_all(_LINES_OF_CODE):
            if not line.get_text().endswith("\n") and not str(line.next_sibling).startswith("\n"):
                line.append("\n")


def _mark_lines(content: Tag) -> None:
    """Make ``div`` of elements that the converter would write into the line before them, and strip the lines below."""
    for block in content.find_all(_BLOCKS):
        block.name = "div"
    for line_break in content.find_all("br"):
        text = line_break.next_sibling
        if isinstance(text, NavigableString):
            text.replace_with(text.lstrip())


def _repeat_cells(content: Tag) -> None:
    """Repeat a cell that spans several rows in each of them, so that the cells beside it stay in their columns."""
    rows = [cell.find_parent("tr") for cell in content.find_all(_CELLS, rowspan=True)]
    sections = {id(row.parent): row.parent for row in rows if row is not None}
    for section in sections.values():
        # By column: in how many more rows a cell stands, and the cell.
        spanning: dict[int, tuple[int, Tag]] = {}
        for row in section.find_all("tr", recursive=False) if section else []:
            spanning = _fill_row(row, spanning)


def _fill_row(row: Tag, spanning: dict[int, tuple[int, Tag]]) -> dict[int, tuple[int, Tag]]:
    """Put copies of the cells of rows above into a row, and return the cells that span the rows below it."""
    cells: list[Tag] = []
    below: dict[int, tuple[int, Tag]] = {}
    column = 0
    for cell in row.find_all(_CELLS, recursive=False):
        cell.extract()
        while column in spanning:
            column = _add_copy(cells, column, spanning.pop(column), below)
        rows_below = _span(cell, "rowspan") - 1
        if rows_below:
            below[column] = (rows_below, cell)
        cells.append(cell)
        column += _span(cell, "colspan")
    for column_above in sorted(spanning):
        _add_copy(cells, column_above, spanning[column_above], below)
    row.clear()
    row.extend(cells)
    return below


def _add_copy(cells: list[Tag], column: int, above: tuple[int, Tag], below: dict[int, tuple[int, Tag]]) -> int:
    """Add a copy of a cell of a row above to the cells of a row, and return the column after it."""
    rows_left, cell = above
    text = cell.get_text()
    width = _span(cell, "colspan")
    copy = Tag(name="td", attrs={"colspan": str(width)})
    copy.string = text if len(text) <= _LONGEST_REPEATED else ""
    cells.append(copy)
    if rows_left > 1:
        below[column] = (rows_left - 1, cell)
    return column + width


def _span(cell: Tag, name: str) -> int:
    digits = str(cell.get(name, "1"))
    return min(int(digits[:4]), _MOST_SPANNED) if digits.isascii() and digits.isdigit() else 1


def tidy(text: str) -> str:
    """Return converted text without spaces at line ends, runs of blank lines or blank lines around it."""
    text = _TRAILING.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\n"))
    return _BLANK_LINES.sub("\n\n", text).strip("\n")
