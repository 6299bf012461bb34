"""The page in a real browser: keys, undo, blindness, hostile texts. Every test also asks for nothing outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from goldbench.review.state import fold
from tests.review.conftest import Person, Site, only
from tests.review.review_set import JUDGE, RATIONALE, SCRIPT, SYSTEM, judge_grades

Sites = Callable[..., Site]
People = Callable[..., Person]


@pytest.mark.slow
def test_undo_goes_back_as_far_as_one_likes_and_redo_forward_also_after_a_reload(site: Sites, person: People) -> None:
    served = site(queries=2, passages=4)
    anna = person(served.links["anna"])
    seen = []
    for _ in range(5):
        seen.append(anna.pair)
        anna.press("3")
    for pair in reversed(seen):
        anna.press("u")
        assert anna.pair == pair
    anna.press("Shift+U")
    anna.saved()
    assert len(fold(served.events()).reviews()) == 1
    anna.press("2")
    anna.saved()
    anna.page.reload()
    anna.wait_for_passage(None)
    assert anna.pair == seen[2]
    for pair in (seen[1], seen[0]):
        anna.press("Control+z")
        assert anna.pair == pair
    anna.saved()
    assert fold(served.events()).reviews() == []
    anna.press("Control+Shift+z", moves=False)
    anna.page.wait_for_function("() => document.getElementById('live').textContent === 'Redone.'")
    assert [review.grade for review in fold(anna and served.events()).reviews()] == [3]


def test_nothing_of_the_judge_is_in_any_answer_before_the_judgment(site: Sites, person: People) -> None:
    served = site(queries=2, passages=4, queue=only("B"))
    bodies: list[str] = []
    anna = person()

    def keep(route: Any) -> None:
        answer = route.fetch(max_redirects=0)
        bodies.append(answer.url + answer.text())
        route.fulfill(response=answer)

    anna.page.route("**/*", keep)
    anna.open(served.links["anna"])
    anna.press("g", moves=False)
    anna.page.locator("#overview[open]").wait_for()
    anna.press("Escape", moves=False)
    anna.press("c", moves=False)
    anna.page.locator("[data-act=context][aria-pressed=true]").wait_for()
    for path in ("/api/session", "/api/next", "/api/query", "/api/context"):
        assert [body for body in bodies if path in body.partition("{")[0]], path
    for word in (
        JUDGE,
        SYSTEM,
        RATIONALE,
        'revealed":',
        "rank",
        "origin",
        "assessor",
        "inclusion",
        "stratum",
        "q000",
        "c000",
    ):
        assert not [body for body in bodies if word in body and "/static/" not in body], word
    first = served.queue[0]
    anna.press("0")
    anna.saved()
    told = anna.text("revealed")
    assert f"you said 0, the judge said {judge_grades(served.folder)[first.pair]}" in told
    later = [body for body in bodies if '"revealed":' in body]
    assert len(later) == 1
    assert JUDGE not in later[0]
    assert RATIONALE not in later[0]


def test_a_double_press_and_a_key_held_down_store_once(site: Sites, person: People) -> None:
    served = site(queries=2, passages=4)
    anna = person(served.links["anna"])
    before = anna.pair
    anna.page.evaluate(
        "() => { for (const key of ['2', '2'])"
        " document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})) }"
    )
    anna.wait_for_passage(before)
    assert len(anna.saved() and served.events()) == 1
    before = anna.pair
    for _ in range(5):  # what Chromium sends while a key is held: the first is no repetition, the others are
        anna.page.keyboard.down("1")
    anna.wait_for_passage(before)
    anna.page.wait_for_timeout(150)
    anna.page.keyboard.up("1")
    assert [event.grade for event in (anna.saved() and served.events())] == [2, 1]


TURNS = [
    {"question": f"Which machine is the oldest? {SCRIPT}", "answer": "Machine 0, of 1900."},
    {"question": "Who built it?"},
]


def test_a_conversation_is_shown_turn_by_turn_and_the_stand_alone_form_is_what_is_judged(
    site: Sites, person: People
) -> None:
    members = {"history": {"q000": TURNS}, "standalone": {"q000": f"Who repaired machine 0? {SCRIPT}"}}
    served = site(queries=2, passages=1, members=members)
    anna = person(served.links["anna"])
    shown = []
    for _ in range(2):
        talk = anna.page.locator("#talk")
        shown.append((anna.text("asks"), talk.is_visible(), anna.page.locator("#turns li").all_inner_texts()))
        anna.press("2")
    assert sorted(shown) == [
        ("How does machine 1 turn its wheel?", False, []),
        (
            f"Who repaired machine 0? {SCRIPT}",
            True,
            [
                f"Person: Which machine is the oldest? {SCRIPT}",
                "Assistant: Machine 0, of 1900.",
                "Person: Who built it?",
                "Person: How does machine 0 turn its wheel?",
            ],
        ),
    ]
    assert anna.page.evaluate("window.broken") is None
    assert anna.page.locator("main img, main script").count() == 0
    assert "Nothing is left to judge" in anna.text("asks")
    assert not anna.page.locator("#talk, #hint").filter(visible=True).count()
    anna.saved()
    assert {event.query_id: event.grade for event in served.events()} == {"q000": 2, "q001": 2}


def test_a_noisy_query_is_shown_with_its_original_and_of_several_passages_a_part_is_relevant(
    site: Sites, person: People
) -> None:
    members = {"originals": {"q001": "q000"}, "needs": {"q000": ["c000-0", "c000-2"]}}
    served = site(queries=2, passages=3, members=members)
    anna = person(served.links["anna"])
    told = set()
    for _ in range(6):
        told.add((anna.text("asks")[:18], anna.text("hint") if anna.page.locator("#hint").is_visible() else ""))
        anna.press("1")
    part = "The answer needs several passages. A passage that holds a part of it helps: grade 2, not less."
    assert told == {
        ("How does machine 0", part),
        ("How does machine 1", "Meant, without its typing errors: How does machine 0 turn its wheel?"),
    }


@pytest.mark.slow
def test_a_third_person_settles_a_disagreement_with_the_conversation_and_the_notes_in_sight(
    site: Sites, person: People
) -> None:
    members = {"history": {"q000": TURNS}, "standalone": {"q000": "Who repaired machine 0?"}}
    served = site(
        queries=1,
        passages=1,
        members=members,
        annotators=("anna", "bob", "carl"),
        queue=replace(only("A"), overlap=1.0),
    )
    for name, grade in (("anna", "0"), ("bob", "3")):
        one = person(served.links[name])
        one.press("n", moves=False)
        one.page.keyboard.type(f"because {grade}")
        one.press("Enter", moves=False)
        one.press(grade)
        one.saved()
    one = person()
    one.page.goto(served.links["carl"])
    one.page.goto(f"{served.base}adjudicate")
    one.page.locator("#dispute").wait_for()
    assert one.text("asks") == "Who repaired machine 0?"
    assert one.page.locator("#turns li").count() == 4
    assert SCRIPT in one.text("turns")
    told = one.page.locator("main").inner_text()
    assert ["because 0" in told, "because 3" in told, "anna" in told, "bob" in told] == [True, True, False, False]
    one.page.keyboard.press("2")
    one.page.locator("#dispute").wait_for(state="hidden")
    assert fold(served.events()).gold() == {"q000": {"c000-0": 2}}


@pytest.mark.slow
def test_later_cannot_and_bad_queries(site: Sites, person: People) -> None:
    served = site(queries=2, passages=3)
    anna = person(served.links["anna"])
    put_off = anna.pair
    anna.press("s")
    anna.press("x")
    anna.press("2")
    query = anna.text("asks")
    anna.press("b", moves=False)
    anna.press("3")
    assert anna.pair == put_off, "what was put off comes when nothing else is left"
    assert anna.text("asks") != query
    anna.press("1")
    anna.saved()
    state = fold(served.events())
    assert [reason.value for reason in state.bad(served.queue[3].query_id).values()] == ["unrealistic"]
    assert len(state.cannot()) == 1
    assert [review.grade for review in state.reviews()] == [1, 2] or [review.grade for review in state.reviews()] == [
        2,
        1,
    ]


@pytest.mark.slow
def test_words_of_the_query_are_marked_only_outside_lane_a(site: Sites, person: People) -> None:
    served = site(queries=1, passages=2)
    anna = person(served.links["anna"])
    assert anna.page.locator("#text mark").count() == 0
    anna.press("h", moves=False)
    assert {"machine", "wheel"} <= set(anna.page.locator("#text mark").all_inner_texts())
    anna.press("2")
    anna.saved()
    assert served.events()[0].highlights


@pytest.mark.slow
def test_everything_is_reached_by_tab_and_enter(site: Sites, person: People) -> None:
    served = site(queries=1, passages=3)
    anna = person(served.links["anna"])
    before = anna.pair
    for _ in range(20):
        anna.page.keyboard.press("Tab")
        if anna.page.evaluate("document.activeElement.dataset.grade") == "2":
            break
    anna.press("Enter")
    assert anna.pair != before
    assert "2, Helps." in anna.text("live")
    anna.saved()
    assert [event.grade for event in served.events()] == [2]
