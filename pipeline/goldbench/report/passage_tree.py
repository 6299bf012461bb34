"""The Markdown of a passage as a tree whose every visible character knows its place in the passage."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyromark.event import Event

DEEPEST = 24
"""Levels of markup within one another; a passage with more is shown as plain text."""

MOST_EVENTS = 40_000
"""Pieces of markup and text in a passage; one with more is shown as plain text."""

_TAGS = {
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
    made = _Growth(text)
    made.take_all(text, 0)
    root = made.root
    root.children = list(_with_definitions(text, root))
    made.check_complete(root)
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
        if any(not seen[place] and char.isalnum() for place, char in enumerate(self.text)):
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
            self._add(Node("code", start=start, end=end, children=list(_code(self.text, str(value), start, end))))
        elif name == "TaskListMarker":
            self._add(Piece("☑" if value else "☐", start, end))
        else:  # text, and HTML, which stays text
            self._say(str(value), start, end, html=name in {"Html", "InlineHtml"})

    def _say(self, said: str, start: int, end: int, *, html: bool) -> None:
        if html and _LINE_BREAK.fullmatch(said):
            self._add(Piece("\n", start, end))
        elif said:
            self._add(Piece(said, start, end))

    def _add(self, child: Node | Piece) -> None:
        self._open[-1].children.append(child)

    def _start(self, value: Any, start: int, end: int) -> None:  # noqa: ANN401  the parser's nested names
        more: Any = None
        name, more = (value, None) if isinstance(value, str) else next(iter(value.items()))
        node = Node(_TAGS.get(name, "span"), _KINDS.get(name, ""), start, end)
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
            self._of = [place for place, width in enumerate(widths) for _ in range(width)]
            self._of.append(len(text))

    def of(self, byte: int) -> int:
        """Return the place of the character that a byte belongs to."""
        return (byte if self._of is None else self._of[byte]) + self._offset


def _is_headless_table(lines: str) -> bool:
    return all(_TABLE_LINE.fullmatch(line) for line in lines.splitlines())


def _code(text: str, said: str, start: int, end: int) -> Iterator[Piece]:
    """Yield the pieces of an inline code, whose lines may begin with marks of a quotation and are joined by spaces."""
    source = text[start:end]
    fence = len(source) - len(source.lstrip("`"))
    inner = source[fence : len(source) - fence]
    start += fence
    if inner[:1] in {" ", "\n"} and inner[-1:] in {" ", "\n"} and inner.strip(" \n"):  # not part of the code
        inner, start = inner[1:-1], start + 1
    if len(inner) == len(said):
        yield Piece(said, start, start + len(said))
        return
    done = first = 0  # the place after the last character, and that of the first of a run of neighbours
    run = ""
    for char in said:
        place = next((i for i in range(done, len(inner)) if inner[i] == char or (char == " " and inner[i] == "\n")), -1)
        if place < 0:
            raise Unrendered
        if run and place > done:
            yield Piece(run, start + first, start + done)
            run = ""
        first = first if run else place
        run, done = run + char, place + 1
    yield Piece(run, start + first, start + done)


def _with_definitions(text: str, root: Node) -> Iterator[Node | Piece]:
    """Yield the blocks of a passage and, as plain text, what stands between them: definitions of links."""
    done = 0
    for child in [*root.children, Node("", start=len(text), end=len(text))]:
        gap = text[done : child.start]
        if gap.strip() and any(char.isalnum() for char in gap):
            place = done + len(gap) - len(gap.lstrip())
            yield Node("p", "plain", place, place + len(gap.strip()), children=[_verbatim(text, place, gap.strip())])
        if not isinstance(child, Node) or child.tag:
            yield child
        done = max(done, child.end)


def _verbatim(text: str, start: int, said: str) -> Piece:
    return Piece(text[start : start + len(said)], start, start + len(said))
