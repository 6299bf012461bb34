"""The main content of an HTML page: what a reader came for, without the furniture of the site around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from goldbench.formats.documents.deep_elements import flatten
from goldbench.formats.documents.page_furniture import (
    MARKED,
    code_buttons,
    is_dropped,
    is_furniture,
    is_linked,
    names_of,
    plain,
    turning_bars,
)
from goldbench.formats.documents.page_tree import Element, Remark, closest, is_within, take_out, unwrap

_SEPARATORS = re.compile(r"[\s|·•\[\]]+")
"""What stands between links, and is not counted as text."""
_NOTES = re.compile(
    r"(?:^|[\s_-])(?:footnotes?|admonition|topic|note|warning|tip|hint|callout|caution|important)(?:[\s_-]|$)",
    re.IGNORECASE,
)
_LEAST = 100
"""Fewest characters of a page; if less than this would be left, the names of classes are not believed."""
_MAIN, _ARTICLE, _INNER = 1 / 3, 2 / 3, 0.9
"""The share of the page's text outside links that ``main`` and ``article`` must hold to be taken for the main content,
and the share of the text of ``main`` that an ``article`` in it must hold."""


def main_content(page: Element) -> Element:
    """Return the element that holds the page's main content, after all furniture was taken out of the page."""
    body = page.first("body") or page
    flatten(body)
    tags, titles = body.tags(), _titles(body)
    holders = {id(holder) for part in _outermost(tags, _is_main)[:9] for holder in (part, *part.parents)}
    take_out(turning_bars(tag for tag in tags if tag.name == "a"))
    dropped = [tag for tag in tags if id(tag) not in holders and is_dropped(tag)]
    buttons = [link for link in code_buttons(tags, dropped) if id(link) not in holders]
    take_out(dropped + buttons)
    _measure(body)
    root = _root(body)
    take_out(_asides(root, inside=root is not body))
    _mark_code(root)
    inside = root.tags()
    first = next((place for place, tag in enumerate(inside) if tag.name in MARKED), len(inside))
    leading = set() if _stands_below_heading(root) else {id(tag) for tag in inside[:first]}
    soft = _outermost(inside, lambda tag: is_furniture(tag, leads=id(tag) in leading))
    if root.size - sum(tag.size for tag in soft) >= _LEAST:
        take_out(soft)
    if len(titles) == 1 and root.first("h1") is None and titles[0] not in (root, *root.parents):
        take_out(titles)
        root.replace([*titles, *root.contents])
    return root


def _outermost(tags: Iterable[Element], wanted: Callable[[Element], bool]) -> list[Element]:
    """Return the wanted elements that do not stand in another wanted one; ``tags`` are in the order of the page."""
    found: list[Element] = []
    inside: set[int] = set()
    for tag in tags:
        if id(tag.parent) in inside:
            inside.add(id(tag))
        elif wanted(tag):
            found.append(tag)
            inside.add(id(tag))
    return found


def _is_main(tag: Element) -> bool:
    return tag.name == "main" or tag.get("role") == "main"


def _titles(body: Element) -> list[Element]:
    """Return the headings of level 1 that do not stand in navigation."""
    found = (tag for tag in body.find_all("h1")[:9] if tag.text().strip())
    return [tag for tag in found if not any(map(_is_beside, tag.parents))]


def _is_beside(tag: Element) -> bool:
    return tag.name in {"nav", "aside", "footer"} or tag.get("role") in {"navigation", "complementary", "contentinfo"}


def _measure(body: Element) -> None:
    """Enter the size of each element, and how much of it is in links."""
    for node in reversed(list(body.descendants())):  # so that an element comes after everything in it
        if isinstance(node, Element):
            text, links = node.size, node.links
            if node.name == "a":
                links += 1
                if node.get("href"):
                    node.linked = text
            linked = node.linked
        elif isinstance(node, Remark):
            continue
        else:
            text, linked, links = len(" ".join(node.split())), 0, 0
            if text < 9 and _SEPARATORS.fullmatch(node):
                continue
        around = node.parent
        assert around is not None
        around.size += text
        around.linked += linked
        around.links += links


def _stands_below_heading(root: Element) -> bool:
    """Whether a heading stands before an element or around it."""
    inner = root
    for outer in root.parents:
        before = outer.contents[: outer.contents.index(inner)]
        tags = (tag for node in before if isinstance(node, Element) for tag in (node, *node.tags()))
        if outer.name in MARKED or any(tag.name in MARKED for tag in tags):
            return True
        inner = outer
    return False


def _root(body: Element) -> Element:
    """Return the element of the main content; the whole body where none holds enough of the text outside links."""
    root = _largest(_outermost(body.tags(), _is_main), body, share=_MAIN)
    articles = _outermost(root.tags(), lambda tag: tag.name == "article")
    return _largest(articles, root, share=_ARTICLE if root is body else _INNER)


def _largest(tags: list[Element], whole: Element, *, share: float) -> Element:
    best = max(tags, key=plain, default=whole)
    return best if plain(best) >= max(1, share * plain(whole)) else whole


def _asides(root: Element, *, inside: bool) -> list[Element]:
    """Return the asides that are not notes: within the main content lists of links, elsewhere all others."""
    found = []
    for tag in root.find_all("aside"):
        names = f"{names_of(tag)} {tag.get('role', '')}"
        if not _NOTES.search(names) and (not inside or is_linked(tag)):
            found.append(tag)
    return found


def _mark_code(root: Element) -> None:
    """Make ``pre`` of other forms of code: lines of ``div``, and tables that hold line numbers beside it."""
    for block in root.find_all("div"):
        if _is_called(block, "fragment") and any(_is_called(line, "line") for line in block.find_all("div")):
            block.name = "pre"
    tables = set(map(id, root.find_all("table")))
    around = (closest(block, "table") for block in root.find_all("pre"))
    frames = {id(frame): frame for frame in around if frame is not None and id(frame) in tables}
    emptied = []
    for frame in frames.values():
        if all(text.isspace() or is_within(text, "pre") for text in frame.texts()):
            blocks = frame.find_all("pre")
            take_out(blocks)
            frame.replace(blocks)
            emptied.append(frame)
    unwrap(emptied)


def _is_called(element: Element, name: str) -> bool:
    return name in str(element.get("class", "")).split()
