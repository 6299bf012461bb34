"""Elements of a page that are nested too deeply for what walks through them: their text stays, their markup goes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bs4 import Tag
from bs4.element import NavigableString, PreformattedString

_MOST = 250
"""Most elements around an element; what converts one to text makes three nested calls, and Python allows 1,000."""
_WITHIN_LINES = re.compile("a|abbr|b|big|cite|code|em|font|i|kbd|mark|q|s|small|span|strong|sub|sup|tt|u|var")
_UNREAD = frozenset({"script", "style", "template", "noscript", "svg", "math"})


def flatten(body: Tag) -> None:
    """Replace what is nested more than 250 levels deep with its text, in which every block is a line."""
    depths = {id(body): 0}
    deepest: list[Tag] = []
    for node in body.descendants:
        if not isinstance(node, Tag) or node.parent is None or id(node.parent) not in depths:
            continue
        if depths[id(node.parent)] < _MOST:
            depths[id(node)] = depths[id(node.parent)] + 1
        elif not deepest or deepest[-1] is not node.parent:
            deepest.append(node.parent)
    for tag in deepest:
        text = NavigableString("".join(_words(tag)))
        tag.clear()
        tag.append(text)


def _words(within: Tag) -> Iterator[str]:
    """Yield the texts in an element, in order; without recursion, because elements may be nested 100,000 deep."""
    waiting: list[Tag | str] = [within]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Tag):
            ends = [] if _WITHIN_LINES.fullmatch(item.name) else ["\n"]
            if item.name not in _UNREAD and "hidden" not in item.attrs:
                waiting += [*ends, *reversed(item.contents), *ends]  # type: ignore[list-item]  # elements and texts
        elif not isinstance(item, PreformattedString):
            yield str(item)
