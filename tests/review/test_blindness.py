"""Nobody learns another person's grade of a passage that they may still judge, and nobody judges in another's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from goldbench.errors import UsageError
from goldbench.review.answers import PageAnswers
from goldbench.review.assignment import LEASE_S, Assigner, NotAssigned, Team, team_of
from goldbench.review.ledger import open_ledger
from goldbench.review.queue import make_queue
from goldbench.review.reviewable_set import load_reviewable
from tests.review.conftest import Site, only
from tests.review.review_set import write_set
from tests.review.test_http import client_of, judgment

Sites = Callable[..., Site]


@dataclass
class Room:
    """One passage for two people, the answers to everybody, and a clock that the test sets."""

    answers: PageAnswers
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
        items = make_queue(material.pool, material.judgments, settings=only("A", overlap=1.0))
        team = Team(("anna", "bob", "carl", "dora"))
        yield Room(PageAnswers(Assigner(ledger, items, team=team, clock=lambda: now[0]), material), now)


def disputed(room: Room) -> str:
    """Let carl take the passage, anna and bob judge it later, and return its key."""
    pair = str(room.asks("carl")["pair"])
    room.now[0] += LEASE_S + 1
    for name, grade in (("anna", 0), ("bob", 3)):
        assert room.asks(name)["pair"] == pair
        room.says(name, pair, grade=grade)
    return pair


def test_who_saw_the_grades_of_a_disagreement_does_not_judge_the_passage_any_more(room: Room) -> None:
    pair = disputed(room)
    assert [one["grade"] for one in room.answers.disputes("carl", {})["items"][0]["said"]]
    with pytest.raises(NotAssigned):
        room.says("carl", pair, grade=3)
    room.says("carl", pair, "adjudicate", grade=1)
    assert room.answers.assigner.state.gold() == {"q000": {"c000-0": 1}}


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


def test_a_page_of_one_person_stores_nothing_in_the_name_of_another(site: Sites) -> None:
    served = site(queries=1, passages=2, annotators=("anna", "jürgen bø"))
    client = client_of(served, "jürgen bø")
    for header in ("anna", "J%C3%BCrgen", "%ff"):
        answer = client.post("/api/event", judgment(client), Goldbench_Person=header)
        assert (answer.status, "this browser now belongs to" in answer.json["error"]) == (401, True)
    assert served.events() == []
    own = client.post("/api/event", judgment(client), Goldbench_Person="j%C3%BCrgen%20b%C3%B8")
    assert own.status == 200


@pytest.mark.parametrize("lead", ["ANNA", "ａnna", "Rene\u0301"])
def test_names_that_look_alike_are_not_two_people(lead: str) -> None:
    with pytest.raises(UsageError, match="look alike"):
        team_of(["anna", "René"], [lead])
