"""The page of an experiment: hostile names stay text, nothing is asked for, every figure is drawn."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from goldbench.records.experiment import (
    Difference,
    Experiment,
    FailedSystem,
    Latency,
    Measurable,
    PublishedRow,
    Timing,
    Timings,
)
from goldbench.records.scorecard import Scorecard
from goldbench.report.experiment_page import page
from goldbench.report.experiment_text import figures_markdown, leaderboard
from tests.report.hostile import SCRIPT, hostile_card
from tests.report.test_page_in_a_browser import BROWSER


def experiment() -> tuple[Experiment, Timings]:
    card: Scorecard = hostile_card()
    names = [system.system for system in card.systems]
    measure = card.measures[0]
    timing = Timing(
        index_s=1,
        index_embed_s=2,
        passages=30,
        queries=30,
        warm_up=3,
        whole=Latency(p50_ms=1.5, p95_ms=2),
        search=Latency(p50_ms=0.5, p95_ms=1),
        embed=Latency(p50_ms=1, p95_ms=1),
    )
    found = Experiment(
        compared=(measure,),
        depth=100,
        card=card,
        systems=[
            Measurable(system=name, settings={name: {"kind": SCRIPT}}, passages=30, run="runs/x.trec", run_sha256="0")
            for name in names
        ],
        failures=[FailedSystem(system=SCRIPT, problem=SCRIPT)],
        published=[PublishedRow(published=SCRIPT, beside=(names[0],), values={measure: 0.5})],
        differences=[
            Difference(
                published=SCRIPT, system=names[0], measure=measure, value=0.5, ours=0.6, difference=0.1, queries=3
            )
        ],
        notes=[SCRIPT],
        notice=SCRIPT,
    )
    slower = timing.model_copy(update={"whole": Latency(p50_ms=2, p95_ms=4)})
    return found, Timings(timings={**dict.fromkeys(names, timing), names[-1]: slower})


def test_no_name_becomes_part_of_the_page() -> None:
    text = page(*experiment())
    head, body = text.split("<main>", 1)
    assert SCRIPT not in body
    assert "default-src 'none'" in head
    assert page(*experiment()) == text


def test_markdown_shows_names_as_they_are() -> None:
    assert SCRIPT not in figures_markdown(experiment()[0])


@pytest.mark.slow
def test_it_is_drawn_without_asking_anybody(tmp_path: Path) -> None:
    if BROWSER is None and not os.environ.get("REQUIRE_BROWSER"):
        pytest.skip("no Chromium here; CHROMIUM_PATH says where one is")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    file = tmp_path / "page.html"
    found, timings = experiment()
    file.write_text(page(found, timings), encoding="utf-8")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox"] if os.geteuid() == 0 else [], chromium_sandbox=False
        )
        shown = browser.new_page(color_scheme="dark", viewport={"width": 360, "height": 800})
        asked: list[str] = []
        said: list[str] = []
        shown.on("request", lambda one: asked.append(one.url))
        shown.on("console", lambda one: said.append(one.text))
        shown.on("pageerror", lambda one: said.append(str(one)))
        shown.goto(file.as_uri())
        shown.wait_for_selector("#price .main-svg")
        cells = [cell.replace(" not beaten", "") for cell in shown.locator("#leaderboard td").all_inner_texts()]
        drawn = [shown.locator(f"#{name} .main-svg").count() > 0 for name in ("forest", "latency", "price")]
        shown.wait_for_function("document.documentElement.scrollWidth <= 360")  # figures follow a little later
        broken = shown.evaluate("window.broken")
        browser.close()
    assert (asked, said, broken) == ([file.as_uri()], [], None)
    assert drawn == [True, True, True]
    assert cells == [cell for row in leaderboard(found)[1:] for cell in row]
