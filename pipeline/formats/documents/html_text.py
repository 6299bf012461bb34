"""HTML to Markdown-like text: headings as ``#``, lists, tables and code kept; links and pictures as their words."""

from __future__ import annotations

import re
import warnings

from bs4 import BeautifulSoup, Comment, Tag, XMLParsedAsHTMLWarning
from markdownify import MarkdownConverter

_DROPPED = ("script", "style", "noscript", "template", "iframe", "object", "svg", "canvas", "nav", "footer", "aside")
_DROPPED_ROLES = frozenset({"navigation", "contentinfo", "complementary", "search", "dialog", "alertdialog"})
_CONSENT = re.compile(
    r"\b(?:cookies?|consent|gdpr)[-_]?(?:banner|bar|notice|popup|modal|overlay|dialog)\b", re.IGNORECASE
)
_SKIP_LINK = re.compile(r"(?:^|[\s_-])skip(?:[-_\s]|link|to|nav|$)", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")
_TRAILING = re.compile(r"[ \t]+(?=\n|\Z)")


class _Text(MarkdownConverter):
    """Markdown without addresses, because in a page they outweigh the words and no query asks about them."""

    def convert_a(self, _el: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002  # called by this name
        return text

    def convert_img(self, el: Tag, _text: str, parent_tags: set[str]) -> str:  # noqa: ARG002  # called by this name
        return str(el.get("alt") or "")


def html_to_text(html: str) -> tuple[str | None, str]:
    """Return the page's title, if it has one, and its text.

    Elements that the page itself marks as not content are left out: scripts, navigation, footers, asides, hidden
    elements, dialogs and consent banners.

    Raises:
        RecursionError: Elements are nested several hundred levels deep.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)  # XHTML is read as HTML on purpose
        soup = BeautifulSoup(html, "lxml")  # ends <li>, <p> and <td> that a page leaves open; html.parser nests them
    title = soup.title.get_text() if soup.title else None
    for element in soup.find_all(_is_left_out):
        element.extract()
    for comment in soup.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    converter = _Text(
        heading_style="ATX",
        bullets="-",
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
        table_infer_header=True,
    )
    return (title or "").strip() or None, tidy(converter.convert_soup(soup.body or soup))


def tidy(text: str) -> str:
    """Return converted text without spaces at line ends, runs of blank lines or blank lines around it."""
    text = _TRAILING.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\n"))
    return _BLANK_LINES.sub("\n\n", text).strip("\n")


def _is_left_out(element: Tag) -> bool:
    if element.name in _DROPPED or element.name == "title":
        return True
    attributes = element.attrs
    if not attributes or element.name in {"html", "body", "main", "article"}:
        return False
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    if str(attributes.get("role", "")) in _DROPPED_ROLES:
        return True
    if element.name == "a" and str(attributes.get("href", "")).startswith("#") and _SKIP_LINK.search(_names(element)):
        return True
    return _CONSENT.search(_names(element)) is not None


def _names(element: Tag) -> str:
    names: str | list[str] = element.get("class") or []
    return f"{element.get('id', '')} {names if isinstance(names, str) else ' '.join(names)}"
