"""The main content of an HTML page: what a reader came for, without the furniture of the site around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from bs4 import Tag
from bs4.element import PreformattedString

from goldbench.formats.documents.page_furniture import (
    MARKED,
    Sizes,
    code_buttons,
    is_dropped,
    is_furniture,
    names_of,
    turning_bars,
)

_DEEPEST = 250
"""Most elements around an element; what converts one to text makes three nested calls, and Python allows 1,000."""
_WITHIN_LINES = re.compile("a|abbr|b|big|cite|code|em|font|i|kbd|mark|q|s|small|span|strong|sub|sup|tt|u|var")
_UNREAD = frozenset({"script", "style", "template", "noscript", "svg", "math"})
_NOTES = re.compile(
    r"(?:^|[\s_-])(?:footnotes?|admonition|topic|note|warning|tip|hint|callout|caution|important)(?:[\s_-]|$)",
    re.IGNORECASE,
)
_LEAST = 100
"""Fewest characters of a page; if less than this would be left, the names of classes are not believed."""
_MAIN, _ARTICLE, _INNER = 1 / 3, 2 / 3, 0.9
"""The share of the page's text outside links that ``main`` and ``article`` must hold to be taken for the main content,
and the share of the text of ``main`` that an ``article`` in it must hold."""


def main_content(page: Tag) -> Tag:
    """Return the element that holds the page's main content, after all furniture was taken out of the page."""
    body = page.find("body") or page
    _flatten(body)
    tags, titles = body.find_all(True), _titles(body)
    holders = {id(holder) for part in _outermost(tags, _is_main)[:9] for holder in (part, *part.parents)}
    take_out(turning_bars(tag for tag in tags if tag.name == "a"))
    dropped = [tag for tag in tags if id(tag) not in holders and is_dropped(tag)]
    buttons = [link for link in code_buttons(tags, dropped) if id(link) not in holders]
    take_out(dropped + buttons)
    sizes = Sizes(body)
    root = _root(body, sizes)
    take_out(_asides(root, sizes, inside=root is not body))
    _mark_code(root)
    inside = root.find_all(True)
    first = next((position for position, tag in enumerate(inside) if tag.name in MARKED), len(inside))
    leading = set() if _stands_below_heading(root) else {id(tag) for tag in inside[:first]}
    soft = _outermost(inside, lambda tag: is_furniture(tag, sizes, leads=id(tag) in leading))
    if sizes.text[id(root)] - sum(sizes.text[id(tag)] for tag in soft) >= _LEAST:
        take_out(soft)
    if len(titles) == 1 and root.find("h1") is None and all(titles[0] is not tag for tag in (root, *root.parents)):
        root.insert(0, titles[0].extract())
    return root


def take_out(elements: Iterable[Tag]) -> None:
    """Take elements out of the page."""
    for element in elements:
        element.extract()


def _flatten(body: Tag) -> None:
    """Replace what is nested more than 250 levels deep with its text, in which every block is a line."""
    level = [body]
    for _ in range(_DEEPEST):
        level = [node for element in level for node in element.contents if isinstance(node, Tag)]
    for element in level:
        element.string = "".join(_words(element))


def _words(within: Tag) -> Iterator[str]:
    """Yield the texts in an element, in order; without recursion, because elements may be nested 100,000 deep."""
    waiting: list[object] = [within]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Tag):
            ends = [] if _WITHIN_LINES.fullmatch(item.name) else ["\n"]
            if item.name not in _UNREAD and "hidden" not in item.attrs:
                waiting += [*ends, *reversed(item.contents), *ends]
        elif not isinstance(item, PreformattedString):
            yield str(item)


def _outermost(tags: Iterable[Tag], wanted: Callable[[Tag], bool]) -> list[Tag]:
    """Return the wanted elements that do not stand in another wanted one; ``tags`` are in the order of the page."""
    found: list[Tag] = []
    inside: set[int] = set()
    for tag in tags:
        if id(tag.parent) in inside:
            inside.add(id(tag))
        elif wanted(tag):
            found.append(tag)
            inside.add(id(tag))
    return found


def _is_main(tag: Tag) -> bool:
    return tag.name == "main" or tag.get("role") == "main"


def _titles(body: Tag) -> list[Tag]:
    """Return the headings of level 1 that do not stand in navigation."""
    found = (tag for tag in body.find_all("h1", limit=9) if tag.get_text().strip())
    return [tag for tag in found if not any(map(_is_beside, tag.parents))]


def _is_beside(tag: Tag) -> bool:
    return tag.name in {"nav", "aside", "footer"} or tag.get("role") in {"navigation", "complementary", "contentinfo"}


def _stands_below_heading(root: Tag) -> bool:
    """Whether a heading stands before an element or around it."""
    for element in (root, *root.parents):
        siblings = (tag for tag in element.previous_siblings if isinstance(tag, Tag))
        if any(tag.name in MARKED or tag.find(MARKED) for tag in siblings) or element.parent is None:
            return element.parent is not None
        if element.parent.name in MARKED:
            return True
    return False


def _root(body: Tag, sizes: Sizes) -> Tag:
    """Return the element of the main content; the whole body where none holds enough of the text outside links."""
    root = _largest(_outermost(body.find_all(True), _is_main), body, sizes, share=_MAIN)
    articles = _outermost(root.find_all(True), lambda tag: tag.name == "article")
    return _largest(articles, root, sizes, share=_ARTICLE if root is body else _INNER)


def _largest(tags: list[Tag], whole: Tag, sizes: Sizes, *, share: float) -> Tag:
    best = max(tags, key=sizes.plain, default=whole)
    return best if sizes.plain(best) >= max(1, share * sizes.plain(whole)) else whole


def _asides(root: Tag, sizes: Sizes, *, inside: bool) -> list[Tag]:
    """Return the asides that are not notes: within the main content lists of links, elsewhere all others."""
    asides = []
    for tag in root.find_all("aside"):
        names = f"{names_of(tag)} {tag.get('role', '')}"
        if not _NOTES.search(names) and (not inside or sizes.is_linked(tag)):
            asides.append(tag)
    return asides


def _mark_code(root: Tag) -> None:
    """Make ``pre`` of other forms of code: lines of ``div``, and tables that hold line numbers beside it."""
    for block in root.find_all("div"):
        if _is_called(block, "fragment") and any(_is_called(line, "line") for line in block.find_all("div")):
            block.name = "pre"
    tables = set(map(id, root.find_all("table")))
    around = (block.find_parent("table") for block in root.find_all("pre"))
    for frame in {id(frame): frame for frame in around if id(frame) in tables}.values():
        assert frame is not None
        if all(text.isspace() or text.find_parent("pre") for text in frame.find_all(string=True)):
            frame.replace_with(*(block.extract() for block in frame.find_all("pre")))


def _is_called(element: Tag, name: str) -> bool:
    return name in str(element.get("class", "")).split()
