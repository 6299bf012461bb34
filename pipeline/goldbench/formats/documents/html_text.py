"""HTML to Markdown-like text: headings as ``#``, lists, tables and code kept; links and pictures as their words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from markdownify import MarkdownConverter

from goldbench.formats.documents.main_content import main_content
from goldbench.formats.documents.page_furniture import is_bar
from goldbench.formats.documents.page_tree import Element, Instruction, Node, Remark, Text, closest, page_tree

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
_TRIMMED = frozenset({
    "p", "blockquote", "article", "div", "section", "ol", "ul", "li", "dl", "dt", "dd", "table", "thead", "tbody",
    "tfoot", "tr", "td", "th",
})  # fmt: skip
"""Elements around which, and in which at the ends, white space is left out; headings are others."""
_HEADING = re.compile(r"h\d+")
_INLINE, _AS_IT_IS = "_inline", "_noformat"
"""Stand among the names of the elements around a text for a heading or cell, and for code."""
_MOST_COLUMNS, _MOST_REPEATED = 100, 100
"""Columns of a table in which cells may span rows, and most characters of a cell that is repeated in each of them."""
_SPACE = re.compile(r"[\t \r\n]{2,}|[\t\r\n]")
"""White space that is not one space already."""


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
        self._items: Counter[int] = Counter()

    def text_of(self, root: Element) -> str:
        """Return the text of an element and all in it, as `MarkdownConverter` forms it of such elements."""
        if root.parent is not None:
            root.place = root.parent.contents.index(root)
        return self._converted(root, frozenset(), is_code=any(parent.name == "pre" for parent in root.parents))

    def _converted(self, element: Element, around: frozenset[str], *, is_code: bool) -> str:
        """Return the text of an element.

        Args:
            element: The element.
            around: The names of the elements around it.
            is_code: Whether it stands in code.
        """
        name = element.name
        convert = self.get_conv_fn_cached(name)  # type: ignore[attr-defined]  # of markdownify
        if name == "pre":
            return str(convert(element, "", around))
        within = _within(around, name)
        parts: list[str] = []
        for place, node in _shown(element):
            if isinstance(node, Element):
                node.place = place
                part = self._converted(node, within, is_code=is_code)
            else:
                part = _spaced(node, place, element, exact="pre" in within)
            if part:
                parts.append(part)
        text = "".join(parts) if is_code else _joined(parts)
        return text if convert is None else str(convert(element, text, around))

    def convert_a(self, _el: Element, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002  # called by this name
        return text

    def convert_sup(self, _el: Element, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002  # called by this name
        return text.translate(_RAISED) if _RAISABLE.fullmatch(text) else text

    def convert_img(self, el: Element, _text: str, parent_tags: set[str]) -> str:  # noqa: ARG002  # called by this name
        return str(el.get("alt") or "")

    def convert_list(self, el: Element, text: str, parent_tags: set[str]) -> str:
        if "li" in parent_tags:
            return "\n" + text.rstrip()
        beside = el.parent.contents if el.parent else []
        after = (beside[place] for place in range(el.place + 1, len(beside)))
        next_one = next((node for node in after if _is_content(node)), None)
        is_before_text = next_one and not (isinstance(next_one, Element) and next_one.name in {"ul", "ol"})
        return "\n\n" + text + ("\n" if is_before_text else "")

    convert_ul = convert_ol = convert_list

    def convert_li(self, el: Element, text: str, parent_tags: set[str]) -> str:
        if el.parent is None or el.parent.name != "ol":
            return str(super().convert_li(el, text, parent_tags))  # type: ignore[misc]
        self._items[id(el.parent)] += 1  # counting the items before each would take long in a long list
        if not text.strip():
            return "\n"
        start = str(el.parent.get("start"))
        bullet = f"{self._items[id(el.parent)] + (int(start[:6]) - 1 if start.isdecimal() else 0)}. "
        lines = (line and " " * len(bullet) + line for line in text.strip().split("\n"))
        return bullet + "\n".join(lines).lstrip() + "\n"

    def convert_tr(self, el: Element, text: str, parent_tags: set[str]) -> str:
        if el.find_previous_sibling() is not None:
            return f"|{text}\n"  # markdownify finds the same, after it has counted the rows of the head
        return str(super().convert_tr(el, text, parent_tags))  # type: ignore[misc]

    def convert_pre(self, el: Element, _text: str, parent_tags: set[str]) -> str:  # noqa: ARG002  # called by this name
        code = _code(el).strip("\n")
        if not code.strip():
            return ""
        fence = "`" * max(3, 1 + max(map(len, _FENCES.findall(code)), default=0))
        return f"\n\n{fence}\n{code}\n{fence}\n\n"


@cache
def _trims(name: str) -> bool:
    """Whether white space at the ends of an element is left out."""
    return name in _TRIMMED or _HEADING.match(name) is not None


def _trims_around(node: Node | None) -> bool:
    """Whether white space beside a node is left out."""
    return isinstance(node, Element) and (node.name == "pre" or _trims(node.name))


def _is_content(node: Node) -> bool:
    if isinstance(node, Element):
        return True
    return bool(node.strip()) and (isinstance(node, Instruction) or not isinstance(node, Remark))


@lru_cache(maxsize=1024)
def _within(around: frozenset[str], name: str) -> frozenset[str]:
    """Return the names around what stands in an element."""
    names = {name}
    if name in {"td", "th"} or _HEADING.match(name):
        names.add(_INLINE)
    if name in {"pre", "code", "kbd", "samp"}:
        names.add(_AS_IT_IS)
    return around | names


def _shown(element: Element) -> Iterator[tuple[int, Node]]:
    """Yield the nodes in an element that are converted, with their places."""
    nodes = element.contents
    last = len(nodes) - 1
    for place, node in enumerate(nodes):
        if not isinstance(node, Element):
            if isinstance(node, Remark) and not isinstance(node, Instruction):
                continue
            if not node.strip():
                before, after = nodes[place - 1] if place else None, nodes[place + 1] if place < last else None
                if _trims(element.name) and (not before or not after):
                    continue
                if _trims_around(before) or _trims_around(after):
                    continue
        yield place, node


def _spaced(text: Text, place: int, element: Element, *, exact: bool) -> str:
    """Return a text with single spaces, without those beside blocks.

    Args:
        text: The text.
        place: Its place in its element.
        element: Its element.
        exact: Whether its white space stays.
    """
    nodes = element.contents
    shown = str(text)
    if not exact:
        shown = _SPACE.sub(_one_space, shown)
    before, after = nodes[place - 1] if place else None, nodes[place + 1] if place + 1 < len(nodes) else None
    if _trims_around(before) or (not before and _trims(element.name)):
        shown = shown.lstrip(" \t\r\n")
    if _trims_around(after) or (not after and _trims(element.name)):
        shown = shown.rstrip()
    return shown


def _one_space(found: re.Match[str]) -> str:
    """Return a line break in place of white space that holds one, else a space."""
    return "\n" if "\n" in found[0] or "\r" in found[0] else " "


def _joined(parts: Sequence[str]) -> str:
    """Return texts one after another, with at most two line ends where one ends and the next begins with some."""
    found: list[str] = []
    ends = 0
    """The line ends after the last text."""
    for part in parts:
        rest = part.lstrip("\n")
        begins = len(part) - len(rest)
        if ends and begins:
            found[-1] = found[-1][:-ends]
            found.append("\n" * min(2, max(ends, begins)) + rest)
        else:
            found.append(part)
        ends = len(rest) - len(rest.rstrip("\n"))
    return "".join(found)


def html_to_text(html: str) -> tuple[str | None, str]:
    """Return the page's title, if it has one, and the text of its main content; see ``main_content.py``."""
    page = page_tree(without_internal_subset(html.replace("\0", "")))
    titled = page.first("title")
    title = titled.text().strip() if titled else ""
    content = main_content(page)
    for table in content.find_all("table"):
        _fill_rowspans(table)
    return title or None, tidy(_without_bars(tidy(_Text().text_of(content))))


