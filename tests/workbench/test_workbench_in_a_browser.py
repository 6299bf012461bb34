"""The workbench in a real browser: filters, address, lists side by side, judging, right-to-left and hostile text."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Route

from goldbench.review.state import fold
from tests.workbench.conftest import Site, Visitor, serving, wanted
from tests.workbench.workbench_set import ARABIC, QUERIES, write_workbench_set

Visitors = Callable[..., Visitor]

SCREENS = [
    {"viewport": {"width": 360, "height": 740}},
    {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"},
    {"viewport": {"width": 1280, "height": 900}},
    {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
]


def listed(visitor: Visitor) -> list[str]:
    found: list[str] = visitor.page.eval_on_selector_all("#list a", "all => all.map(one => one.dataset.query)")
    return found


def choose(visitor: Visitor, field: str, value: str) -> None:
    visitor.page.locator(f"#{field}").select_option(value)


def open_all(visitor: Visitor) -> None:
    """Open whatever is folded in the query, and wait for the texts that come."""
    visitor.page.evaluate("document.querySelectorAll('#detail details').forEach(one => { one.open = true })")
    visitor.page.wait_for_function(
        "() => [...document.querySelectorAll('#detail details.whole')].every(one => one.querySelector('.opened'))"
    )


@pytest.mark.slow
def test_the_list_is_filtered_sorted_and_searched_and_the_address_keeps_it(quiet_site: Site, visitor: Visitors) -> None:
    anna = visitor(quiet_site.links["anna"])
    assert listed(anna) == [*QUERIES, "rejected 1", "grading q-dropped"]
    choose(anna, "first", "vectors")
    choose(anna, "show", "fails")
    assert listed(anna) == ["q-de", "q-zh", "q-x"]
    choose(anna, "sort", "behind")
    assert listed(anna)[-1] == "q-x"
    anna.page.locator("#filters-box summary").click()
    choose(anna, "cause", "no-results")
    assert listed(anna) == ["q-zh"]
    address = anna.page.evaluate("location.hash")
    assert "cause=no-results" in address
    anna.page.reload()
    anna.page.locator("body[data-ready]").wait_for()
    assert listed(anna) == ["q-zh"]
    assert anna.page.locator("#filters-box").get_attribute("open") is not None
    anna.page.locator("#clear").click()
    choose(anna, "where", "check")
    assert listed(anna) == ["rejected 1"]
    anna.page.locator("#clear").click()
    anna.page.locator("#find").fill("Dichtung prüfen")
    anna.page.wait_for_function("() => document.querySelectorAll('#list a').length === 1")
    assert listed(anna) == ["q-de"]  # the words stand in its passage


@pytest.mark.slow
def test_a_count_of_failures_leads_to_a_passage_in_three_clicks(quiet_site: Site, visitor: Visitors) -> None:
    anna = visitor(quiet_site.links["anna"])
    anna.page.locator("#causes button", has_text="1").first.click()
    anna.page.locator("#list a").first.click()
    anna.page.locator("#detail .passage").first.wait_for()


def test_a_figure_of_a_system_leads_to_its_worst_queries_and_their_passages(
    quiet_site: Site, visitor: Visitors
) -> None:
    anna = visitor(quiet_site.links["anna"])
    row = anna.page.locator("#figures tbody tr", has_text="vectors")
    row.locator("td button").first.click()
    state = anna.page.evaluate("Object.fromEntries(new URLSearchParams(location.hash.slice(1)))")
    assert (state["first"], state["sort"]) == ("vectors", "worst")
    anna.page.locator("#list a").first.click()
    anna.page.locator("#detail .passage").first.wait_for()


@pytest.mark.slow
def test_an_address_opens_its_query_and_going_back_closes_it(quiet_site: Site, visitor: Visitors) -> None:
    anna = visitor(f"{quiet_site.links['anna']}#query=q-ar&first=vectors")
    assert anna.text("#asks") == ARABIC
    anna.query("q-zh")
    anna.page.go_back()
    anna.page.wait_for_function(f"() => document.getElementById('asks').textContent === {ARABIC!r}")
    assert "query=q-ar" in anna.page.evaluate("location.hash")


@pytest.mark.slow
def test_an_unknown_query_in_the_address_is_told_and_the_list_stays(quiet_site: Site, visitor: Visitors) -> None:
    anna = visitor()
    anna.page.goto(f"{quiet_site.links['anna']}#query=q-none")
    anna.page.locator("#alarm", has_text="unknown query").wait_for()
    assert len(listed(anna)) == 6
    anna.said.clear()  # the browser reports the refused request


@pytest.mark.slow
def test_two_lists_stand_side_by_side_with_what_moved(quiet_site: Site, visitor: Visitors) -> None:
    anna = visitor(f"{quiet_site.links['anna']}#query=q-de&first=words&second=vectors")
    first = anna.page.locator(".system").first
    assert first.locator("h4").inner_text() == "words"
    assert "4 ranks above vectors (rank 5)" in first.locator("li[data-id=de1]").inner_text()
    assert "1 rank below vectors (rank 1)" in first.locator("li[data-id=de3]").inner_text()
    second = anna.page.locator(".system").nth(1)
    assert "not in words" in second.locator("li[data-id=en2]").inner_text()
    assert "shared words: ventil, wasserdruck" in second.locator("li[data-id=de3]").inner_text()
    assert "Why it fails: the first relevant passage is ranked just below 3." in second.inner_text()


@pytest.mark.slow
def test_a_passage_is_opened_whole_with_words_marked_and_its_raw_text_is_a_key_away(
    quiet_site: Site, visitor: Visitors
) -> None:
    anna = visitor(f"{quiet_site.links['anna']}#query=q-de&first=words")
    row = anna.page.locator(".system li[data-id=de1]").first
    row.locator("details.whole summary").click()
    row.locator(".passage table").wait_for()
    assert "**" not in row.locator(".passage").inner_text()
    marked = row.locator(".passage mark.evidence")
    assert marked.all_inner_texts() == ["Der ", "Wasserdruck", " am Ventil beträgt 3 bar."]
    assert "Ventil" in row.locator(".passage mark.word").all_inner_texts()
    row.locator("button", has_text="Raw text").click()
    assert "| MV-20 | 3 bar |" in row.locator(".passage").inner_text()
    assert marked.all_inner_texts() == ["Der **Wasserdruck** am Ventil beträgt 3 bar."]


def test_a_passage_is_judged_and_the_figures_change(site: Site, visitor: Visitors) -> None:
    anna = visitor(f"{site.links['anna']}#query=q-de&first=vectors")
    before = anna.text(".system .number")
    row = anna.page.locator(".system li[data-id=de3]").first
    row.locator("details.judge summary").click()
    row.locator("textarea").fill("<b>states</b> it, too")
    row.locator("button[data-grade='3']").click()
    anna.page.locator("#live", has_text="Grade 3 saved.").wait_for()
    anna.page.locator(".system li[data-id=de3] .badge.relevant").first.wait_for()
    assert anna.text(".system .number") != before
    assert "<b>states</b> it, too" in anna.text("#detail")
    anna.page.locator("#pending").wait_for()
    (review,) = fold(site.events()).reviews()
    assert (review.query_id, review.chunk_id, review.grade, review.note) == ("q-de", "de3", 3, "<b>states</b> it, too")


@pytest.mark.slow
def test_a_query_is_edited_rejected_and_sent_to_review(site: Site, visitor: Visitors) -> None:
    anna = visitor(f"{site.links['anna']}#query=q-de")
    for name, said, done in (
        ("save-wording", "Edited by anna", "New wording saved."),
        ("reject", "Rejected by anna", "Query rejected."),
        ("send", "Rejected by anna", "Sent to review."),
    ):
        if anna.page.locator("#actions").get_attribute("open") is None:
            anna.page.locator("#actions summary").click()
        if name == "save-wording":
            anna.page.locator("#actions textarea").fill("Welcher Druck gilt?")
        anna.page.locator(f"#{name}").click()
        anna.page.locator("#live", has_text=done).wait_for(state="attached")
        assert anna.page.locator("#detail p", has_text=said).count() > 0
    assert [event.kind for event in site.events()] == ["edit_query", "reject_query", "bad_query"]
    anna.page.locator("#list a[data-query=q-de]", has_text="rejected").wait_for()


@pytest.mark.slow
def test_keys_go_from_query_to_query_but_not_while_typing(quiet_site: Site, visitor: Visitors) -> None:
    anna = visitor(f"{quiet_site.links['anna']}#query=q-de")
    anna.page.keyboard.press("j")
    anna.page.wait_for_function("() => location.hash.includes('q-ar')")
    anna.page.keyboard.press("k")
    anna.page.wait_for_function("() => location.hash.includes('q-de')")
    anna.page.keyboard.press("/")
    anna.page.keyboard.type("jk")
    assert anna.page.locator("#find").input_value() == "jk"
    assert "query=q-de" in anna.page.evaluate("location.hash")
    anna.page.keyboard.press("Escape")
    anna.page.keyboard.press("Escape")
    anna.page.wait_for_function("() => !location.hash.includes('q-de')")


@pytest.mark.slow
def test_a_query_that_arrives_late_leaves_the_keyboard_to_whoever_types(quiet_site: Site, visitor: Visitors) -> None:
    anna = visitor(f"{quiet_site.links['anna']}#query=q-de")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    anna.page.route(re.compile("/api/query"), hold)
    with anna.page.expect_request(re.compile("/api/query")):
        anna.page.keyboard.press("j")
    anna.page.keyboard.press("/")
    anna.page.keyboard.type("j")
    for route in held:
        route.continue_()
    anna.page.locator("#detail", has_text="q-ar").wait_for()
    anna.page.keyboard.type("k")
    assert anna.page.locator("#find").input_value() == "jk"


PLAIN = """text => document.getElementById('asks').after(
    Object.assign(document.createElement('h2'), {dir: 'rtl', id: 'plain', textContent: text}))"""
ORDER = """selector => { // the places of the letters, as the browser lays them out
    const box = document.querySelector(selector), range = document.createRange(), places = [];
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode())
        for (let i = 0; i < node.data.length; i++) {
            range.setStart(node, i); range.setEnd(node, i + 1);
            const spot = range.getBoundingClientRect();
            if (node.data[i].trim()) places.push([node.data[i], Math.round(spot.top), spot.left]);
        }
    return places.sort((a, b) => a[1] - b[1] || a[2] - b[2]).map(one => one[0]).join('');
}"""


def test_arabic_stands_as_the_browser_lays_out_plain_arabic(quiet_site: Site, visitor: Visitors) -> None:
    anna = visitor(f"{quiet_site.links['anna']}#query=q-ar")
    anna.page.evaluate(PLAIN, ARABIC)
    assert anna.page.evaluate(ORDER, "#asks") == anna.page.evaluate(ORDER, "#plain")
    for selector in ("#asks", "#detail .passage p", "#list a[data-query=q-ar] .asked"):
        assert anna.page.evaluate("s => getComputedStyle(document.querySelector(s)).direction", selector) == "rtl", (
            selector
        )
    anna.query("q-de")
    assert anna.page.evaluate("getComputedStyle(document.querySelector('#asks')).direction") == "ltr"


@pytest.mark.slow
def test_names_and_ids_within_sentences_are_isolated(quiet_site: Site, visitor: Visitors) -> None:
    anna = visitor(f"{quiet_site.links['anna']}#query=q-ar")
    loose = anna.page.evaluate(
        "() => [...document.querySelectorAll('.path, .line, .judgments > li')].filter(one => [...one.childNodes]"
        ".some(part => part.nodeType === 3 && /ar1|ar2|Heft|judge-model/.test(part.data))).length"
    )
    assert loose == 0


@pytest.mark.slow
@pytest.mark.parametrize("options", SCREENS, ids=["360", "360-dark", "wide", "wide-dark"])
def test_every_screen_fits_and_has_no_barrier(quiet_site: Site, visitor: Visitors, options: dict[str, Any]) -> None:
    from axe_playwright_python.sync_playwright import Axe

    anna = visitor(**options)
    anna.page.context.add_init_script("Object.defineProperty(window, 'axeOnly', {value: true})")
    anna.open(f"{quiet_site.links['anna']}#first=vectors&second=words")
    for query_id in ("", *QUERIES, "rejected 1"):
        if query_id:
            anna.page.evaluate("query => { location.hash = new URLSearchParams({query, first: 'vectors'}) }", query_id)
            anna.page.locator("#detail p.quiet bdi", has_text=query_id).first.wait_for()
            open_all(anna)
        wide = anna.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide[0] <= wide[1], query_id
        found = Axe().run(anna.page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == [], query_id


def test_no_figure_is_broken_into_two_lines_on_a_small_screen(tmp_path: Path, visitor: Visitors) -> None:
    folder = write_workbench_set(tmp_path / "set")
    asked = wanted(folder, measures=("ndcg@3", "r@3", "mrr@3", "p@3", "hit@3", "map@3"))
    with serving(folder, asked=asked) as site:
        anna = visitor(site.links["anna"], viewport={"width": 360, "height": 740})
        broken = anna.page.evaluate(
            "() => [...document.querySelectorAll('#figures td')].filter(one => {"
            "const text = document.createRange(); text.selectNodeContents(one.querySelector('button') || one);"
            "return text.getClientRects().length > 1 }).map(one => one.textContent)"
        )
        assert broken == []
        assert anna.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [1280, 360])
def test_no_choice_is_cut_in_its_box(quiet_site: Site, visitor: Visitors, width: int) -> None:
    anna = visitor(quiet_site.links["anna"], viewport={"width": width, "height": 900})
    cut = anna.page.evaluate(
        "() => [...document.querySelectorAll('#filters select')].flatMap(box => [...box.options].filter(one => {"
        "const tool = document.createElement('canvas').getContext('2d'); tool.font = getComputedStyle(box).font;"
        "return tool.measureText(one.text).width + 36 > box.clientWidth }).map(one => one.text))"
    )
    assert cut == []


def test_an_arabic_passage_that_begins_with_latin_letters_runs_from_right_to_left(
    quiet_site: Site, visitor: Visitors
) -> None:
    anna = visitor(f"{quiet_site.links['anna']}#query=q-ar")
    shown = anna.page.evaluate(
        "text => { const box = document.createElement('div'); placeRaw(box, text); const raw = box.firstChild.dir;"
        "placePassage(box, `<p dir=auto>${text}</p>`); return [raw, box.firstChild.dir, said(text).dir] }",
        f"Super_Bowl_50 {ARABIC}",
    )
    assert shown == ["rtl", "rtl", "rtl"]


def test_hostile_text_runs_nothing_and_loads_nothing(quiet_site: Site, visitor: Visitors) -> None:
    anna = visitor(f"{quiet_site.links['anna']}#query=q-x&first=words")
    assert "<script>window.broken = 1</script>" in anna.text("#asks")
    assert "onerror" in anna.text("#detail .passage")
    open_all(anna)
    assert anna.page.evaluate("window.broken") is None
    assert anna.page.locator("#detail img, #detail script, #detail a[href^=javascript]").count() == 0
    assert "<b>for tests</b>" in anna.text("#warnings")
