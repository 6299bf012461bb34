"""The workbench in a real browser: filters, address, lists side by side, judging, right-to-left and hostile text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from goldbench.formats.runs.trec import write_run
from goldbench.review.apply import apply_review
from goldbench.review.state import fold
from tests.review.late_answers import Late
from tests.workbench.conftest import Site, Visitor, serving
from tests.workbench.test_acts import act, judged
from tests.workbench.workbench_set import ARABIC, QUERIES, WORDS, write_workbench_set

Visitors = Callable[..., Visitor]

SCREENS = [
    {"viewport": {"width": 360, "height": 740}},
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
@pytest.mark.parametrize("options", SCREENS, ids=["360", "wide-dark"])
def test_every_screen_fits_and_has_no_barrier(quiet_site: Site, visitor: Visitors, options: dict[str, Any]) -> None:
    from axe_playwright_python.sync_playwright import Axe

    anna = visitor(**options)
    anna.page.context.add_init_script("Object.defineProperty(window, 'axeOnly', {value: true})")
    anna.open(f"{quiet_site.links['anna']}#first=vectors&second=words")
    for query_id in ("", "q-de", "q-x", "rejected 1"):
        if query_id:
            anna.page.evaluate("query => { location.hash = new URLSearchParams({query, first: 'vectors'}) }", query_id)
            anna.page.locator("#detail p.quiet bdi", has_text=query_id).first.wait_for()
            open_all(anna)
        wide = anna.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide[0] <= wide[1], query_id
        found = Axe().run(anna.page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == [], query_id


def test_hostile_text_runs_nothing_and_loads_nothing(quiet_site: Site, visitor: Visitors) -> None:
    anna = visitor(f"{quiet_site.links['anna']}#query=q-x&first=words")
    assert "<script>window.broken = 1</script>" in anna.text("#asks")
    assert "onerror" in anna.text("#detail .passage")
    open_all(anna)
    assert anna.page.evaluate("window.broken") is None
    assert anna.page.locator("#detail img, #detail script, #detail a[href^=javascript]").count() == 0
    assert "<b>for tests</b>" in anna.text("#warnings")


def row(someone: Visitor, passage: str) -> Any:
    return someone.page.locator(f".system li[data-id={passage}]").first


def grade(someone: Visitor, passage: str, value: int) -> None:
    """Click a grade of a passage, whether or not the server answers."""
    box = row(someone, passage).locator("details.judge")
    if box.get_attribute("open") is None:
        box.locator("summary").click()
    box.locator(f"button[data-grade='{value}']").click()


def acts(site: Site) -> list[tuple[str, str | None, int | None]]:
    return [(event.kind.value, event.chunk_id, event.grade) for event in site.events()]


@pytest.mark.slow
def test_two_clicks_are_one_act_and_acts_are_stored_in_their_order(site: Site, visitor: Visitors) -> None:
    anna = visitor(f"{site.links['anna']}#query=q-de&first=vectors")
    late = Late(anna.page, "/api/event")
    grade(anna, "de3", 3)
    grade(anna, "de3", 3)
    grade(anna, "de3", 1)
    grade(anna, "de2", 2)
    late.wait()
    assert acts(site) == [("judge", "de3", 3)], "the second waits for the first"
    late.let_go()
    anna.page.locator("#live", has_text="Grade 2 saved.").wait_for(state="attached")
    assert acts(site) == [("judge", "de3", 3), ("judge", "de3", 1), ("judge", "de2", 2)]
    assert ["grade 1" in row(anna, "de3").inner_text(), "grade 2" in row(anna, "de2").inner_text()] == [True, True]
    late = Late(anna.page, "/api/event")
    undo = row(anna, "de3").locator("button", has_text="Undo my grade")
    undo.dblclick()
    late.wait()
    late.let_go()
    anna.page.locator("#live", has_text="Grade taken back.").wait_for(state="attached")
    assert [kind for kind, *_ in acts(site)] == ["judge", "judge", "judge", "undo"]


@pytest.mark.slow
def test_a_link_of_another_set_is_told_and_strangers_stay_outside(tmp_path: Path, visitor: Visitors) -> None:
    page = tmp_path / "page.html"
    with serving(write_workbench_set(tmp_path / "set")) as site:
        link = f"<a id=on href='{site.base}#set=other&query=q-ar&passage=ar2'>on</a>"
        page.write_text(f"<!doctype html><link rel=icon href='data:,'>{link}", encoding="utf-8")
        anna, stranger = visitor(site.links["anna"]), visitor()
        for one in (anna, stranger):
            one.page.goto(page.as_uri())
            one.page.locator("#on").click()
        anna.page.locator("#warnings p", has_text="about the set other; this page shows set").wait_for()
        anna.page.locator("[data-id=ar2] details.judge[open]").wait_for()
        stranger.page.locator("h1", has_text="Open this page with your link").wait_for()
        stranger.said.clear()  # the browser reports that the page is closed


@pytest.mark.slow
def test_an_open_page_follows_its_set_and_keeps_what_is_being_written(site: Site, visitor: Visitors) -> None:
    anna = visitor(f"{site.links['anna']}#query=q-de&first=vectors")
    client = site.client()
    judged(client, "de3", 3)
    anna.page.locator("#actions summary").click()
    anna.page.locator("#actions textarea").fill("Halb geschrieben")
    apply_review(site.folder, ledger=None)
    anna.page.locator("#renewed", has_text="The set was changed and read again at").wait_for()
    assert anna.page.locator("#actions textarea").input_value() == "Halb geschrieben"
    assert not anna.page.locator("#pending").is_visible()
    anna.page.locator("#actions textarea").fill("")
    anna.page.evaluate(
        "document.querySelector('#actions textarea').value = document.querySelector('#asks').textContent"
    )
    write_run(site.folder / "runs" / "third.trec", WORDS, tag="third")
    anna.page.locator("#figures tr", has_text="third").wait_for()
    act(client, 1, kind="edit_query", text="Welcher Wasserdruck gilt am Ventil?")
    apply_review(site.folder, ledger=None)
    anna.page.locator("#detail", has_text="Choose a query.").wait_for()  # the query has another id now
