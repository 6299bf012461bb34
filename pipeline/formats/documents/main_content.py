"""The main content of an HTML page: what a reader came for, without the furniture of the site around it.

Furniture is what the page itself calls so: elements (``nav``, ``footer``), roles, names of classes, and the form of
links (permalink marks, rows of Previous and Next). A name alone takes out only what consists of links or is short, so
that a chapter about menus stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import islice

from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString, PageElement, PreformattedString

from goldbench.pipeline.formats.documents.deep_elements import flatten
from goldbench.pipeline.text import table

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
_SEPARATORS = re.compile(r"[\s|·•\[\]]+")
"""What stands between links, and is not counted as text."""
_CRUMBS = re.compile(r"\s*(?:>|»|›|→|::|/)\s*")
_MARKED = ("h1", "h2", "h3", "h4", "h5", "h6", "dt", "caption", "figcaption", "summary")
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
_NOTES = re.compile(
    r"(?:^|[\s_-])(?:footnotes?|admonition|topic|note|warning|tip|hint|callout|caution|important)(?:[\s_-]|$)",
    re.IGNORECASE,
)
_CONTAINERS = frozenset({"div", "ul", "ol", "header", "span", "p", "table", "center", "menu", "address"})
_BARS = frozenset({"div", "ul", "ol", "p", "table", "center", "dl"})
_MAX_BAR, _MAX_BARE = 300, 1500
"""Most characters of a row of links, and of a footer or the like without links."""
_LEAST = 100
"""Fewest characters of a page; if less than this would be left, the names of classes are not believed."""
_MAIN, _ARTICLE, _INNER = 1 / 3, 2 / 3, 0.9
"""The share of the page's text outside links that ``main`` and ``article`` must hold to be taken for the main content,
and the share of the text of ``main`` that an ``article`` in it must hold."""
_MAX_LABEL = 40
"""Most characters of the label before a row of links, and of the name of a button beside code."""
_BETWEEN = re.compile(r"[|·•»«›‹→←↑⟶⟵▲►◄>/\[\]()<—–-]+|\s{2,}|\n")


@dataclass(slots=True)
class _Sizes:
    """The characters of text in each element, by the identity of the element, and of these the ones in links."""

    text: Counter[int] = field(default_factory=Counter)
    linked: Counter[int] = field(default_factory=Counter)

    def plain(self, element: Tag) -> int:
        """Return the characters outside links."""
        return self.text[id(element)] - self.linked[id(element)]

    def is_linked(self, element: Tag) -> bool:
        """Whether at least half of the text is in links."""
        return 2 * self.linked[id(element)] >= self.text[id(element)]


def main_content(soup: BeautifulSoup) -> Tag:
    """Return the element that holds the page's main content, after all furniture was taken out of the page."""
    body = soup.body or soup
    flatten(body)
    tags, titles = _tags(body), _titles(body)
    holders = {id(holder) for part in _outermost(tags, _is_main)[:9] for holder in (part, *part.parents)}
    _take_out(_turning_bars(tag for tag in tags if tag.name == "a"))
    _take_out(tag for tag in tags if id(tag) not in holders and _is_dropped(tag))
    sizes = _measured(body)
    root = _root(body, sizes)
    _take_out(_asides(root, sizes, inside=root is not body))
    _mark_code(root)
    inside = _tags(root)
    first = next((place for place, tag in enumerate(inside) if tag.name in _MARKED), len(inside))
    leading = {id(tag) for tag in inside[:first]} if root.find_previous(_MARKED) is None else set()
    soft = _outermost(inside, lambda tag: _is_furniture(tag, sizes, leads=id(tag) in leading))
    if sizes.text[id(root)] - sum(sizes.text[id(tag)] for tag in soft) >= _LEAST:
        _take_out(soft)
    if len(titles) == 1 and root.find("h1") is None:
        root.insert(0, titles[0].extract())
    return root


