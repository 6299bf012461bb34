"""The work of reading a page grows with the page, however many things stand side by side in one element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, SupportsIndex

import pytest

pytest.importorskip("lxml", reason="the extra documents")

from goldbench.formats.documents.html_text import html_to_text
from goldbench.formats.documents.page_tree import Element

WORDS = "The pump runs until the tank is full, and it stops by itself when nobody has switched it off. "


class CountedNodes(list[Any]):
    """What stands in an element; counts the nodes that are looked at or moved."""

    steps = 0

    def _count(self, nodes: int) -> None:
        CountedNodes.steps += nodes

    def __iter__(self) -> Iterator[Any]:
        for node in super().__iter__():
            self._count(1)
            yield node

    def __reversed__(self) -> Iterator[Any]:
        for node in super().__reversed__():
            self._count(1)
            yield node

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        self._count(len(found) if isinstance(place, slice) else 1)
        return found

    def __setitem__(self, place: Any, nodes: Any) -> None:
        self._count(len(self))
        super().__setitem__(place, nodes)

    def index(self, node: Any, *places: SupportsIndex) -> int:
        place = super().index(node, *places)
        self._count(place)
        return place

    def insert(self, place: SupportsIndex, node: Any) -> None:
        self._count(len(self))
        super().insert(place, node)

    def remove(self, node: Any) -> None:
        self._count(len(self))
        super().remove(node)


@pytest.fixture
def _counted(monkeypatch: pytest.MonkeyPatch) -> None:
    slot: Any = Element.__dict__["contents"]
    nodes = property(slot.__get__, lambda element, given: slot.__set__(element, CountedNodes(given)))
    monkeypatch.setattr(Element, "contents", nodes)


def steps(html: str) -> int:
    CountedNodes.steps = 0
    html_to_text(html)
    return CountedNodes.steps


SHARE = "<div class=share><a href=s>Share</a></div>"


@pytest.mark.usefixtures("_counted")
@pytest.mark.parametrize(
    "part",
    [
        pytest.param(f"<p>{WORDS}</p>{SHARE}", id="bars of links between paragraphs"),
        pytest.param(SHARE, id="nothing but bars of links"),
        pytest.param(f"<p>{WORDS}</p> <script>x</script> ", id="scripts"),
        pytest.param("<script>x</script> <a href=u>word</a>", id="scripts and links"),
        pytest.param("<aside><a href=u>word</a></aside> ", id="asides"),
        pytest.param("<p><a rel=prev href=a>Previous</a> <a rel=next href=b>Next</a></p> ", id="rows of turning links"),
        pytest.param("<pre>x = 1</pre> <a href=u>Copy</a> ", id="buttons in one row"),
        pytest.param("<div><pre>x = 1</pre><a href=u>Copy</a></div> ", id="buttons beside code"),
        pytest.param("<table><tr><td class=lineno>1<td><pre>x</pre></table> ", id="code with numbers of lines"),
        pytest.param("<table><tr><td><pre>x</pre></table> ", id="code in tables"),
        pytest.param("<h2>Pump</h2> ", id="headings"),
        pytest.param("<ul><li>one</ul> <ol><li>two</ol> ", id="lists"),
        pytest.param("word<br>", id="lines"),
        pytest.param("<dl><dt>one<dd>two</dl> ", id="definitions"),
    ],
)
@pytest.mark.parametrize("around", ["<body>{}</body>", "<div>{}</div>", "<main><div>{}</div></main>"])
def test_twice_as_many_things_in_an_element_are_twice_the_work(part: str, around: str) -> None:
    once, twice = (steps(around.format(f"<p>{WORDS * 3}</p>" + part * count)) for count in (150, 300))
    assert twice < 2.2 * once


@pytest.mark.usefixtures("_counted")
@pytest.mark.parametrize("part", ["<tr><td>one<td>two", "<tr><th>one<td>two", "<tr><td><pre>x</pre>"])
@pytest.mark.parametrize("around", ["<table>{}</table>", "<table><thead>{}</table>", "<table><tbody>{}</table>"])
def test_twice_as_many_rows_of_a_table_are_twice_the_work(part: str, around: str) -> None:
    once, twice = (steps(around.format(part * count)) for count in (150, 300))
    assert twice < 2.2 * once
