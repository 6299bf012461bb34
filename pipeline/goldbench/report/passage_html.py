"""A passage as HTML that runs nothing and loads nothing: its Markdown and tables rendered.

Only a few tags without addresses, styles and handlers are ever written, every text is escaped, and the whole goes
through a sanitiser that lets nothing else pass. A page may therefore parse it into a document of its own and show it.
"""

from __future__ import annotations

import functools
import html
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nh3 import Cleaner
    from pyromark.event import Event

LONGEST_RENDERED = 60_000
"""Characters of a passage whose Markdown is rendered; a longer passage is shown as plain text."""

_CONTAINERS = {"ul", "ol", "li", "table", "blockquote"}
_INLINE = {"em", "strong", "s", "span", "code"}
_LEAVES = {"p", "pre", "th", "td"}
_EVEN = str.maketrans({"\0": "�", "\r": "\n"})


def passage_html(text: str, *, anchors: bool = False) -> str:
    """Return a passage as HTML for the inside of an element, which `passage.css` formats as ``.passage``.

    Each block has the direction of its own text. A passage that cannot be rendered without hiding a part of it is shown
    as plain text.

    Args:
        text: The passage.
        anchors: Whether text is within ``span`` elements that tell where it stands in the passage, in UTF-16 units
            as a browser counts them: ``data-at``, and ``data-to`` where characters stand for others.
    """
    even = _evened(text)
    units = _utf16_units(even) if anchors else None
    return _cleaner().clean("".join(_written(_tree(even), units)))


def passage_words(text: str) -> str:
    """Return what a passage shows as one line: its words without Markdown, with a space between blocks and cells."""
    return " ".join("".join(_said(_tree(_evened(text)))).split())


def _said(node: Node) -> Iterator[str]:
    for child in node.children:
        if isinstance(child, Piece):
            yield child.text
            continue
        space = "" if child.tag in _INLINE else " "
        yield space
        yield from _said(child)
        yield space


def _tree(text: str) -> Node:
    if len(text) > LONGEST_RENDERED:
        return plain_tree(text)
    try:
        found = markdown_tree(text)
    except Unrendered:
        return plain_tree(text)
    is_seen = any(piece.text.strip() for piece in found.pieces())
    return found if is_seen else plain_tree(text)  # a passage of markup alone, as a line of ~~~ or ***


def plain_tree(text: str) -> Node:
    """Return a passage as one block of plain text."""
    return Node("div", children=[Node("pre", "plain", children=[Piece(text, 0, len(text))] if text else [])])


def _evened(text: str) -> str:
    """Return a text of the same length without what a browser or an encoding would change."""
    even = text.replace("\r\n", " \n").translate(_EVEN)
    return even if even.isascii() else even.encode("utf-8", "replace").decode()


def _utf16_units(text: str) -> Sequence[int]:
    """Return the UTF-16 units before each character, and those of the whole text."""
    if not any(char > "\uffff" for char in text):
        return range(len(text) + 1)
    return [0, *itertools.accumulate(2 if char > "\uffff" else 1 for char in text)]


def _written(root: Node, units: Sequence[int] | None) -> Iterator[str]:
    """Yield the HTML of the inside of a node; ``units`` are the places that anchors tell, None for no anchors."""
    for child in root.children:
        if isinstance(child, Piece):
            yield _anchored(child, units)
        elif child.tag == "hr":
            yield "<hr>"
        else:
            start, end = {"thead": ("<tr>", "</tr>"), "pre": ("<code>", "</code>")}.get(child.tag, ("", ""))
            yield f"<{child.tag}{_attributes(child)}>{start}"
            yield from _written(child, units)
            yield f"{end}</{child.tag}>"


def _anchored(piece: Piece, units: Sequence[int] | None) -> str:
    escaped = html.escape(piece.text, quote=False)
    if units is None:
        return escaped
    end = "" if piece.is_verbatim else f' data-to="{units[piece.end]}"'
    return f'<span data-at="{units[piece.start]}"{end}>{escaped}</span>'


def _attributes(node: Node) -> str:
    attributes = f' class="{node.kind}"' if node.kind else ""
    if node.number is not None:
        attributes += f' value="{node.number}"'
    if node.tag in _LEAVES | _CONTAINERS:
        attributes += ' dir="auto"'
    return attributes


_TAGS: Mapping[str, frozenset[str]] = {
    **{tag: frozenset() for tag in ("blockquote", "code", "em", "hr", "li", "ol", "s", "strong")},
    **{tag: frozenset() for tag in ("table", "tbody", "td", "th", "thead", "tr", "ul")},
    "p": frozenset({"plain", "h1", "h2", "h3", "h4", "h5", "h6"}),
    "pre": frozenset({"plain"}),
    "span": frozenset({"image", "link"}),
}
"""The only tags in a passage, each with its classes."""


