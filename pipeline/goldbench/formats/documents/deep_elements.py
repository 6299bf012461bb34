"""Elements of a page that are nested too deeply for what walks through them: their text stays, their markup goes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from goldbench.formats.documents.page_tree import Element, Remark, Text

_MOST = 250
"""Most elements around an element; what converts one to text makes three nested calls, and Python allows 1,000."""
_WITHIN_LINES = re.compile("a|abbr|b|big|cite|code|em|font|i|kbd|mark|q|s|small|span|strong|sub|sup|tt|u|var")
_UNREAD = frozenset({"script", "style", "template", "noscript", "svg", "math"})


def flatten(body: Element) -> None:
    """Replace what is nested more than 250 levels deep with its text, in which every block is a line."""
    level, deepest = [body], list[Element]()
    for depth in range(_MOST + 1):
        if depth == _MOST:
            deepest = [element for element in level if any(isinstance(node, Element) for node in element.contents)]
        level = [node for element in level for node in element.contents if isinstance(node, Element)]
        if not level:
            return
    for element in deepest:
        element.replace([Text("".join(_words(element)))])


def _words(within: Element) -> Iterator[str]:
    """Yield the texts in an element, in order; without recursion, because elements may be nested 100,000 deep."""
    waiting: list[Element | str] = [within]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Element):
            ends = [] if _WITHIN_LINES.fullmatch(item.name) else ["\n"]
            if item.name not in _UNREAD and "hidden" not in item.attrs:
                waiting += [*ends, *reversed(item.contents), *ends]
        elif not isinstance(item, Remark):
            yield str(item)