@cache
def site_words() -> tuple[frozenset[str], frozenset[str]]:
    """Return the words that lead to the next and previous page, and those that lead to a place of the site."""
    words = table("site_words")
    return frozenset(words["turn"]), frozenset(words["place"])


def is_bar(text: str) -> bool:
    """Whether a text consists of words that lead from page to page, one of them to the next or previous page."""
    if len(text) > _MAX_BAR:
        return False
    turn, place = site_words()
    words = {word.strip().lower() for word in _BETWEEN.split(text)} - {""}
    return len(words) > 1 and words <= turn | place and not turn.isdisjoint(words)


def _tags(within: Tag) -> list[Tag]:
    return [node for node in within.descendants if isinstance(node, Tag)]


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


def _take_out(tags: Iterable[Tag]) -> None:
    for tag in tags:
        tag.extract()


def _is_main(tag: Tag) -> bool:
    return tag.name == "main" or tag.get("role") == "main"


def _titles(body: Tag) -> list[Tag]:
    """Return the headings of level 1 that do not stand in navigation."""
    found = (tag for tag in body.find_all("h1", limit=9) if tag.get_text().strip())
    return [tag for tag in found if not any(map(_is_beside, tag.parents))]


def _is_beside(tag: Tag) -> bool:
    return tag.name in {"nav", "aside", "footer"} or tag.get("role") in {"navigation", "complementary", "contentinfo"}


def _turning_bars(links: Iterable[Tag]) -> list[Tag]:
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
            if node.name in _MARKED or node.name == "pre":
                return False
            continue
        if not isinstance(node, NavigableString):
            continue
        size += len(node)
        if size > _MAX_BAR or number > _MAX_BAR:
            return False
        if not _is_within(node, "a"):
            words += _words_of(str(node))
    turn, place = site_words()
    return all(word in turn or word in place for word in words)


def _words_of(text: str) -> list[str]:
    return [word for part in _BETWEEN.split(text) if (word := part.strip(" \t\n\xa0:,;").lower())]


def _is_dropped(tag: Tag) -> bool:
    if tag.name in _DROPPED:
        return True
    attributes = tag.attrs
    if not attributes or tag.name in {"html", "body", "article"}:
        return False
    role, names = str(attributes.get("role", "")), _names(tag)
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
    return shown != "#" or "anchor" in names or any(parent.name in _MARKED for parent in islice(link.parents, 2))


def _is_button(link: Tag, address: str) -> bool:
    """Whether a link is a picture of an arrow, a mark that a script uses, or a short word beside nothing but code."""
    text = link.get_text().strip()
    if not text:
        return any(_ARROWS.fullmatch(str(image.get("alt", ""))) for image in link.find_all("img", limit=1))
    if address.startswith("javascript:") and not re.search(r"\w", text):
        return True
    if len(text) > _MAX_LABEL or link.parent is None or link.parent.name != "div":
        return False
    beside = list(islice((node for node in link.parent.children if isinstance(node, Tag) or str(node).strip()), 3))
    return len(beside) == 2 and beside[1] is link and isinstance(beside[0], Tag) and beside[0].name == "pre"


def _measured(body: Tag) -> _Sizes:
    sizes = _Sizes()
    for node in reversed(list(body.descendants)):  # so that an element comes after everything in it
        if isinstance(node, Tag):
            text = sizes.text[id(node)]
            linked = sizes.linked[id(node)] = text if node.name == "a" and node.get("href") else sizes.linked[id(node)]
        elif isinstance(node, NavigableString) and not isinstance(node, PreformattedString):
            text, linked = len(" ".join(node.split())), 0
            if text < 9 and _SEPARATORS.fullmatch(node):
                continue
        else:
            continue
        sizes.text[id(node.parent)] += text
        sizes.linked[id(node.parent)] += linked
    return sizes


def _root(body: Tag, sizes: _Sizes) -> Tag:
    """Return the element of the main content; the whole body where none holds enough of the text outside links."""
    root = _largest(_outermost(_tags(body), _is_main), body, sizes, share=_MAIN)
    articles = _outermost(_tags(root), lambda tag: tag.name == "article")
    return _largest(articles, root, sizes, share=_ARTICLE if root is body else _INNER)