@functools.cache
def _cleaner() -> Cleaner:
    """Return the sanitiser: the tags above, numbers of items, places, and directions."""
    import nh3

    return nh3.Cleaner(
        tags=set(_TAGS),
        attributes={"li": {"value"}, "span": {"data-at", "data-to"}},
        tag_attribute_values={tag: {"dir": {"auto"}} for tag in _CONTAINERS | _LEAVES},
        allowed_classes={tag: set(kinds) for tag, kinds in _TAGS.items() if kinds},
        link_rel=None,
        url_schemes=set(),
    )


DEEPEST = 24
"""Levels of markup within one another; a passage with more is shown as plain text."""

MOST_EVENTS = 40_000
"""Pieces of markup and text in a passage; one with more is shown as plain text."""

_TAG_OF = {
    "Paragraph": "p",
    "BlockQuote": "blockquote",
    "CodeBlock": "pre",
    "HtmlBlock": "pre",
    "Item": "li",
    "Table": "table",
    "TableHead": "thead",
    "TableRow": "tr",
    "TableCell": "td",
    "Emphasis": "em",
    "Strong": "strong",
    "Strikethrough": "s",
    "Link": "span",
    "Image": "span",
}
_KINDS = {"HtmlBlock": "plain", "Link": "link", "Image": "image"}
_HIDING = {"Link", "Image"}  # their address is not shown
_MARKER = re.compile(r"(\d{1,9})[.)]|[-+*]")
_LINE_BREAK = re.compile(r"(?i)<br\s*/?>")
_TABLE_LINE = re.compile(r"\s*\|.*\|\s*")
_CELL_END = re.compile(r"(?<!\\)\|")


class Unrendered(Exception):
    """The passage cannot be rendered without hiding a part of it, or within bounds."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Visible characters, and the first and last place in the passage that they stand for.

    If both have the same length, each character stands for one; else all of them together for the whole stretch.
    """

    text: str
    start: int
    end: int

    @property
    def is_verbatim(self) -> bool:
        """Whether each character stands for one of the passage."""
        return len(self.text) == self.end - self.start


@dataclass(slots=True)
class Node:
    """An element: its tag, its kind among those with this tag, its place, the number of a list's item."""

    tag: str
    kind: str = ""
    start: int = 0
    end: int = 0
    number: int | None = None
    children: list[Node | Piece] = field(default_factory=list)

    def pieces(self) -> Iterator[Piece]:
        """Yield the visible characters, in order."""
        for child in self.children:
            if isinstance(child, Piece):
                yield child
            else:
                yield from child.pieces()


def markdown_tree(text: str) -> Node:
    """Return a passage in Markdown as a tree.

    Headings, lists, tables, code, quotations and emphasis become elements. HTML stays text, except that ``<br>`` is a
    line break. Links and images become their words. Lines of a table without its head are a table, too.

    Args:
        text: The passage, without carriage returns, null characters and lone surrogates.

    Raises:
        Unrendered: It is too deeply nested or too long, or a part of it would not be seen.
    """
    growth = _Growth(text)
    growth.take_all(text, 0)
    root = growth.root
    root.children = list(_with_definitions(text, root))
    growth.check_complete(root)
    return root


