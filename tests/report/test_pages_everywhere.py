"""Every page of a report in a real browser: any script and direction, light and dark, narrow, without barriers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goldbench.records.scorecard import GoldReference, HistoryEntry, RunCounts, Score
from goldbench.report import experiment_page, score_history
from goldbench.report.scorecard_page import page
from tests.report.hostile import QUERIES, SCRIPT, hostile_card, hostile_details
from tests.report.test_experiment_page import experiment
from tests.report.test_page_in_a_browser import BROWSER
from tests.report.world_set import ARABIC_PASSAGE, ARABIC_QUERY, ARABIC_SYSTEM, LONG, SYSTEMS, world_page

ORDER = """element => {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const found = [];
    for (let text = walker.nextNode(); text; text = walker.nextNode())
        for (let at = 0; at < text.length; at += 1) {
            const range = document.createRange();
            range.setStart(text, at); range.setEnd(text, at + 1);
            const box = range.getBoundingClientRect();
            if (box.width && text.data[at].trim()) found.push([Math.round(box.top), box.left, text.data[at]]);
        }
    found.sort((p, q) => Math.abs(p[0] - q[0]) > 8 ? p[0] - q[0] : p[1] - q[1]);
    return found.map(one => one[2]).join('');
}"""
"""The visible characters of an element from left to right, line by line."""

PLAIN = """([element, text]) => {
    const style = getComputedStyle(element);
    const plain = document.createElement('pre');
    plain.dir = 'auto';
    plain.textContent = text;
    plain.style.cssText = `font: ${style.font}; white-space: pre-wrap; overflow-wrap: anywhere; margin: 0;`
        + `position: absolute; top: 0; width: ${style.display === 'inline' ? 'max-content' : style.width}`;
    document.body.append(plain);
    return plain;
}"""


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    if BROWSER is None and not os.environ.get("REQUIRE_BROWSER"):
        pytest.skip("no Chromium here; CHROMIUM_PATH says where one is")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox"] if os.geteuid() == 0 else [], chromium_sandbox=False
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    found, timings = experiment()
    made = {
        "experiment": experiment_page.page(found, timings, hostile_details().behind),
        "history": score_history.page(history()),
    }
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {"scores": world_page(folder), **{name: folder / f"{name}.html" for name in made}}


@pytest.fixture(scope="module")
def shown(driver: Any, pages: dict[str, Path]) -> Any:
    """The page of scores, opened once."""
    return opened(driver, pages["scores"], viewport={"width": 1000, "height": 900})


def history() -> list[HistoryEntry]:
    counts = RunCounts(queries=6, missing=0, extra=0, no_relevant=0, tied=0, holes=0)
    return [
        HistoryEntry(
            at=f"2026-01-0{day}T00:00:00+00:00",
            goldbench="0",
            gold=GoldReference(name="مجموعة (gold)", sha256="0" * 64, queries=6),
            system=system,
            label=SCRIPT,
            run="runs/first.trec",
            page=["scores.html", None, "javascript:alert(1)"][day - 1],
            means={"ndcg@10": Score(mean=0.1 * day, low=0.05, high=0.5)},
            counts=counts,
            alerts=[f"{system}: ndcg@10 0.1000 is below 0.2000"],
        )
        for day in (1, 2, 3)
        for system in SYSTEMS
    ]


def opened(driver: Any, file: Path, link: str = "", **options: Any) -> Any:
    shown = driver.new_context(**options).new_page()
    shown.asked, shown.said = [], []
    shown.on("request", lambda one: shown.asked.append(one.url))
    shown.on("console", lambda one: shown.said.append(one.text))
    shown.on("pageerror", lambda one: shown.said.append(str(one)))
    shown.goto(file.as_uri() + link)
    shown.wait_for_selector("body[data-drawn]")
    return shown


def query(shown: Any, query_id: str) -> Any:
    """Open one query by its address."""
    shown.goto(shown.url.partition("#")[0] + f"#query={query_id}")
    details = shown.locator("#list > details[open]", has=shown.locator("summary", has_text=query_id))
    details.locator(".asked").wait_for()
    return details


def holds(shown: Any, field: str, value: str) -> None:
    """Wait until the page has followed a link that chooses a value."""
    shown.wait_for_function("([id, value]) => document.getElementById(id).value === value", arg=[field, value])


def read_as_plain(shown: Any, element: Any, text: str) -> tuple[str, str]:
    """Return the order in which the characters of an element stand, and that of the same text alone on a page."""
    handle = element.element_handle()
    plain = shown.evaluate_handle(PLAIN, [handle, text])
    orders = shown.evaluate(ORDER, handle), shown.evaluate(ORDER, plain)
    plain.evaluate("plain => plain.remove()")
    return orders


def test_right_to_left_text_stands_as_the_browser_shows_it_alone(shown: Any) -> None:
    details = query(shown, "ar-1")
    passage = details.locator(".passage").first
    assert passage.text_content() == ARABIC_PASSAGE
    for element, text in (
        (details.locator(".asked"), ARABIC_QUERY),
        (passage.locator("pre"), ARABIC_PASSAGE),
        (shown.locator("#leaderboard td bdi", has_text="BM25").first, ARABIC_SYSTEM),
        (shown.locator("#matrix th bdi", has_text="BM25").first, ARABIC_SYSTEM),
        (details.locator("summary bdi", has_text="BM25").first, ARABIC_SYSTEM),
    ):
        found, plain = read_as_plain(shown, element, text)
        assert found == plain
        assert found != "".join(text.split()), "the sample does not tell the directions apart"
    right = shown.evaluate("e => e.getBoundingClientRect().right", passage.element_handle())
    first = shown.evaluate(
        "e => { const r = document.createRange(); r.selectNodeContents(e); return r.getClientRects()[0].right; }",
        passage.locator("pre").element_handle(),
    )
    assert right - first < 40


def test_markdown_is_rendered_and_raw_on_demand_and_nothing_in_it_runs(shown: Any) -> None:
    passage = query(shown, "de-1").locator(".passage").first
    assert passage.locator("table td").all_inner_texts() == ["klein", "3 €", "groß", "5 €"]
    assert "**" not in passage.inner_text()
    assert "Größe" in passage.locator("mark").all_inner_texts()
    passage.locator("xpath=..").get_by_role("button", name="raw").click()
    assert "| **klein** | 3 € |" in passage.inner_text()
    html = query(shown, "de-2").locator("li .passage", has_text="script").first
    assert "<script>window.broken=1</script>" in html.text_content()
    assert shown.evaluate("window.broken") is None


def test_chinese_words_are_marked_and_a_long_passage_is_whole_on_demand(shown: Any) -> None:
    details = query(shown, "zh-1")
    assert "水泵" in details.locator(".passage mark").first.inner_text()
    assert "words of the query: " in details.locator("li .why").first.inner_text()
    long = details.locator("li", has=shown.locator("bdi", has_text="zh-long")).first
    assert len(long.locator(".passage").text_content()) == len(LONG)
    before = long.bounding_box()["height"]
    long.get_by_role("button", name="whole text").click()
    assert long.bounding_box()["height"] > 3 * before


def test_a_folded_passage_shows_its_evidence_however_far_down_it_stands(driver: Any, tmp_path: Path) -> None:
    quote, details = "The pump runs at noon.", hostile_details()
    passage = f"# Pumps\n\n{'Other words. ' * 90}\n\n## Hours\n\n{quote} And at night."
    behind = replace(details.behind, passages={**details.behind.passages, "d0": passage}, quotes={QUERIES[0]: quote})
    (tmp_path / "page.html").write_text(page(hostile_card(), replace(details, behind=behind)), encoding="utf-8")
    shown = opened(driver, tmp_path / "page.html", viewport={"width": 800, "height": 900})
    shown.locator("#list > details > summary").first.click()
    folded = shown.locator(".passage.clipped").first
    for _ in ("as it comes", "folded again"):
        shown.wait_for_function("box => box.scrollTop > 0", arg=folded.element_handle())
        box, mark = folded.bounding_box(), folded.locator("mark.evidence").first.bounding_box()
        assert box["y"] <= mark["y"] + 1
        assert mark["y"] + mark["height"] <= box["y"] + box["height"] + 1
        shown.get_by_role("button", name="whole text").first.dblclick()


def test_a_figure_leads_to_its_queries_and_a_query_to_its_results(shown: Any) -> None:
    shown.evaluate("location.hash = 'measure=ndcg%4010'")
    shown.locator("#leaderboard tr:has-text('dense') a").first.click()
    holds(shown, "sort", "first")
    assert "first=1" in shown.evaluate("location.hash")
    shown.locator(".bar a.first-wins").first.click()
    holds(shown, "which", "first-wins")
    won = shown.locator("#count").inner_text()
    assert won == f"{shown.locator('.bar a.first-wins span').first.inner_text()} of 6"
    assert won == "3 of 6"
    shown.locator("#cause-table tr:has-text('never found') td a").click()
    shown.locator("#chips button", has_text="never found").wait_for()
    assert shown.locator("#count").inner_text() == "3 of 6"
    shown.locator("#rank-table tr:has-text('not found') td a").click()
    shown.locator("#chips button", has_text="nothing relevant found").wait_for()
    assert shown.locator("#count").inner_text() == "3 of 6"
    shown.locator("#list > details > summary").first.click()
    shown.locator("#list > details[open] .asked").first.wait_for()
    text = shown.locator("#list > details[open]").first.inner_text()
    for told in ("--query ar-2", "no relevant passage was found", "Unjudged: nobody judged it", "score 10", "grade 1"):
        assert told in text
    shown.reload()
    assert shown.locator("#count").inner_text() == "3 of 6"
    shown.locator("#reset").click()
    assert shown.locator("#count").inner_text() == "6 of 6"


def test_what_changed_between_two_systems_is_told(shown: Any) -> None:
    columns = query(shown, "ar-2").locator(".columns > div")
    assert "not among the shown results of dense" in columns.nth(0).inner_text()
    assert f"rank 2 in {ARABIC_SYSTEM}" in columns.nth(1).inner_text()


@pytest.mark.slow
def test_a_point_of_the_history_opens_its_run(driver: Any, pages: dict[str, Path]) -> None:
    shown = opened(driver, pages["history"])
    click = "link => document.getElementById('figure-0').emit('plotly_click', {points: [{customdata: link}]})"
    links = shown.evaluate("document.getElementById('figure-0').data.flatMap(trace => trace.customdata ?? [])")
    assert sorted(set(links)) == ["entry-2", "entry-3", "page:./javascript%3Aalert%281%29", "page:./scores.html"]
    shown.evaluate(click, "entry-2")
    assert shown.locator("tr:target").get_attribute("id") == "entry-2"
    shown.evaluate(click, "page:./scores.html")
    shown.wait_for_url("**/scores.html")
    assert "Scores on" in shown.locator("h1").inner_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scores", "experiment", "history"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1100), ("dark", 360)])
def test_every_page_fits_asks_for_nothing_and_has_no_barrier(
    driver: Any, pages: dict[str, Path], name: str, scheme: str, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    shown = opened(driver, pages[name], color_scheme=scheme, viewport={"width": width, "height": 900})
    if name != "history":
        for number in range(2):
            shown.locator("#list > details > summary").nth(number).click()
    shown.evaluate("for (const one of document.querySelectorAll('main details:not(#list *)')) one.open = true")
    fits = "width => document.documentElement.scrollWidth <= width"
    shown.wait_for_function(fits, arg=width)  # figures follow the window a little later
    found = Axe().run(shown).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
    assert (shown.asked, shown.said, shown.evaluate("window.broken")) == ([pages[name].as_uri()], [], None)
