"""A passage as HTML that runs nothing and loads nothing: its Markdown and tables rendered.

Only a few tags without addresses, styles and handlers are ever written, every text is escaped, and the whole goes
through a sanitiser that lets nothing else pass. A page may therefore parse it into a document of its own and show it.
"""

from __future__ import annotations

import functools
import html
import itertools
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from nh3 import Cleaner
    from pyromark.event import Event

LONGEST_RENDERED = 60_000
"""Characters of a passage whose Markdown is rendered; a longer passage is shown as plain text."""

DEEPEST = 24
"""Levels of markup within one another; a passage with more is shown as plain text."""

MOST_EVENTS = 40_000
"""Pieces of markup and text in a passage; one with more is shown as plain text."""

_EVEN = str.maketrans({"\0": "�", "\r": "\n"})
_BLOCKS = {"ul", "ol", "li", "table", "blockquote", "p", "pre", "th", "td"}
_INLINE = {"em", "strong", "s", "span"}
_WITHIN = {"thead": ("<tr>", "</tr>"), "pre": ("<code>", "</code>")}
"""What stands between an element of a tag and its text."""
_ELEMENTS = {
    "Paragraph": ("p", ""),
    "Heading": ("p", ""),
    "BlockQuote": ("blockquote", ""),
    "CodeBlock": ("pre", ""),
    "HtmlBlock": ("pre", "plain"),
    "Item": ("li", ""),
    "Table": ("table", ""),
    "TableHead": ("thead", ""),
    "TableRow": ("tr", ""),
    "TableCell": ("td", ""),
    "Emphasis": ("em", ""),
    "Strong": ("strong", ""),
    "Strikethrough": ("s", ""),
    "Link": ("span", "link"),
    "Image": ("span", "image"),
}
"""The tag and the class of each kind of markup."""
_TAGS: Mapping[str, frozenset[str]] = {
    **{tag: frozenset() for tag in ("blockquote", "code", "em", "hr", "li", "ol", "s", "strong")},
    **{tag: frozenset() for tag in ("table", "tbody", "td", "th", "thead", "tr", "ul")},
    "p": frozenset({"plain", "h1", "h2", "h3", "h4", "h5", "h6"}),
    "pre": frozenset({"plain"}),
    "span": frozenset({"image", "link"}),
}
"""The only tags in a passage, each with its classes."""
_MARKER = re.compile(r"(\d{1,9})[.)]|[-+*]")
_LINE_BREAK = re.compile(r"(?i)<br\s*/?>")
_TABLE_LINE = re.compile(r"\s*\|.*\|\s*")
_CELL_END = re.compile(r"(?<!\\)\|")


def passage_html(text: str, *, anchors: bool = False) -> str:
    """Return a passage as HTML for the inside of an element, which `passage.css` formats as ``.passage``.

    Headings, lists, tables, code, quotations and emphasis become elements, each block with the direction of its own
    text. HTML stays text, except that ``<br>`` is a line break. Links and images become their words. Lines of a table
    without its head are a table, too. A passage that cannot be rendered without hiding a part of it is shown as plain
    text.

    Args:
        text: The passage.
        anchors: Whether text is within ``span`` elements that tell where it stands in the passage, in UTF-16 units
            as a browser counts them: ``data-at``, and ``data-to`` where characters stand for others.
    """
    return _cleaner().clean("".join(_rendered(text, anchors=anchors).html))


def passage_words(text: str) -> str:
    """Return what a passage shows as one line: its words without Markdown, with a space between blocks and cells."""
    return " ".join("".join(_rendered(text).words).split())


def _rendered(text: str, *, anchors: bool = False) -> _Rendering:
    # of the same length, without what a browser or an encoding would change
    even = text.replace("\r\n", " \n").translate(_EVEN)
    even = even if even.isascii() else even.encode("utf-8", "replace").decode()
    if len(even) <= LONGEST_RENDERED:
        rendering = _Rendering(even, anchors=anchors)
        with suppress(RenderingError):
            rendering.add_markdown(even, 0)
            rendering.check_complete()
            return rendering
    rendering = _Rendering(even, anchors=anchors)
    rendering.add_plain()
    return rendering


@functools.cache
def _cleaner() -> Cleaner:
    """Return the sanitiser: the tags above, numbers of items, places, and directions."""
    import nh3

    return nh3.Cleaner(
        tags=set(_TAGS),
        attributes={"li": {"value"}, "span": {"data-at", "data-to"}},
        tag_attribute_values={tag: {"dir": {"auto"}} for tag in _BLOCKS},
        allowed_classes={tag: set(kinds) for tag, kinds in _TAGS.items() if kinds},
        link_rel=None,
        url_schemes=set(),
    )


class RenderingError(Exception):
    """The passage cannot be rendered without hiding a part of it, or within bounds."""


class _Element(NamedTuple):
    """An element that is open: where it begins in the passage, in the HTML and in the words."""

    tag: str
    start: int
    html: int
    words: int