class _Growth:
    """The tree as it grows by one event of the parser after another."""

    def __init__(self, text: str) -> None:
        self.text, self.root = text, Node("div", end=len(text))
        self._open = [self.root]
        self._hidden: list[tuple[int, int]] = []
        self._events = 0

    def take_all(self, source: str, offset: int) -> None:
        """Add what the parser finds in a text whose first character stands at an offset of the passage."""
        from pyromark import Options, events_with_range

        known = Options.ENABLE_TABLES | Options.ENABLE_STRIKETHROUGH | Options.ENABLE_TASKLISTS
        places = _Places(source, offset)
        for event, stretch in events_with_range(source, options=known):
            self._events += 1
            if self._events > MOST_EVENTS:
                raise Unrendered
            self._take(event, max(0, places.of(stretch["start"])), max(0, places.of(stretch["end"])))

    def check_complete(self, root: Node) -> None:
        """Raise ``Unrendered`` if a letter or digit of the passage is neither seen nor part of a mark."""
        seen = bytearray(len(self.text))
        stretches = [*self._hidden, *((piece.start, piece.end) for piece in root.pieces())]
        for start, end in stretches:
            seen[start:end] = b"\1" * (end - start)
        if any(not seen[position] and char.isalnum() for position, char in enumerate(self.text)):
            raise Unrendered

    def _take(self, event: Event, start: int, end: int) -> None:
        if isinstance(event, str):
            if event == "Rule":
                self._add(Node("hr", start=start, end=end))
            else:
                self._add(Piece("\n", start, end))
            return
        (name, value), *_ = event.items()
        if name == "Start":
            self._start(value, start, end)
        elif name == "End":
            self._finish()
        elif name == "Code":
            self._add(Node("code", start=start, end=end, children=[_code(self.text, str(value), start, end)]))
        elif name == "TaskListMarker":
            self._add(Piece("☑" if value else "☐", start, end))
        elif value:  # text, and HTML, which stays text
            is_break = name in {"Html", "InlineHtml"} and _LINE_BREAK.fullmatch(str(value))
            self._add(Piece("\n" if is_break else str(value), start, end))

    def _add(self, child: Node | Piece) -> None:
        self._open[-1].children.append(child)

    def _start(self, value: Any, start: int, end: int) -> None:  # noqa: ANN401  the parser's nested names
        more: Any = None
        name, more = (value, None) if isinstance(value, str) else next(iter(value.items()))
        node = Node(_TAG_OF.get(name, "span"), _KINDS.get(name, ""), start, end)
        if name == "Heading":
            node.tag, node.kind = "p", str(more["level"]).lower()
        elif name == "List":
            node.tag = "ul" if more is None else "ol"
        elif name == "Item":
            self._number(node)
        elif name == "TableCell" and self._open[-1].tag == "thead":
            node.tag = "th"
        elif name == "CodeBlock" and more != "Indented":
            self._hidden.append((start, start + len(self.text[start:].partition("\n")[0])))  # the language's name
        if name in _HIDING:
            self._hidden.append((start, end))
        self._add(node)
        self._open.append(node)
        if len(self._open) > DEEPEST:
            raise Unrendered

    def _number(self, node: Node) -> None:
        found = _MARKER.match(self.text, node.start)
        if found:
            node.number = int(found[1]) if found[1] else None
            self._hidden.append(found.span())

    def _finish(self) -> None:
        done = self._open.pop()
        if done.tag == "p" and self._open == [self.root] and _is_headless_table(self.text[done.start : done.end]):
            self.root.children.pop()
            self._headless(done)

    def _headless(self, paragraph: Node) -> None:
        """Add the lines of a table that has lost its head, read below an empty head."""
        lines = self.text[paragraph.start : paragraph.end]
        columns = max(len(_CELL_END.findall(line)) - 1 for line in lines.splitlines())
        head = "| " * columns + "|\n" + "|-" * columns + "|\n"
        self.take_all(head + lines, paragraph.start - len(head))
        table = self.root.children[-1]
        assert isinstance(table, Node)
        table.start, table.children = paragraph.start, table.children[1:]


class _Places:
    """Places of characters by the places of their bytes in UTF-8."""

    def __init__(self, text: str, offset: int) -> None:
        self._offset = offset
        self._of: list[int] | None = None
        if not text.isascii():
            widths = (len(char.encode()) for char in text)
            self._of = [position for position, width in enumerate(widths) for _ in range(width)]
            self._of.append(len(text))

    def of(self, byte: int) -> int:
        """Return the place of the character that a byte belongs to."""
        return (byte if self._of is None else self._of[byte]) + self._offset


def _is_headless_table(lines: str) -> bool:
    return all(_TABLE_LINE.fullmatch(line) for line in lines.splitlines())


def _code(text: str, said: str, start: int, end: int) -> Piece:
    """Return the visible characters of an inline code; marks of a quotation within it make it stand for all of them."""
    source = text[start:end]
    fence = len(source) - len(source.lstrip("`"))
    inner = source[fence : len(source) - fence]
    start += fence
    if inner[:1] in {" ", "\n"} and inner[-1:] in {" ", "\n"} and inner.strip(" \n"):  # not part of the code
        inner, start = inner[1:-1], start + 1
    return Piece(said, start, start + len(inner))


def _with_definitions(text: str, root: Node) -> Iterator[Node | Piece]:
    """Yield the blocks of a passage and, as plain text, what stands between them: definitions of links."""
    done = 0
    for child in [*root.children, Node("", start=len(text), end=len(text))]:
        gap = text[done : child.start]
        if gap.strip() and any(char.isalnum() for char in gap):
            place = done + len(gap) - len(gap.lstrip())
            yield Node(
                "p",
                "plain",
                place,
                place + len(gap.strip()),
                children=[Piece(gap.strip(), place, place + len(gap.strip()))],
            )
        if not isinstance(child, Node) or child.tag:
            yield child
        done = max(done, child.end)
