"""The main content of an HTML page: what a reader came for, without the furniture of the site around it.

Furniture is what the page itself calls so, by elements, roles and names of classes. A name alone takes out only what
consists of links or is a short line without a heading, so that a chapter about menus stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bs4 import Tag

_UNREAD_ELEMENTS = frozenset({
    "script", "style", "noscript", "template", "iframe", "object", "svg", "canvas", "nav", "footer", "title", "button",
    "select", "option", "textarea",
})  # fmt: skip
_UNREAD_ROLES = frozenset({
    "navigation", "contentinfo", "search", "banner", "complementary", "dialog", "alertdialog", "menu", "menubar",
    "toolbar", "doc-toc", "doc-pagelist",
})  # fmt: skip
_UNREAD_CLASSES = frozenset({
    "headerlink", "header-anchor", "heading-anchor", "anchorjs-link", "hash-link", "viewcode-link", "viewcode-back",
    "footnote-backref", "fn-backref", "skip-link", "skip-to-content", "skip-nav", "linenos", "lineno", "linenodiv",
    "rouge-gutter", "hljs-ln-numbers", "lnt",
})  # fmt: skip
"""Classes of permalinks of headings, of links past the navigation, and of line numbers beside code."""
_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_MAIN_SHARE = 0.5
"""The share of the text outside links that an element must hold to be taken for the main content."""
_ROWS = ["div", "ul", "ol", "p", "table", "dl", "header", "aside", "center", "address"]
_MENUS = re.compile(
    r"(?:^|[\s_-])(?:aside|(?:doc)?nav|navbar|navi|navigation|toc|localtoc|pagetoc|tableofcontents|table-of-contents"
    r"|on-this-page|contents topic|toctree-wrapper|(?:sphinx)?sidebar|(?:sub)?menu|pager|prevnext|prev-next|next-prev"
    r"|rellinks|related|topbar|quickview|social|share)(?:[\s_-]|$)",
    re.IGNORECASE,
)
"""Names of what is left out if at least half of its text is in links."""
_FOOTERS = re.compile(
    r"(?:^|[\s_-])(?:footer|navheader|navfooter|nav-?path|breadcrumbs?|crumbs|copyright|pagination|toplang"
    r"|bottomlang|languages|editlink|edit-(?:this-)?page|searchbox|(?:cookies?|consent)[-_]?(?:banner|bar|notice|popup|modal|dialog))(?:[\s_-]|$)",
    re.IGNORECASE,
)
"""Names of what is left out if it is short, whether or not it holds links."""
_LONGEST_FOOTER = 1500
_TURNS = frozenset({"prev", "next"})
_TURNING_KEYS = frozenset({"p", "n"})
"""Access keys of links to the previous and next page, as DocBook and texinfo set them."""
_LONGEST_ROW = 300
"""Most characters of a row of links to the next and previous page."""
_FEWEST_LETTERS = 100
"""If fewer characters than this would be left of a page, the names of its classes are not believed."""


def main_content(page: Tag) -> Tag:
    """Return the element that holds the page's main content, after all furniture was taken out of the page."""
    body = page.find("body") or page
    _take_out([tag for tag in body.find_all(True) if _is_unread(tag)])
    _take_out([link for link in body.find_all("a") if _is_mark(link)])
    _take_out(_page_turns(body))
    _take_out([row for row in body.find_all(_ROWS) if _FOOTERS.search(_names(row)) and _is_short(row)])
    root = _main_element(body)
    menus = [row for row in root.find_all(_ROWS) if _is_menu(row)]
    inside = set(map(id, menus))
    outermost = [menu for menu in menus if not any(id(parent) in inside for parent in menu.parents)]
    if size_of(root) - sum(map(size_of, outermost)) >= _FEWEST_LETTERS:
        _take_out(outermost)
    titles = [title for title in body.find_all("h1") if size_of(title)]
    # A heading around the main content cannot be put into it.
    if len(titles) == 1 and not any(titles[0] is tag for tag in (*root.find_all("h1"), root, *root.parents)):
        root.insert(0, titles[0].extract())
    return root


def _take_out(elements: Iterable[Tag]) -> None:
    for element in elements:
        element.extract()


def _is_unread(tag: Tag) -> bool:
    """Whether an element is furniture wherever it stands, or nothing that a reader sees."""
    if tag.name in _UNREAD_ELEMENTS:
        return True
    role = tag.get("role")
    classes = str(tag.get("class", "")).split()
    hidden = ("hidden" in tag.attrs or tag.get("aria-hidden") == "true") and role != "tabpanel"
    # What a page can unfold has a name by which its script finds it.
    if not classes and "id" not in tag.attrs and _INVISIBLE.search(str(tag.get("style", ""))):
        hidden = True
    is_named = role in _UNREAD_ROLES or not _UNREAD_CLASSES.isdisjoint(classes)
    return (hidden or is_named) and not _is_main(tag) and tag.find(_is_main) is None


def _is_main(tag: Tag) -> bool:
    return tag.name in {"main", "article"} or tag.get("role") == "main"


def _is_mark(link: Tag) -> bool:
    """Whether a link shows no word, as the mark of a heading's permalink or of a script."""
    address = str(link.get("href", ""))
    shown = link.get_text().strip()
    return bool(shown) and ("#" in address or address.startswith("javascript:")) and not re.search(r"\w", shown)


def _page_turns(body: Tag) -> list[Tag]:
    """Return the links to the next and previous page, with the row in which they stand if it holds only links."""
    is_bar: dict[int, bool] = {}
    turns: list[Tag] = []
    for link in body.find_all("a"):
        if _TURNS.isdisjoint(str(link.get("rel", "")).split()) and link.get("accesskey") not in _TURNING_KEYS:
            continue
        row = link.find_parent(_ROWS) or link
        if id(row) not in is_bar:  # a row is measured once, however many links it holds
            is_bar[id(row)] = size_of(row) <= _LONGEST_ROW and _is_linked(row)
        turns.append(row if is_bar[id(row)] else link)
    return turns


def _main_element(body: Tag) -> Tag:
    """Return the smallest element called main that holds most of the text outside links, or the body."""
    least = max(1, _MAIN_SHARE * _size_outside_links(body))
    large = (tag for tag in reversed(body.find_all(_is_main)) if _size_outside_links(tag) >= least)
    return min(large, key=_size_outside_links, default=body)


def _names(row: Tag) -> str:
    return f"{row.name} {row.get('id', '')} {' '.join(str(row.get('class', '')).split())}"


def _is_menu(row: Tag) -> bool:
    names = _names(row)
    return _MENUS.search(names) is not None and "note" not in names and _is_linked(row)


def _is_short(row: Tag) -> bool:
    return size_of(row) <= _LONGEST_FOOTER and row.find(["h1", "h2", "pre"]) is None


def _is_linked(row: Tag) -> bool:
    return 2 * _size_of_links(row) >= size_of(row)


def size_of(tag: Tag) -> int:
    """Return the number of characters in an element, without white space."""
    return len("".join(tag.get_text().split()))


def _size_of_links(tag: Tag) -> int:
    return sum(map(size_of, tag.find_all("a", href=True)))


def _size_outside_links(tag: Tag) -> int:
    return size_of(tag) - _size_of_links(tag)