class _Rendering:
    """The HTML of a passage, and the words that it shows, as they grow by one event of the parser after another."""

    def __init__(self, text: str, *, anchors: bool) -> None:
        self.text = text
        self.html: list[str] = []
        self.words: list[str] = []
        self._units = _utf16_units(text) if anchors else None
        self._open: list[_Element] = []
        self._known = bytearray(len(text))  # what is seen, or part of a mark
        self._events = 0

    def add_plain(self) -> None:
        """Add the passage as one block of plain text."""
        self.html.append('<pre class="plain" dir="auto"><code>')
        if self.text:
            self._add_text(self.text, 0, len(self.text))
        self.html.append("</code></pre>")

    def add_markdown(self, source: str, offset: int, *, is_headless: bool = False) -> None:
        """Add what the parser finds in a text whose first character stands at an offset of the passage.

        Raises:
            RenderingError: It is too deeply nested or too long.
        """
        from pyromark import Options, events_with_range

        options = Options.ENABLE_TABLES | Options.ENABLE_STRIKETHROUGH | Options.ENABLE_TASKLISTS
        place_of = _places_of_bytes(source)
        for event, stretch in events_with_range(source, options=options):
            self._events += 1
            if self._events > MOST_EVENTS:
                raise RenderingError
            start, end = (max(0, place_of[stretch[side]] + offset) for side in ("start", "end"))
            self._add(event, start, end, is_headless=is_headless)

    def check_complete(self) -> None:
        """Check that the passage is seen.

        Raises:
            RenderingError: Nothing is, or a letter or digit of the passage is neither seen nor part of a mark.
        """
        hidden = (not self._known[position] and char.isalnum() for position, char in enumerate(self.text))
        if not "".join(self.words).strip() or any(hidden):
            raise RenderingError

    def _add(self, event: Event, start: int, end: int, *, is_headless: bool) -> None:
        if isinstance(event, str):
            if event == "Rule":
                self.html.append("<hr>")
            else:
                self._add_text("\n", start, end)
            return
        (name, value), *_ = event.items()
        if name == "Start":
            self._start(value, start, end)
        elif name == "End":
            self._finish(end, is_headless=is_headless)
        elif name == "Code":
            self.html.append("<code>")
            self._add_text(str(value), *_inside_code(self.text, start, end))
            self.html.append("</code>")
        elif name == "TaskListMarker":
            self._add_text("☑" if value else "☐", start, end)
        elif value:  # text, and HTML, which stays text
            is_break = name in {"Html", "InlineHtml"} and _LINE_BREAK.fullmatch(str(value))
            self._add_text("\n" if is_break else str(value), start, end)

    def _add_text(self, shown: str, start: int, end: int) -> None:
        """Add visible characters, each of which stands for one of the stretch, or else all together for all of it."""
        self._mark(start, end)
        self.words.append(shown)
        escaped = html.escape(shown, quote=False)
        if self._units is not None:
            to = "" if len(shown) == end - start else f' data-to="{self._units[end]}"'
            escaped = f'<span data-at="{self._units[start]}"{to}>{escaped}</span>'
        self.html.append(escaped)

    def _mark(self, start: int, end: int) -> None:
        self._known[start:end] = b"\1" * (end - start)

    def _start(self, value: Any, start: int, end: int) -> None:  # noqa: ANN401  the parser's nested names
        more: Any = None
        name, more = (value, None) if isinstance(value, str) else next(iter(value.items()))
        tag, kind = _ELEMENTS.get(name, ("span", ""))
        number = ""
        if name == "Heading":
            kind = str(more["level"]).lower()
        elif name == "List":
            tag = "ul" if more is None else "ol"
        elif name == "Item" and (marker := _MARKER.match(self.text, start)):
            self._mark(*marker.span())
            number = f' value="{int(marker[1])}"' if marker[1] else ""
        elif name == "TableCell" and self._open[-1].tag == "thead":
            tag = "th"
        elif name == "CodeBlock" and more != "Indented":
            self._mark(start, start + len(self.text[start:].partition("\n")[0]))  # the language's name
        elif name in {"Link", "Image"}:
            self._mark(start, end)  # their address is not shown
        self._open.append(_Element(tag, start, len(self.html), len(self.words)))
        if len(self._open) >= DEEPEST:
            raise RenderingError
        attributes = (f' class="{kind}"' if kind else "") + number + (' dir="auto"' if tag in _BLOCKS else "")
        self.html.append(f"<{tag}{attributes}>{_WITHIN.get(tag, ('', ''))[0]}")
        self.words.append("" if tag in _INLINE else " ")

    def _finish(self, end: int, *, is_headless: bool) -> None:
        element = self._open.pop()
        self.html.append(f"{_WITHIN.get(element.tag, ('', ''))[1]}</{element.tag}>")
        self.words.append("" if element.tag in _INLINE else " ")
        lines = self.text[element.start : end].splitlines()
        if is_headless:
            if element.tag == "thead":
                del self.html[element.html :], self.words[element.words :]
        elif element.tag == "p" and not self._open and all(map(_TABLE_LINE.fullmatch, lines)):
            # the lines of a table that has lost its head are read below an empty head
            del self.html[element.html :], self.words[element.words :]
            columns = max(len(_CELL_END.findall(line)) - 1 for line in lines)
            head = "| " * columns + "|\n" + "|-" * columns + "|\n"
            self.add_markdown(head + self.text[element.start : end], element.start - len(head), is_headless=True)


def _utf16_units(text: str) -> Sequence[int]:
    """Return the UTF-16 units before each character, and those of the whole text."""
    return [0, *itertools.accumulate(2 if char > "\uffff" else 1 for char in text)]


def _places_of_bytes(text: str) -> Sequence[int]:
    """Return the place of the character that each byte in UTF-8 belongs to, and the length of the text."""
    widths = (len(char.encode()) for char in text)
    return [*(position for position, width in enumerate(widths) for _ in range(width)), len(text)]


def _inside_code(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the stretch of an inline code without its marks, and without the blanks that are not part of the code."""
    source = text[start:end]
    fence = len(source) - len(source.lstrip("`"))
    inner = source[fence : len(source) - fence]
    start += fence
    if inner[:1] in {" ", "\n"} and inner[-1:] in {" ", "\n"} and inner.strip(" \n"):
        return start + 1, start + len(inner) - 1
    return start, start + len(inner)