def _fill_rowspans(table: Element) -> None:
    """Repeat a cell that spans several rows in each of them, so that the cells beside it stay in their columns."""
    spans: dict[int, tuple[int, str]] = {}  # by column: the number of rows that follow, and the text
    for row in table.find_all("tr"):
        if closest(row, "table") is not table:
            continue
        waiting = spans
        spans = {}
        cells: list[Node] = []
        column = 0
        own = [node for node in row.contents if isinstance(node, Element) and node.name in {"td", "th"}]
        for cell in [*own, None]:
            while column in waiting:
                rows, text = waiting[column]
                copy = Element("td", {}, row)
                copy.replace([Text(text)])
                cells.append(copy)
                if rows > 1:
                    spans[column] = rows - 1, text
                column += 1
            if cell is not None:
                cells.append(cell)
                rows = _span(cell, "rowspan") - 1
                text = cell.text()
                for number in range(_span(cell, "colspan")):
                    if rows > 0 and column < _MOST_COLUMNS:
                        spans[column] = rows, text if number == 0 and len(text) <= _MOST_REPEATED else ""
                    column += 1
        if waiting or spans:
            row.replace(cells)


def _span(cell: Element, name: str) -> int:
    digits = cell.get(name, "1")
    return min(int(digits), 1000) if digits and digits.isascii() and digits.isdigit() and len(digits) < 6 else 1


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


def _code(block: Element) -> str:
    """Return the text of a block of code with the line breaks that its elements make."""
    parts: list[str] = []
    line: Element = block  # the element that makes the lines in which the last text stands
    for node in block.descendants():
        if isinstance(node, Element):
            if node.name == "br" or (node.name in _BLOCKS and parts and not parts[-1].endswith("\n")):
                parts.append("\n")
        elif not isinstance(node, Remark):
            text, before = str(node), line
            if "\n" in text or text.strip():
                line = _line_of(node, block)
            breaks = "\n" in text[: len(text) - len(text.lstrip())] or parts[-1:] == ["\n"]
            if line is not before and parts and not breaks and not parts[-1].rstrip(" \t").endswith("\n"):
                parts.append("\n")
            parts.append(text)
    return "".join(parts)


def _line_of(text: Text, block: Element) -> Element:
    """Return the element that makes the lines in which a text of a block stands."""
    around = text.parent
    while around is not None and around is not block and around.name not in _BLOCKS:
        around = around.parent
    assert around is not None
    return around
