"""The furniture of a page: what leads through a site, or serves a script, and belongs to no text.

Furniture is what the page itself calls so: elements (``nav``, ``footer``), roles, names of classes, and the form of
links (permalink marks, rows of Previous and Next). A name alone takes out only what consists of links or is short, so
that a chapter about menus stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice

from bs4 import Tag
from bs4.element import NavigableString, PageElement, PreformattedString

from goldbench.text import table

_DROPPED = frozenset({
    "script", "style", "noscript", "template", "iframe", "object", "svg", "canvas", "nav", "footer", "title", "button",
    "select", "option", "textarea",
})  # fmt: skip
_DROPPED_ROLES = frozenset({
    "navigation", "contentinfo", "search", "banner", "complementary", "dialog", "alertdialog", "menu", "menubar",
    "toolbar", "doc-toc", "doc-pagelist",
})  # fmt: skip
_CONSENT = re.compile(
    r"\b(?:cookies?|consent|gdpr)[-_]?(?:banner|bar|notice|popup|modal|overlay|dialog)\b", re.IGNORECASE
)
_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SKIP_LINK = re.compile(r"(?:^|[\s_-])skip(?:[-_\s]|link|to|nav|$)", re.IGNORECASE)
_PERMALINK = re.compile(
    r"(?:^|\s)(?:headerlink|header-?anchor|heading-?anchor|heading-?link|anchorjs-link|permalink|hash-link|id_link"
    r"|viewcode-(?:link|back)|footnote-backref|fn-backref)(?:\s|$)",
    re.IGNORECASE,
)
_MARKS, _SIGNS = frozenset("¶#§⚓🔗∞☍⁋◆"), frozenset("¶§⚓🔗")
"""What a link to the heading that it stands in shows, and of this what says nothing whatever it leads to."""
_ARROWS = re.compile(r"[\s<>«»‹›←→↑↓⇐⇒⇑⟶⟵▲▶►◀◄^-]+")
"""What a link to the next or previous page shows in place of a word."""
_CRUMBS = re.compile(r"\s*(?:>|»|›|→|::|/)\s*")
MARKED = ["h1", "h2", "h3", "h4", "h5", "h6", "dt", "caption", "figcaption", "summary"]
_LINE_NUMBERS = frozenset({
    "linenos", "lineno", "linenumbers", "line-numbers", "gutter", "hljs-ln-numbers", "rouge-gutter", "lnt", "ln",
})  # fmt: skip
_FURNITURE = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navi|navigation|navheader|navfooter|navpath|breadcrumbs?|crumbs?|pagination|pager"
    r"|paginate|prevnext|prev-next|next-prev|rellinks|related|toc|localtoc|tableofcontents|table-of-contents|on-this-page|pagetoc"
    r"|quickview|sidebar|sphinxsidebar|menu|submenu|contents (?:local )?topic|topbar|toplang|bottomlang|languages?"
    r"|footer|ft|searchbox|editlink"
    r"|edit-(?:this-)?page|summary|social|share|copyright|toctree-wrapper)(?:[\s_-]|$)",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"(?:^|\s)(?:footer|navheader|navfooter|nav-?path|breadcrumbs?|copyright|pagination|editlink|searchbox)(?:\s|$)",
    re.IGNORECASE,
)
"""Names that also take out a short text without links: a date, the title of the next chapter."""
_CONTAINERS = frozenset({"div", "ul", "ol", "header", "span", "p", "table", "center", "menu", "address"})
_BARS = frozenset({"div", "ul", "ol", "p", "table", "center", "dl"})
_MAX_BAR, _MAX_BARE = 300, 1500
"""Most characters of a row of links, and of a footer or the like without links."""
_MAX_LABEL = 40
"""Most characters of the label before a row of links, and of the name of a button beside code."""
_BETWEEN = re.compile(r"[|·•»«›‹→←↑⟶⟵▲►◄>/\[\]()<—–-]+|\s{2,}|\n")
_SEPARATORS = re.compile(r"[\s|·•\[\]]+")
"""What stands between links, and is not counted as text."""


class Sizes:
    """How many characters the elements of a page hold, how many of these are in links, and how many links.

    Args:
        body: The page; what it holds is measured as it is now.
    """

    def __init__(self, body: Tag) -> None:
        self.text, self.linked, self.links = Counter[int](), Counter[int](), Counter[int]()
        for node in reversed(list(body.descendants)):  # so that an element comes after everything in it
            self._add(node, id(node), id(node.parent))

    def _add(self, node: PageElement, own: int, around: int) -> None:
        if isinstance(node, Tag):
            if node.name == "a":
                self.links[own] += 1
                self.linked[own] = self.text[own] if node.get("href") else self.linked[own]
            self.linked[around] += self.linked[own]
            self.links[around] += self.links[own]
            self.text[around] += self.text[own]
        elif isinstance(node, NavigableString) and not isinstance(node, PreformattedString):
            text = " ".join(node.split())
            self.text[around] += 0 if _SEPARATORS.fullmatch(text) else len(text)

    def plain(self, element: Tag) -> int:
        """Return the characters outside links."""
        return self.text[id(element)] - self.linked[id(element)]

    def is_linked(self, element: Tag) -> bool:
        """Whether at least half of the text is in links."""
        return 2 * self.linked[id(element)] >= self.text[id(element)]


def is_dropped(tag: Tag) -> bool:
    """Whether an element is furniture wherever it stands, or nothing that a reader sees."""
    if tag.name in _DROPPED:
        return True
    attributes = tag.attrs
    if not attributes or tag.name in {"html", "body", "article"}:
        return False
    role, names = str(attributes.get("role", "")), names_of(tag)
    hidden = ("hidden" in attributes or attributes.get("aria-hidden") == "true") and role != "tabpanel"
    # What a page can unfold has a name by which its script finds it.
    nameless = not names.strip()
    hidden = hidden or (nameless and _INVISIBLE.search(str(attributes.get("style", ""))) is not None)
    if hidden or role in _DROPPED_ROLES or _PERMALINK.search(names) or _CONSENT.search(names):
        return True
    if tag.name == "a":
        return _is_mark(tag, names)
    if tag.name in _CONTAINERS and "section" not in names and _BARE.search(names):
        return len(tag.get_text()) <= _MAX_BARE and tag.find(["h1", "pre"]) is None
    numbers = tag.name in {"span", "td", "div", "pre"} and not _LINE_NUMBERS.isdisjoint(names.split())
    return numbers and not re.search(r"[^\W\d]", tag.get_text())


def _is_mark(link: Tag, names: str) -> bool:
    """Whether a link leads to the place where it stands, past the navigation, or to the next or previous page."""
    address = str(link.get("href", ""))
    if _turns(link) or _is_button(link, address):
        return True
    if address.startswith("#") and _SKIP_LINK.search(names):
        return True
    shown = link.get_text().strip().replace("\ufe0f", "")
    if len(shown) != 1 or shown not in (_MARKS if "#" in address else _SIGNS):
        return False
    return shown != "#" or "anchor" in names or any(parent.name in MARKED for parent in islice(link.parents, 2))


def _is_button(link: Tag, address: str) -> bool:
    """Whether a link is a picture of an arrow, or a mark that a script uses."""
    text = link.get_text().strip()
    if not text:
        image = link.find("img")
        return image is not None and _ARROWS.fullmatch(str(image.get("alt", ""))) is not None
    return address.startswith("javascript:") and not re.search(r"\w", text)


def code_buttons(tags: Iterable[Tag], dropped: Iterable[Tag]) -> Iterator[Tag]:
    """Yield the links with a short text that stand at the end of an element, behind nothing but code.

    Args:
        tags: The elements of the page.
        dropped: Those that are taken out of it.
    """
    gone = set(map(id, dropped))
    rows = {id(tag.parent): tag.parent for tag in tags if tag.name == "pre"}
    for row in rows.values():
        if row is not None and row.name == "div":
            *before, last = (node for node in row.contents if isinstance(node, Tag) or str(node).strip())
            match [*(node for node in before if id(node) not in gone), last]:
                case [Tag(name="pre"), Tag(name="a") as link] if link.attrs:
                    if 0 < len(link.get_text().strip()) <= _MAX_LABEL:
                        yield link


def turning_bars(links: Iterable[Tag]) -> list[Tag]:
    """Return the rows around links to the next and previous page that hold nothing but links and words of a site."""
    found: dict[int, Tag] = {}
    leads: dict[int, bool] = {}
    for link in filter(_turns, links):
        last = None
        for row in islice(link.parents, 6):
            if id(row) not in leads:  # many links stand in one row
                leads[id(row)] = _only_leads(row)
            if not leads[id(row)]:
                break
            last = row
        if last is not None:
            found[id(last)] = last
    return list(found.values())


def _turns(link: Tag) -> bool:
    rel = str(link.get("rel", "")).split()
    return "prev" in rel or "next" in rel


def _only_leads(row: Tag) -> bool:
    """Whether a row is short and shows nothing but links, arrows and words of a site."""
    if row.name in {"body", "main", "article", "html"} or row.get("role") == "main":
        return False
    size, words = 0, []
    for number, node in enumerate(row.descendants):
        if isinstance(node, Tag):
            if node.name in MARKED or node.name == "pre":
                return False
            continue
        size += len(str(node))
        if size > _MAX_BAR or number > _MAX_BAR:
            return False
        if node.find_parent("a") is None:
            words += _words_of(str(node))
    turn, place = site_words()
    return all(word in turn or word in place for word in words)


def is_furniture(tag: Tag, sizes: Sizes, *, leads: bool) -> bool:
    """Whether an element of the main content leads from page to page.

    Args:
        tag: The element.
        sizes: The sizes of all elements.
        leads: Whether it stands before all headings.
    """
    size = sizes.text[id(tag)]
    is_linked = sizes.is_linked(tag)
    if tag.name not in _CONTAINERS or not size:
        return False
    if (is_linked or _is_labelled(tag, sizes)) and _FURNITURE.search(names := names_of(tag)):
        return "section" not in names
    if tag.name not in _BARS or size > _MAX_BAR or sizes.linked[id(tag)] == 0 or tag.find(MARKED) is not None:
        return False
    links = tag.find_all("a")
    return _is_row_of_languages(links) or (
        (is_linked or _only_leads(tag)) and (_is_turning(tag, links) or (leads and _is_trail(tag, links)))
    )


def _is_labelled(tag: Tag, sizes: Sizes) -> bool:
    """Whether an element is a row of links with a short label before it."""
    if sizes.plain(tag) > _MAX_LABEL or len(tag.find_all("a")) < 2:
        return False
    outside = "".join(text for text in tag.find_all(string=True) if text.find_parent("a") is None)
    return re.fullmatch(r"[^:：]+[:：][\s|·•,/]*", outside) is not None


def _is_row_of_languages(links: list[Tag]) -> bool:
    """Whether all links but the one of the page itself lead to the page in another language."""
    return len(links) > 1 and sum("hreflang" in link.attrs for link in links) >= len(links) - 1


def _is_turning(tag: Tag, links: list[Tag]) -> bool:
    """Whether a row leads from page to page: its links say so, or the words before them, or they are arrows."""
    turn, place = site_words()
    labels = [link.get_text().strip() for link in links]
    if is_bar("|".join(labels)):
        return True
    arrows = sum(bool(label) and _ARROWS.fullmatch(label) is not None for label in labels)
    words = {word for label in labels for word in _words_of(label)} - {"?"}
    if arrows and words <= turn | place:
        return True
    outside = {word for text in tag.find_all(string=True) if text.find_parent("a") is None for word in _words_of(text)}
    return not turn.isdisjoint(outside) and outside <= turn | place


def _is_trail(tag: Tag, links: list[Tag]) -> bool:
    """Whether a row names the pages above this one, the outermost first."""
    if len(links) < 2 or tag.name == "table":
        return False
    between = [text for text in tag.find_all(string=True) if text.strip() and text.find_parent("a") is None]
    return len(between) >= len(links) - 1 and all(map(_CRUMBS.fullmatch, between[: len(links) - 1]))


def is_bar(text: str) -> bool:
    """Whether a text consists of words that lead from page to page, one of them to the next or previous page."""
    if len(text) > _MAX_BAR:
        return False
    turn, place = site_words()
    words = {word.strip().lower() for word in _BETWEEN.split(text)} - {""}
    return len(words) > 1 and words <= turn | place and not turn.isdisjoint(words)


@cache
def site_words() -> tuple[frozenset[str], frozenset[str]]:
    """Return the words that lead to the next and previous page, and those that lead to a place of the site."""
    words = table("site_words")
    return frozenset(words["turn"]), frozenset(words["place"])


def _words_of(text: str) -> list[str]:
    return [word for part in _BETWEEN.split(text) if (word := part.strip(" \t\n\xa0:,;").lower())]


def names_of(element: Tag) -> str:
    """Return the id and the classes of an element."""
    return f"{element.get('id', '')} {' '.join(str(element.get('class', '')).split())}"
