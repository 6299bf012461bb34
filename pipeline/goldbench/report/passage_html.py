"""A passage as HTML that runs nothing and loads nothing: its Markdown and tables rendered.

Only a few tags without addresses, styles and handlers are ever written, every text is escaped, and the whole goes
through a sanitiser that lets nothing else pass. A page may therefore parse it into a document of its own and show it.
"""

from __future__ import annotations

import functools
import html
import itertools
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from goldbench.report.passage_tree import Node, Piece, Unrendered, markdown_tree

if TYPE_CHECKING:
    from nh3 import Cleaner

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
    if node.tag in _LEAVES:
        attributes += ' dir="auto"'
    elif node.tag in _CONTAINERS:
        attributes += f' dir="{direction("".join(itertools.islice((piece.text for piece in node.pieces()), 200)))}"'
    return attributes


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
