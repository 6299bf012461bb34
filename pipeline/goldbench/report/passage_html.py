"""A passage as HTML that runs nothing and loads nothing: its Markdown and tables rendered, stretches of it marked.

Only a few tags without addresses, styles and handlers are ever written, every text is escaped, and the whole goes
through a sanitiser that lets nothing else pass. A page may therefore parse it into a document of its own and show it.
"""

from __future__ import annotations

import functools
import html
import itertools
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from goldbench.report.passage_tree import Node, Piece, Unrendered, markdown_tree

if TYPE_CHECKING:
    from nh3 import Cleaner

LONGEST_RENDERED = 60_000
"""Characters of a passage whose Markdown is rendered; a longer passage is shown as plain text."""

EVIDENCE, WORD = "evidence", "word"
"""Kinds of marks. A character that is both is marked as evidence."""

Spans = Iterable[tuple[int, int]]
"""Stretches of a passage: the first character, and the one after the last, from 0."""

_KINDS = ("", WORD, EVIDENCE)
_CONTAINERS = {"ul", "ol", "li", "table", "blockquote"}
_INLINE = {"em", "strong", "s", "span", "code"}
_LEAVES = {"p", "pre", "th", "td"}
_EVEN = str.maketrans({"\0": "�", "\r": "\n"})


def passage_html(text: str, *, evidence: Spans = (), words: Spans = (), anchors: bool = False) -> str:
    """Return a passage as HTML for the inside of an element, which `passage.css` formats as ``.passage``.

    The visible characters of every stretch are within ``mark`` elements, and nothing else is. Each block has the
    direction of its own text. A passage that cannot be rendered without hiding a part of it is shown as plain text.

    Args:
        text: The passage.
        evidence: The stretches of the evidence.
        words: The stretches of words that are marked.
        anchors: Whether text is within ``span`` elements that tell where it stands in the passage, in UTF-16 units
            as a browser counts them: ``data-at``, and ``data-to`` where characters stand for others.
    """
    even = _evened(text)
    root = _tree(even)
    writer = _Writer(_painted(len(even), evidence, words), _Units(even) if anchors else None)
    return _cleaner().clean("".join(writer.written(root)))


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


def _painted(length: int, evidence: Spans, words: Spans) -> bytearray:
    """Return the kind of mark of each character, as a number."""
    kinds = bytearray(length)
    for kind, spans in ((1, words), (2, evidence)):
        for start, end in spans:
            start, end = max(0, start), min(end, length)  # noqa: PLW2901
            if start < end:
                kinds[start:end] = bytes((kind,)) * (end - start)
    return kinds


class _Units:
    """Places in UTF-16 units by places of characters."""

    def __init__(self, text: str) -> None:
        self._of: list[int] | None = None
        if any(char > "\uffff" for char in text):
            self._of = [0, *itertools.accumulate(2 if char > "\uffff" else 1 for char in text)]

    def of(self, place: int) -> int:
        """Return the units before a character."""
        return place if self._of is None else self._of[place]


class _Writer:
    """Writes a tree as HTML.

    Args:
        kinds: The kind of mark of each character.
        units: The places that anchors tell; None for no anchors.
    """

    def __init__(self, kinds: bytearray, units: _Units | None) -> None:
        self._kinds, self._units = kinds, units

    def written(self, root: Node) -> Iterator[str]:
        """Yield the HTML of the inside of a node."""
        for child in root.children:
            yield from self._piece(child) if isinstance(child, Piece) else self._node(child)

    def _node(self, node: Node) -> Iterator[str]:
        if node.tag == "hr":
            yield "<hr>"
            return
        inner = ("<tr>", "</tr>") if node.tag == "thead" else ("<code>", "</code>") if node.tag == "pre" else ("", "")
        yield f"<{node.tag}{_attributes(node)}>{inner[0]}"
        yield from self.written(node)
        yield f"{inner[1]}</{node.tag}>"

    def _piece(self, piece: Piece) -> Iterator[str]:
        anchor = ""
        if self._units is not None:
            whole = "" if piece.is_verbatim else f' data-to="{self._units.of(piece.end)}"'
            anchor = f'<span data-at="{self._units.of(piece.start)}"{whole}>'
        yield anchor
        for kind, said in self._runs(piece):
            shown = html.escape(said, quote=False)
            yield f'<mark class="{_KINDS[kind]}">{shown}</mark>' if kind else shown
        yield "</span>" if anchor else ""

    def _runs(self, piece: Piece) -> Iterator[tuple[int, str]]:
        """Yield the characters of a piece in runs of one kind of mark."""
        kinds = self._kinds[piece.start : piece.end]
        if not piece.is_verbatim or not any(kinds):
            yield max(kinds, default=0), piece.text
            return
        place = 0
        for kind, run in itertools.groupby(kinds):
            length = sum(1 for _ in run)
            yield kind, piece.text[place : place + length]
            place += length


def _attributes(node: Node) -> str:
    found = f' class="{node.kind}"' if node.kind else ""
    if node.number is not None:
        found += f' value="{node.number}"'
    if node.tag in _LEAVES:
        found += ' dir="auto"'
    elif node.tag in _CONTAINERS:
        found += f' dir="{direction("".join(itertools.islice((piece.text for piece in node.pieces()), 200)))}"'
    return found


def direction(text: str) -> str:
    """Return ``rtl`` if the first letter with a direction runs from right to left, else ``ltr``."""
    for char in text:
        kind = unicodedata.bidirectional(char)
        if kind in {"L", "R", "AL"}:
            return "ltr" if kind == "L" else "rtl"
    return "ltr"


_TAGS: Mapping[str, frozenset[str]] = {
    **{tag: frozenset() for tag in ("blockquote", "code", "em", "hr", "li", "ol", "s", "strong")},
    **{tag: frozenset() for tag in ("table", "tbody", "td", "th", "thead", "tr", "ul")},
    "mark": frozenset({EVIDENCE, WORD}),
    "p": frozenset({"plain", "h1", "h2", "h3", "h4", "h5", "h6"}),
    "pre": frozenset({"plain"}),
    "span": frozenset({"image", "link"}),
}
"""The only tags in a passage, each with its classes."""


@functools.cache
def _cleaner() -> Cleaner:
    """Return the sanitiser: the tags above, numbers of items, places, and directions."""
    import nh3

    directed = dict.fromkeys(("auto", "ltr", "rtl"))
    return nh3.Cleaner(
        tags=set(_TAGS),
        attributes={"li": {"value"}, "span": {"data-at", "data-to"}},
        tag_attribute_values={tag: {"dir": set(directed)} for tag in _CONTAINERS | _LEAVES},
        allowed_classes={tag: set(kinds) for tag, kinds in _TAGS.items() if kinds},
        link_rel=None,
        url_schemes=set(),
    )
