"""The tree of a page against the one that Beautiful Soup makes of it with the same parser."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("lxml", reason="the extra documents")

from bs4 import BeautifulSoup, Tag
from bs4.element import PreformattedString

from goldbench.formats.documents.html_text import html_to_text
from goldbench.formats.documents.page_tree import Element, Remark, page_tree

NAMES = [
    "html",
    "head",
    "title",
    "body",
    "p",
    "div",
    "ul",
    "li",
    "table",
    "tr",
    "td",
    "pre",
    "code",
    "textarea",
    "script",
    "style",
    "rt",
    "template",
    "a",
    "b",
    "h1",
    "svg",
    "o:p",
    "br",
]
ATTRIBUTES = ["", " class='x y'", " href=a", " hidden", " {x}id='7'", " id=5 id=6"]
TEXTS = [
    "word",
    " ",
    "\n",
    " \t ",
    "two words\n",
    "&amp;",
    "&nbsp;",
    "\r\n",
    "<!-- no -->",
    "<?php 1 ?>",
    "<![CDATA[x]]>",
]
PIECES = st.one_of(
    st.builds("<{}{}>".format, st.sampled_from(NAMES), st.sampled_from(ATTRIBUTES)),
    st.builds("</{}>".format, st.sampled_from(NAMES)),
    st.sampled_from([*TEXTS, "<!DOCTYPE html>"]),
)


def ours(page: Element) -> list[Any]:
    def told(node: object) -> object:
        if isinstance(node, Element):
            return node.name, dict(node.attrs), [told(one) for one in node.contents]
        return str(node) if not isinstance(node, Remark) else None

    return [found for one in page.contents if (found := told(one)) is not None]


def theirs(soup: BeautifulSoup) -> list[Any]:
    def told(node: object) -> object:
        if isinstance(node, Tag):
            return node.name, dict(node.attrs), [told(one) for one in node.contents]
        return str(node) if not isinstance(node, PreformattedString) else None

    return [found for one in soup.contents if (found := told(one)) is not None]


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_the_tree_is_that_of_beautiful_soup(html: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        soup = BeautifulSoup(html, "lxml", multi_valued_attributes=None)
    page = page_tree(html)
    assert ours(page) == theirs(soup)
    for name in ("a", "td", "p"):
        assert [tag.text() for tag in page.find_all(name)] == [tag.get_text() for tag in soup.find_all(name)]


def test_a_heading_around_the_main_content_is_not_put_into_it() -> None:
    words = "words of the text that is long enough " * 5
    assert html_to_text(f"<body><h1>Title <main><p>{words}</p></main></h1></body>")[1] == words.strip()
    assert html_to_text(f"<body><h1 role=main>{words}</h1></body>")[1] == f"# {words.strip()}"


def test_a_film_is_shown_with_the_address_of_its_source() -> None:
    assert html_to_text("<body><p>See <video><source src='a.mp4'>a film</video>.</p></body>")[1] == (
        "See [a film](a.mp4)."
    )