def _largest(tags: list[Tag], whole: Tag, sizes: _Sizes, *, share: float) -> Tag:
    best = max(tags, key=sizes.plain, default=whole)
    return best if sizes.plain(best) >= max(1, share * sizes.plain(whole)) else whole


def _asides(root: Tag, sizes: _Sizes, *, inside: bool) -> list[Tag]:
    """Return the asides that are not notes: within the main content lists of links, elsewhere all others."""
    found = []
    for tag in root.find_all("aside"):
        names = f"{_names(tag)} {tag.get('role', '')}"
        if not _NOTES.search(names) and (not inside or sizes.is_linked(tag)):
            found.append(tag)
    return found


def _is_furniture(tag: Tag, sizes: _Sizes, *, leads: bool) -> bool:
    """Whether an element leads from page to page.

    Args:
        tag: The element.
        sizes: The characters in each element.
        leads: Whether it stands before all headings.
    """
    size = sizes.text[id(tag)]
    if tag.name not in _CONTAINERS or not size:
        return False
    if (sizes.is_linked(tag) or _is_labelled(tag, sizes)) and _FURNITURE.search(names := _names(tag)):
        return "section" not in names
    if tag.name not in _BARS or size > _MAX_BAR or sizes.linked[id(tag)] == 0 or tag.find(_MARKED) is not None:
        return False
    links = tag.find_all("a")
    return _is_row_of_languages(links) or (
        (sizes.is_linked(tag) or _only_leads(tag)) and (_is_turning(tag, links) or (leads and _is_trail(tag, links)))
    )


def _is_labelled(tag: Tag, sizes: _Sizes) -> bool:
    """Whether an element is a row of links with a short label before it."""
    if sizes.plain(tag) > _MAX_LABEL or len(tag.find_all("a", limit=2)) < 2:
        return False
    outside = "".join(text for text in tag.find_all(string=True) if not _is_within(text, "a"))
    return re.fullmatch(r"[^:：]+[:：][\s|·•,/]*", outside) is not None


def _is_row_of_languages(links: list[Tag]) -> bool:
    """Whether all links but the one of the page itself lead to the page in another language."""
    return len(links) > 1 and sum(link.has_attr("hreflang") for link in links) >= len(links) - 1


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
    outside = {word for text in tag.find_all(string=True) if not _is_within(text, "a") for word in _words_of(text)}
    return not turn.isdisjoint(outside) and outside <= turn | place


def _is_trail(tag: Tag, links: list[Tag]) -> bool:
    """Whether a row names the pages above this one, the outermost first."""
    if len(links) < 2 or tag.name == "table":
        return False
    between = [text for text in tag.find_all(string=True) if text.strip() and not _is_within(text, "a")]
    return len(between) >= len(links) - 1 and all(map(_CRUMBS.fullmatch, between[: len(links) - 1]))


def _mark_code(root: Tag) -> None:
    """Make ``pre`` of other forms of code: lines of ``div``, and tables that hold line numbers beside it."""
    for block in root.find_all("div"):
        if _is_called(block, "fragment") and any(_is_called(line, "line") for line in block.find_all("div")):
            block.name = "pre"
    frames = {id(frame): frame for block in root.find_all("pre") if (frame := block.find_parent("table"))}
    for frame in frames.values():
        texts = frame.find_all(string=lambda text: text is not None and not text.isspace())
        if all(_is_within(text, "pre") for text in texts):
            frame.insert_before(*(block.extract() for block in frame.find_all("pre")))
            frame.extract()


def _is_within(node: PageElement, name: str) -> bool:
    return any(parent.name == name for parent in node.parents)


def _is_called(element: Tag, name: str) -> bool:
    return name in str(element.get("class", "")).split()


def _names(element: Tag) -> str:
    return f"{element.get('id', '')} {' '.join(str(element.get('class', '')).split())}"
