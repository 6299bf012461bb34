"""Every page of a report: self-contained, hostile texts stay text, and no barrier in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import html

from goldbench.report.experiment_text import figures_markdown
from goldbench.report.pages import experiment_page, history_page, scorecard_page
from tests.report.hostile import (
    ARABIC_SYSTEM,
    SCRIPT,
    SYSTEMS,
    hostile_card,
    hostile_details,
    hostile_experiment,
    hostile_history,
)
from tests.review.conftest import BROWSER, Person, browser, person

__all__ = ["BROWSER", "browser", "person"]  # fixtures, found by their names
NAMES = ("scores", "experiment", "history")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    experiment, timings = hostile_experiment()
    return {
        "scores": scorecard_page(hostile_card(), hostile_details()),
        "experiment": experiment_page(experiment, timings, command=f"goldbench open {SCRIPT}"),
        "history": history_page(hostile_history(), base="../<b>"),
    }


def tables(page: str) -> list[list[list[str]]]:
    found = html.fromstring(page).iter("table")
    return [[[cell.text_content() for cell in row] for row in table.iter("tr")] for table in found]


@pytest.mark.parametrize("name", NAMES)
def test_no_hostile_text_becomes_an_element_and_no_address_is_asked_for(pages: dict[str, str], name: str) -> None:
    tree = html.fromstring(pages[name])
    assert pages[name].count(SCRIPT) == 0
    assert SCRIPT in tree.text_content()
    assert tree.xpath("//img | //textarea | //script/@src | //iframe | //object | //link[@rel='stylesheet']") == []
    assert len(tree.xpath("//style")) == 1
    assert tree.xpath("//link/@href") == ["data:,"]
    assert "default-src 'none'" in tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    assert all(address.startswith("./") for address in tree.xpath("//a/@href"))


def test_a_history_links_to_pages_and_runs_beside_it(pages: dict[str, str]) -> None:
    addresses = set(html.fromstring(pages["history"]).xpath("//a/@href"))
    assert addresses == {
        "./../%3Cb%3E/scores.html",
        "./../%3Cb%3E/javascript%3Aalert%281%29",
        "./../%3Cb%3E/runs/first.trec",
    }


def test_markdown_shows_hostile_names_as_they_are() -> None:
    assert SCRIPT not in figures_markdown(hostile_experiment()[0])


@pytest.mark.parametrize(
    ("name", "scheme", "width"), [("scores", "dark", 360), ("experiment", "light", 1100), ("history", "dark", 360)]
)
def test_every_page_is_drawn_fits_asks_for_nothing_and_has_no_barrier(
    person: Callable[..., Person], pages: dict[str, str], tmp_path: Path, name: str, scheme: str, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    path = tmp_path / "page.html"
    path.write_text(pages[name], encoding="utf-8")
    someone = person(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = someone.page
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-drawn]")
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
    assert page.locator(".main-svg").count() > 0
    assert SYSTEMS[0] in page.locator(".plotly-graph-div").first.text_content()
    violations = Axe().run(page).response["violations"]
    assert [(violation["id"], violation["nodes"][0]["html"][:200]) for violation in violations] == []
    assert (someone.asked, page.evaluate("window.broken")) == ([path.as_uri()], None)
    if name == "history":
        cell = page.locator("td bdi", has_text="BM25").first
        assert cell.inner_text() == ARABIC_SYSTEM
        assert cell.evaluate("element => getComputedStyle(element).direction") == "rtl"
