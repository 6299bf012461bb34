"""Nobody learns another person's grade of a passage that they may still judge, and nobody judges in another's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from goldbench.errors import UsageError
from goldbench.review.answers import Answers
from goldbench.review.assignment import LEASE_S, Assigner, NotAssigned
from goldbench.review.ledger import open_ledger
from goldbench.review.local_page import UnknownItem
from goldbench.review.queue import Queue
from goldbench.review.reviewable_set import load_reviewable
from goldbench.review.state import fold
from goldbench.review.team import Team, team_of
from tests.review.conftest import Site, only
from tests.review.review_set import write_set
from tests.review.test_http import client_of, judgment

Sites = Callable[..., Site]


@dataclass
class Room:
    """One passage for two people, the answers to everybody, and a clock that the test sets."""

    answers: Answers
    now: list[float]
    sent: int = field(default=0)

    def asks(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.answers.upcoming(name, {"n": "1"})["items"][0]
        return found

    def says(self, name: str, pair: str, kind: str = "judge", **more: Any) -> dict[str, Any]:
        self.sent += 1
        body = {"client_id": f"client-{self.sent:04}", "kind": kind, "pair": pair, **more}
        return self.answers.event(name, body)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    material = load_reviewable(write_set(tmp_path / "set", queries=1, passages=1))
    now = [1e9]
    with open_ledger(tmp_path / "l.sqlite", data_sha=material.data_sha) as ledger:
        items = Queue(material.pool, material.judgments, settings=only("A", overlap=1.0)).items
        team = Team(("anna", "bob", "carl", "dora"))
        yield Room(Answers(Assigner(ledger, items, team=team, clock=lambda: now[0]), material), now)


def disputed(room: Room, *, carl: str | None = None) -> str:
    """Let carl take the passage, anna and bob judge it later, and return its key; ``carl`` is what he says first."""
    pair = str(room.asks("carl")["pair"])
    if carl:
        room.says("carl", pair, carl)
    room.now[0] += LEASE_S + 1
    for name, grade in (("anna", 0), ("bob", 3)):
        assert room.asks(name)["pair"] == pair
        room.says(name, pair, grade=grade)
    return pair


@pytest.mark.parametrize("before", [None, "later"])
def test_who_saw_the_grades_of_a_disagreement_does_not_judge_the_passage_any_more(
    room: Room, before: str | None
) -> None:
    pair = disputed(room, carl=before)
    assert [one["grade"] for one in room.answers.disputes("carl", {})["items"][0]["said"]]
    with pytest.raises(NotAssigned):
        room.says("carl", pair, grade=3)
    room.says("carl", pair, "adjudicate", grade=1)
    assert room.answers.assigner.state.gold() == {"q000": {"c000-0": 1}}


def test_what_a_page_lost_without_seeing_others_grades_is_kept_when_judged_all_the_same(room: Room) -> None:
    pair = disputed(room)
    room.says("carl", pair, grade=3)
    assert room.answers.assigner.state.judged_by(("q000", "c000-0")) == ["anna", "bob", "carl"]


def test_a_disagreement_is_settled_once_and_undone_by_the_page_that_settled_it(room: Room) -> None:
    pair = disputed(room)
    assert room.answers.disputes("carl", {})["undo"] is None
    room.says("carl", pair, "adjudicate", grade=1)
    with pytest.raises(NotAssigned, match="settled already"):
        room.says("dora", pair, "adjudicate", grade=3)
    last = room.answers.disputes("carl", {})["undo"]
    room.answers.event("carl", {"client_id": "client-undo", "kind": "undo", "undoes": last})
    assert room.answers.disputes("carl", {})["undo"] is None
    room.says("dora", pair, "adjudicate", grade=3)
    assert room.answers.assigner.state.gold() == {"q000": {"c000-0": 3}}


def test_who_took_back_a_judgment_still_does_not_settle_it(room: Room) -> None:
    pair = str(room.asks("carl")["pair"])
    room.says("carl", pair, grade=2)
    room.answers.event("carl", {"client_id": "client-undo", "kind": "undo"})
    room.now[0] += LEASE_S + 1
    for name, grade in (("anna", 0), ("bob", 3)):
        room.asks(name)
        room.says(name, pair, grade=grade)
    with pytest.raises(NotAssigned, match="you judged it"):
        room.says("carl", pair, "adjudicate", grade=1)


def test_a_clock_that_is_set_back_keeps_no_passage_from_anybody(room: Room) -> None:
    pair = room.asks("anna")["pair"]
    assert room.asks("bob")["pair"] == pair
    room.now[0] -= 86_400
    assert room.asks("carl")["pair"] == pair
    assert room.asks("dora")["pair"] == pair
    assert room.answers.upcoming("anna", {"n": "1"})["items"] == []


def test_decisions_of_an_older_page_are_taken_where_the_words_are_the_same(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", queries=1, passages=2)
    old = load_reviewable(folder)
    items = Queue(old.pool, old.judgments, settings=only("A")).items
    file = folder / "dataset.json"
    file.write_text(file.read_text().replace("0 metres", "9 metres"))
    new = load_reviewable(folder)
    assert new.data_sha != old.data_sha
    with open_ledger(tmp_path / "l.sqlite", data_sha=new.data_sha) as ledger:
        answers = Answers(Assigner(ledger, items), new)
        keys = Answers(Assigner(ledger, items), old).keys
        body = {"client_id": "client-old-1", "kind": "judge", "grade": 2}
        with pytest.raises(UnknownItem):
            answers.event("anna", {**body, "pair": keys.of(("q000", "c000-0"))})
        answers.event("anna", {**body, "pair": keys.of(("q000", "c000-1"))})
        assert fold(ledger.events()).gold() == {"q000": {"c000-1": 2}}


def test_a_page_of_one_person_stores_nothing_in_the_name_of_another(site: Sites) -> None:
    served = site(queries=1, passages=2, annotators=("anna", "jürgen bø"))
    client = client_of(served, "jürgen bø")
    for header in ("anna", "J%C3%BCrgen", "%ff"):
        answer = client.post("/api/event", judgment(client), Goldbench_Person=header)
        assert (answer.status, "this browser now belongs to" in answer.json["error"]) == (401, True)
    assert served.events() == []
    own = client.post("/api/event", judgment(client), Goldbench_Person="j%C3%BCrgen%20b%C3%B8")
    assert own.status == 200


@pytest.mark.parametrize("lead", ["Anna", "ANNA", "ａnna", "Rene\u0301"])
def test_names_that_look_alike_are_not_two_people(lead: str) -> None:
    with pytest.raises(UsageError, match="look alike"):
        team_of(["anna", "René"], [lead], [])
