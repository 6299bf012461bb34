"""What a person is told of the work: an honest counter, everybody's progress, and what they judged before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goldbench.records.review_event import Lane
from goldbench.review.assignment import Assigner, Team
from goldbench.review.ledger import open_ledger
from goldbench.review.queue import QueueItem
from goldbench.review.state import fold
from tests.review.conftest import Person, Site, only
from tests.review.events import DATA, event, judge
from tests.review.test_http import client_of, judgment

Sites = Callable[..., Site]
People = Callable[..., Person]


def test_the_counts_follow_every_event(tmp_path: Path) -> None:
    items = [QueueItem(f"q{q}", f"c{c}", list(Lane)[c % 3], wanted=2) for q in range(2) for c in range(3)]
    acts = [
        judge(2, query="q0", chunk="c0"),
        judge(1, "bob", query="q0", chunk="c0"),
        event("cannot", "bob", "q0", "c1"),
        event("later", "bob", "q0", "c2"),
        event("bad_query", "anna", "q1", "c0", reason="unclear"),
        judge(3, "bob", query="q1", chunk="c1"),
    ]
    events = [
        *acts,
        event("undo", "anna", "q1", "c0", undoes=acts[4].client_id),
        event("redo", "anna", "q1", "c0", undoes=acts[4].client_id),
        event("undo", "bob", "q1", "c1", undoes=acts[5].client_id),
        event("reopen", "carl", "q1", None),
    ]
    seen = []
    with open_ledger(tmp_path / "l.sqlite", data_sha=DATA) as ledger:
        desk = Assigner(ledger, items)
        for each in events:
            ledger.append(each)
            desk.refresh()
            seen.append(desk.total("bob"))
    done = [one["done"] for one in seen]
    assert done == [1, 1, 2, 2, 5, 5, 3, 5, 5, 2]
    assert all(one["mine"] <= one["done"] <= one["total"] == 6 for one in seen)
    assert seen[-1]["mine"] == 2


@pytest.mark.slow
def test_the_history_finds_what_was_judged_and_a_new_grade_leaves_the_old_event(site: Sites, person: People) -> None:
    served = site(queries=3, passages=2, queue=only("A"))
    anna = person(served.links["anna"])
    for key in "012x":
        anna.press(key)
    anna.saved()
    anna.page.goto(served.base + "history")
    acts = anna.page.locator("#acts > li")
    acts.nth(3).wait_for()
    assert [text.partition(" · random sample · ")[2] for text in acts.locator("p.quiet").all_inner_texts()] == [
        "cannot judge",
        "grade 2",
        "grade 1",
        "grade 0",
    ]
    anna.page.select_option("#said", "2")
    anna.page.wait_for_function("() => document.getElementById('found').textContent === '1 passage'")
    asked = acts.locator("h2").inner_text()
    anna.page.fill("#since", "2001-01-01")
    anna.page.fill("#until", "2001-01-02")
    anna.page.wait_for_function("() => document.getElementById('found').textContent === '0 passages'")
    anna.page.reload()
    anna.page.wait_for_function("() => document.getElementById('found').textContent === '0 passages'")
    assert anna.page.input_value("#said") == "2", "the filter stands in the address"
    anna.page.fill("#since", "")
    anna.page.fill("#until", "")
    anna.page.fill("#q", asked.split()[-4] + " MACHINE")
    anna.page.wait_for_function("() => document.getElementById('found').textContent === '1 passage'")
    acts.get_by_text("Judge again").click()
    anna.wait_for_passage(None)
    assert anna.text("asks") == asked
    assert anna.text("state") == "You said: grade 2."
    anna.press("3")
    anna.saved()
    events = served.events()
    assert [one.grade for one in events] == [0, 1, 2, None, 3]
    assert (events[4].query_id, events[4].chunk_id) == (events[2].query_id, events[2].chunk_id)
    anna.page.goto(served.base + "history")
    acts.nth(3).wait_for()
    assert acts.first.locator("strong").inner_text() == "grade 3, before: 2"
    assert len(fold(events).reviews()) == 3


def test_a_history_is_ones_own_and_holds_nothing_of_the_judge(site: Sites) -> None:
    from tests.review.review_set import JUDGE, RATIONALE, SYSTEM

    served = site(annotators=("anna", "bob"), queries=1, passages=3, queue=only("B"))
    anna, bob = client_of(served), client_of(served, "bob")
    anna.post("/api/event", judgment(anna, note="mine"))
    assert bob.get("/api/history").json == {"items": []}
    answer = anna.get("/api/history")
    assert len(answer.json["items"]) == 1
    assert not any(word.encode() in answer.body for word in (JUDGE, SYSTEM, RATIONALE, "revealed", "inclusion"))


def disputed(site: Sites, **more: Any) -> Site:
    """Serve a set on whose only passage anna and bob disagree."""
    served = site(queries=1, passages=1, queue=replace(only("A"), overlap=1.0), **more)
    for name, grade in (("anna", 0), ("bob", 3)):
        client = client_of(served, name)
        assert client.post("/api/event", judgment(client, grade=grade) | {"client_id": f"client-{name}"}).status == 200
    return served


def third(site: Site, name: str) -> int:
    client = client_of(site, name)
    pair = client_of(site, "anna").get("/api/history").json["items"][0]["pair"]
    body = {"client_id": f"third-{name}", "kind": "adjudicate", "pair": pair, "grade": 1}
    return client.post("/api/event", body).status


def test_nobody_settles_a_disagreement_on_a_passage_that_they_judged(site: Sites) -> None:
    served = disputed(site, annotators=("anna", "bob", "carl"))
    assert [third(served, name) for name in ("anna", "bob")] == [409, 409]
    anna = client_of(served)
    assert anna.get("/api/adjudicate").json["items"] == []
    (other,) = anna.get("/api/adjudicate").json["others"]
    assert other["pairs"] == 1
    assert "you judged it" in other["why"]
    assert third(served, "carl") == 200
    assert fold(served.events()).gold() == {"q000": {"c000-0": 1}}


def test_with_a_lead_nobody_else_settles_and_the_lead_not_their_own(site: Sites) -> None:
    team = Team(("anna", "bob", "carl", "dora"), frozenset({"bob", "dora"}))
    served = disputed(site, annotators=team.annotators, team=team)
    assert [third(served, name) for name in ("anna", "bob", "carl")] == [409, 409, 409]
    (other,) = client_of(served, "carl").get("/api/adjudicate").json["others"]
    assert other["why"] == "only the lead settles disagreements: bob, dora"
    assert third(served, "dora") == 200
