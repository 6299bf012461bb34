"""Answers that reach the workbench late or in another order: they change neither where a person is nor what they do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from goldbench.formats.runs.trec import write_run
from tests.review.late_answers import Late
from tests.workbench.conftest import Site, Visitor, serving
from tests.workbench.workbench_set import write_workbench_set

Visitors = Callable[..., Visitor]

pytestmark = pytest.mark.slow


def row(someone: Visitor, passage: str) -> Any:
    return someone.page.locator(f".system li[data-id={passage}]").first


def grade(someone: Visitor, passage: str, value: int, note: str = "") -> None:
    """Click a grade of a passage, whether or not the server answers."""
    box = row(someone, passage).locator("details.judge")
    if box.get_attribute("open") is None:
        box.locator("summary").click()
    if note:
        box.locator("textarea").fill(note)
    box.locator(f"button[data-grade='{value}']").click()


def acts(site: Site) -> list[tuple[str, str | None, int | None]]:
    return [(event.kind.value, event.chunk_id, event.grade) for event in site.events()]


def test_who_went_on_to_another_query_stays_there_when_a_grade_is_saved(site: Site, visitor: Visitors) -> None:
    anna = visitor(f"{site.links['anna']}#query=q-de&first=vectors")
    late = Late(anna.page, "/api/event")
    grade(anna, "de3", 3)
    late.wait()
    anna.query("q-ar")
    late.let_go()
    anna.page.locator("#live", has_text="Grade 3 saved.").wait_for(state="attached")
    assert "q-ar" in anna.text("#detail p.quiet bdi")
    assert "query=q-ar" in anna.page.evaluate("location.hash")
    anna.page.locator("#list a[data-query=q-de]", has_text="judged by people").wait_for()


def test_what_is_written_while_a_grade_is_saved_stays_with_the_keyboard(site: Site, visitor: Visitors) -> None:
    anna = visitor(f"{site.links['anna']}#query=q-de&first=vectors")
    late = Late(anna.page, "/api/event")
    grade(anna, "de3", 3, "sent with the grade")
    late.wait()
    anna.page.locator("#actions summary").click()
    anna.page.locator("#actions select").first.select_option("too_broad")
    row(anna, "de2").locator("details.judge summary").click()
    row(anna, "de2").locator("textarea").click()
    anna.page.keyboard.type("half ")
    late.let_go()
    anna.page.locator("#live", has_text="Grade 3 saved.").wait_for(state="attached")
    anna.page.keyboard.type("written")
    assert row(anna, "de2").locator("textarea").input_value() == "half written"
    assert row(anna, "de3").locator("textarea").input_value() == ""
    assert anna.page.locator("#actions select").first.input_value() == "too_broad"


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


def test_an_older_list_does_not_replace_a_newer_one(site: Site, visitor: Visitors) -> None:
    anna = visitor(f"{site.links['anna']}#query=q-de&first=vectors")
    late = Late(anna.page, "/api/list", first=1)
    grade(anna, "de3", 3)
    late.wait()
    anna.page.locator("#actions summary").click()
    anna.page.locator("#reject").click()
    newest = anna.page.locator("#list a[data-query=q-de]", has_text="rejected")
    newest.wait_for()
    late.let_go()
    assert newest.count() == 1


def test_a_passage_is_unfolded_once_and_further_results_come_once_and_all(tmp_path: Path, visitor: Visitors) -> None:
    gold = write_workbench_set(tmp_path / "set")
    ranked = ["de1", "de3", "de2", "zh1", *(f"other{number}" for number in range(90))]
    write_run(gold / "runs" / "long.trec", {"q-de": {one: 99.0 - at for at, one in enumerate(ranked)}}, tag="long")
    with serving(gold) as site:
        anna = visitor(f"{site.links['anna']}#query=q-de&first=long&second=long")
        late = Late(anna.page, "/api/passage")
        for _ in range(3):
            row(anna, "de3").locator("details.whole > summary").click()
        late.wait(2)
        late.let_go()
        row(anna, "de3").locator(".opened").first.wait_for()
        late = Late(anna.page, "/api/results")
        more = anna.page.get_by_role("button", name="More results")
        more.dblclick()
        late.wait(2)
        late.let_go()
        anna.page.locator(".system li[data-id=other50]").wait_for()
        more.click()
        anna.page.locator(".system li[data-id=other89]").wait_for()
        shown = "all => all.map(one => one.dataset.id)"
        assert anna.page.eval_on_selector_all(".system ol.results > li", shown) == ranked
        assert not more.is_visible()
        assert row(anna, "de3").locator(".opened").count() == 1


def test_the_answer_to_an_earlier_question_leaves_the_alarm_of_a_later_one(site: Site, visitor: Visitors) -> None:
    anna = visitor(f"{site.links['anna']}#query=q-de&first=vectors")
    late = Late(anna.page, "/api/matches")
    anna.page.locator("#find").fill("Dichtung prüfen")
    late.wait()
    anna.page.route(re.compile("/api/event"), lambda route: route.fulfill(status=409, json={"error": "Not now"}))
    grade(anna, "de3", 3)
    anna.page.locator("#alarm", has_text="Not now").wait_for()
    late.let_go()
    anna.page.wait_for_function("() => document.querySelectorAll('#list a').length === 1")
    assert anna.page.locator("#alarm").is_visible()
    anna.said.clear()  # the browser reports the refused act


def test_a_query_on_its_way_is_left_by_escape_and_by_no_answer_to_a_look(site: Site, visitor: Visitors) -> None:
    anna = visitor(site.links["anna"])
    late = Late(anna.page, "/api/query")
    anna.page.keyboard.press("j")
    late.wait()
    anna.page.keyboard.press("Escape")
    assert "query" not in anna.page.evaluate("location.hash")
    late.let_go()
    anna.query("q-de")
    anna.page.unroute_all()
    late = Late(anna.page, "/api/query", first=1)
    anna.page.evaluate("() => { data.read = -1; look() }")  # as after a change of the set
    late.wait()
    anna.query("q-ar")
    late.let_go()
    assert "q-ar" in anna.text("#detail p.quiet bdi")


def test_a_choice_in_focus_shows_what_holds_after_the_list_came_again(quiet_site: Site, visitor: Visitors) -> None:
    anna = visitor(quiet_site.links["anna"])
    anna.page.locator("#show").focus()
    anna.page.locator("#show").select_option("fails")
    anna.page.evaluate("load()")
    assert anna.page.locator("#show").input_value() == "fails"
