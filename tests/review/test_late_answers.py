"""Answers that reach the pages of the review late or in another order: no key is taken for something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from goldbench.review.state import fold
from tests.review.conftest import Person, Site, only
from tests.review.late_answers import Late
from tests.review.test_http import client_of

Sites = Callable[..., Site]
People = Callable[..., Person]

pytestmark = pytest.mark.slow


def judged(site: Site) -> list[tuple[str, int | None]]:
    return [(event.kind.value, event.grade) for event in site.events()]


def test_a_passage_that_an_address_names_comes_before_any_other_and_keys_wait_for_it(
    site: Sites, person: People
) -> None:
    anna = person(site(queries=2, passages=4).links["anna"])
    wanted = anna.page.evaluate("items[2].pair")
    address = anna.page.url
    anna.page.goto("about:blank")
    late = Late(anna.page, "/api/item")
    anna.page.goto(f"{address}#pair={wanted}")
    late.wait()
    anna.page.keyboard.press("3")
    assert anna.page.locator("#text").get_attribute("data-pair") is None
    late.let_go()
    anna.wait_for_passage(None)
    assert anna.pair == wanted
    anna.press("2")
    anna.page.wait_for_function("() => items.length === 8 && !fetching")


def after_a_reload(site: Sites, person: People) -> tuple[Site, Person, str]:
    """Judge three passages and reload the page: only the server knows them; return the last of them, too."""
    served = site(queries=2, passages=4)
    anna = person(served.links["anna"])
    for grade in "32":
        anna.press(grade)
    last = anna.pair
    anna.press("1")
    anna.saved().page.reload()
    anna.wait_for_passage(None)
    return served, anna, last


def test_a_grade_pressed_while_the_server_takes_one_back_is_for_no_other_passage(site: Sites, person: People) -> None:
    served, anna, last = after_a_reload(site, person)
    late, here = Late(anna.page, "/api/event"), anna.pair
    anna.press("u", moves=False)
    late.wait()
    for key in ("0", "u", "Shift+U"):
        anna.press(key, moves=False)
    assert anna.pair == here
    late.let_go()
    anna.wait_for_passage(here)
    assert anna.pair == last
    anna.press("0")
    anna.saved()
    assert judged(served) == [("judge", 3), ("judge", 2), ("judge", 1), ("undo", None), ("judge", 0)]
    assert late.asked == 2


def test_what_is_typed_while_the_server_takes_a_grade_back_stays_a_note(site: Sites, person: People) -> None:
    served, anna, last = after_a_reload(site, person)
    late, here = Late(anna.page, "/api/event"), anna.pair
    anna.press("u", moves=False)
    late.wait()
    anna.press("n", moves=False)
    anna.page.keyboard.type("2 of ")
    late.let_go()
    anna.page.locator("#state", has_text="Undone. Its passage comes next.").wait_for()
    anna.page.keyboard.type("3 u")
    anna.press("Enter", moves=False)
    assert anna.pair == here
    anna.press("3")
    assert anna.pair == last
    anna.saved()
    assert judged(served)[3:] == [("undo", None), ("note", None), ("judge", 3)]
    assert [event.note for event in served.events() if event.note] == ["2 of 3 u"]


def test_an_overview_or_a_passage_of_it_that_comes_late_interrupts_nobody(site: Sites, person: People) -> None:
    served, anna, _ = after_a_reload(site, person)
    late, overview = Late(anna.page, "/api/query"), anna.page.locator("#overview")
    for _ in range(2):
        anna.press("g", moves=False)
    late.wait(2)
    late.let_go()
    overview.wait_for()
    assert anna.text("state") == ""
    late = Late(anna.page, "/api/item")
    overview.locator("li button", has_text="grade").first.click()
    late.wait()
    anna.press("n", moves=False)
    anna.page.keyboard.type("a ")
    late.let_go()
    anna.page.locator("#state", has_text="choose it again").wait_for()
    anna.page.keyboard.type("note")
    anna.press("Enter", moves=False)
    late = Late(anna.page, "/api/query")
    anna.press("g", moves=False)
    late.wait()
    anna.press("3")
    late.let_go()
    assert not overview.is_visible()
    anna.saved()
    assert [event.note for event in served.events() if event.note] == ["a note"]


def test_a_count_from_before_a_decision_does_not_take_it_back(site: Sites, person: People) -> None:
    anna = person(site(queries=2, passages=4).links["anna"])
    anna.page.wait_for_function("() => items.length === 8 && !fetching")
    late = Late(anna.page, "/api/next", first=1)
    anna.page.evaluate("() => { stayInTouch() }")
    late.wait()
    anna.press("2")
    anna.saved()
    anna.page.wait_for_function("() => !fetching")
    late.let_go()
    assert anna.text("count") == "You: 1 · Everyone: 1 of 8 · Left: 7"


def test_a_query_reported_as_bad_does_not_come_back_with_a_late_answer(site: Sites, person: People) -> None:
    anna = person(site(queries=1, passages=1).links["anna"])
    anna.page.wait_for_function("() => !fetching")
    anna.page.evaluate("() => { dry = false }")  # as if the last answer were still on its way
    anna.press("b", moves=False)
    anna.press("1")
    assert "Nothing is left" in anna.text("asks")


def test_a_new_wording_that_is_typed_while_a_disagreement_is_settled_stays(site: Sites, person: People) -> None:
    names = ("anna", "bob", "carl")
    served = site(queries=3, passages=1, annotators=names, queue=only("A", overlap=1.0))
    for name, acts in (("anna", (0, 0, None)), ("bob", (3, 3))):
        client = client_of(served, name)
        for number, (item, grade) in enumerate(zip(client.get("/api/next?n=3").json["items"], acts, strict=True)):
            said = {"kind": "bad_query", "reason": "unclear"} if grade is None else {"kind": "judge", "grade": grade}
            event = {"client_id": f"client-{name}-{number}", "pair": item["pair"], **said}
            assert client.post("/api/event", event).status == 200
    carl = person()
    carl.page.goto(served.links["carl"])
    carl.visit(served.base + "adjudicate")
    carl.page.wait_for_function("() => performance.now() - shownAt > TOO_SOON_MS")
    late = Late(carl.page, "/api/adjudicate")
    carl.page.keyboard.press("2")
    late.wait()
    wording = carl.page.locator("#bad-queries input")
    wording.fill("")
    carl.page.keyboard.type("0 1")
    late.let_go()
    carl.page.locator("#left", has_text="1 disagreement left").wait_for()
    carl.page.keyboard.type(" 2 3")
    assert wording.input_value() == "0 1 2 3"
    late = Late(carl.page, "/api/event")
    anyway = carl.page.get_by_role("button", name="Judge it anyway")
    anyway.dblclick()
    late.wait()
    late.let_go()
    carl.page.locator("#bad-queries", has_text="None.").wait_for()
    own = [event.kind.value for event in served.events() if event.annotator == "carl"]
    assert own == ["adjudicate", "reopen"]
    assert len(fold(served.events()).adjudicated()) == 1


def test_an_older_question_to_the_history_that_fails_is_not_told(site: Sites, person: People) -> None:
    anna = person(site(queries=1, passages=2).links["anna"])
    anna.press("2")
    anna.saved()
    held: list[Any] = []

    def hold(route: Any) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    anna.visit(anna.page.url + "history")
    anna.page.route("**/api/history*", hold)
    with anna.page.expect_request("**/api/history*"):
        anna.page.select_option("#said", "3")
    anna.page.select_option("#said", "2")
    anna.page.wait_for_function("() => document.getElementById('found').textContent === '1 passage'")
    anna.offline = True  # the browser itself complains
    with anna.page.expect_event("requestfailed"):
        held[0].abort()
    anna.page.evaluate("() => new Promise(requestAnimationFrame)")
    assert not anna.page.locator("#alarm").is_visible()
