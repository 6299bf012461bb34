"""The page of a scorecard in a real browser, from the disk, without a network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from goldbench.report.scorecard_page import page
from goldbench.report.scorecard_text import leaderboard_rows
from tests.report.hostile import SCRIPT, SYSTEMS, hostile_card, hostile_details

BROWSER = os.environ.get("CHROMIUM_PATH") or shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page(hostile_card(), hostile_details()), encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=["light", "dark"])
def shown(request: pytest.FixtureRequest, file: Path) -> Iterator[Any]:
    """The page as it is after its scripts, with what it asked for and complained about."""
    if BROWSER is None and not os.environ.get("REQUIRE_BROWSER"):
        pytest.skip("no Chromium here; CHROMIUM_PATH says where one is")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox"] if os.geteuid() == 0 else [], chromium_sandbox=False
        )
        opened = browser.new_page(color_scheme=request.param, viewport={"width": 1000, "height": 900})
        opened.asked, opened.said = [], []
        opened.on("request", lambda one: opened.asked.append(one.url))
        opened.on("console", lambda one: opened.said.append(one.text))
        opened.on("pageerror", lambda one: opened.said.append(str(one)))
        opened.goto(file.as_uri())
        opened.wait_for_selector("body[data-drawn]")
        opened.wait_for_selector("#scatter .main-svg")
        opened.loaded = ([*opened.asked], [*opened.said])
        yield opened
        browser.close()


def test_it_asks_for_nothing_and_complains_of_nothing(shown: Any, file: Path) -> None:
    assert shown.loaded == ([file.as_uri()], [])


def test_no_planted_script_runs(shown: Any) -> None:
    for number in range(6):
        shown.locator("#list > details > summary").nth(number).click()
    assert shown.evaluate("window.broken") is None
    assert shown.locator("#list img").count() == 0
    assert SCRIPT in shown.locator("#list").inner_text()


def test_every_figure_is_drawn(shown: Any) -> None:
    for name in ("forest", "curve-0", "deltas", "scatter"):
        assert shown.locator(f"#{name} .main-svg").count() > 0, name


def test_names_in_figures_are_what_they_are(shown: Any) -> None:
    assert SYSTEMS[0] in shown.locator("#forest").text_content()


def test_the_leaderboard_reads_as_the_scorecard(shown: Any) -> None:
    cells = shown.locator("#leaderboard td").all_inner_texts()
    expected = [cell for row in list(leaderboard_rows(hostile_card()))[1:] for cell in row]
    assert [cell.replace(" not beaten", "") for cell in cells] == expected


def test_filters_choose_queries_and_stand_in_the_address(shown: Any) -> None:
    shown.select_option("#which", "both-fail")
    assert shown.locator("#count").inner_text() == "5 of 30"
    shown.fill("#find", "q14")
    assert shown.locator("#count").inner_text() == "1 of 30"
    address = shown.evaluate("location.hash")
    assert "which=both-fail" in address
    assert "find=q14" in address
    shown.reload()
    assert shown.locator("#count").inner_text() == "1 of 30"
    shown.select_option("#which", "all")
    shown.fill("#find", "")


def test_an_opened_query_shows_grades_and_what_is_unjudged(shown: Any) -> None:
    shown.fill("#find", "q07")
    shown.locator("#list > details > summary").first.click()
    opened = shown.locator("#list > details[open]", has_text="unjudged").first
    opened.wait_for()
    text = opened.inner_text()
    assert "unjudged" in text
    assert "grade 3" in text
    shown.fill("#find", "")


def test_it_fits_a_narrow_screen(shown: Any) -> None:
    shown.set_viewport_size({"width": 360, "height": 800})
    shown.wait_for_function("document.documentElement.scrollWidth <= 360")  # figures follow the window a little later
    shown.set_viewport_size({"width": 1000, "height": 900})
