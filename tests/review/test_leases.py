"""Who is given what: never more people than are wanted, and nobody's half-done query to somebody else."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from goldbench.records.review_event import Lane
from goldbench.review.assignment import LEASE_S, Assigner, NotAssigned, PersonAssignment
from goldbench.review.ledger import Ledger, open_ledger
from goldbench.review.queue import QueueItem
from goldbench.review.state import fold
from tests.review.events import DATA, event


def _items(queries: int, passages: int, *, twice: frozenset[int] = frozenset()) -> tuple[QueueItem, ...]:
    pairs = [(f"q{q}", f"c{q}-{c}") for q in range(queries) for c in range(passages)]
    return tuple(
        QueueItem(*pair, Lane.CALIBRATION, inclusion=1.0, wanted=2 if i in twice else 1) for i, pair in enumerate(pairs)
    )


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def judge(desk: Assigner, name: str, handed: PersonAssignment, grade: int = 2) -> None:
    item = handed.item
    desk.record(event("judge", name, *item.pair, grade=grade, lane=item.lane, inclusion=1.0, repeat=handed.repeat))


def work(desk: Assigner, name: str, most: int = 1000) -> list[tuple[str, str]]:
    """Judge until nothing more is given."""
    done = []
    while len(done) < most and (handed := desk.claim(name, 1)):
        judge(desk, name, handed[0])
        done.append(handed[0].item.pair)
    return done


def test_one_person_gets_the_queue_in_its_order(ledger: Ledger) -> None:
    items = _items(5, 4)
    assert work(Assigner(ledger, items), "anna") == [item.pair for item in items]


def test_two_people_are_at_two_queries_until_nothing_else_is_left(ledger: Ledger) -> None:
    desk = Assigner(ledger, _items(2, 4))
    (first,) = desk.claim("anna", 1)
    (second,) = desk.claim("bob", 1)
    assert first.item.query_id != second.item.query_id
    judge(desk, "anna", first)
    assert desk.claim("anna", 1)[0].item.query_id == first.item.query_id
    work(desk, "bob")
    assert desk.state.judged_by(("q0", "c0-3")) == ["bob"]


def test_a_lease_that_ran_out_goes_to_somebody_else_and_the_late_answer_is_kept(ledger: Ledger) -> None:
    clock = Clock()
    desk = Assigner(ledger, _items(1, 1), clock=clock)
    (late,) = desk.claim("anna", 1)
    assert desk.claim("bob", 1) == []
    clock.now += LEASE_S + 1
    (taken,) = desk.claim("bob", 1)
    judge(desk, "bob", taken)
    judge(desk, "anna", late)
    assert fold(ledger.events()).judged_by(("q0", "c0-0")) == ["anna", "bob"]


def test_what_is_on_the_screen_stays_lent(ledger: Ledger) -> None:
    clock = Clock()
    desk = Assigner(ledger, _items(1, 1), clock=clock)
    (handed,) = desk.claim("anna", 1)
    for _ in range(4):
        clock.now += LEASE_S / 2
        desk.claim("anna", 0, have=[(handed.item.pair, False)])
    assert desk.claim("bob", 1) == []


def test_a_pair_that_was_never_given_is_refused_when_nobody_more_is_wanted(ledger: Ledger) -> None:
    desk = Assigner(ledger, _items(1, 1))
    (handed,) = desk.claim("anna", 1)
    with pytest.raises(NotAssigned):
        judge(desk, "bob", handed)
    judge(desk, "anna", handed)
    with pytest.raises(NotAssigned):
        judge(desk, "bob", handed)


def test_exactly_the_pairs_for_two_are_judged_twice(ledger: Ledger) -> None:
    desk = Assigner(ledger, _items(10, 5, twice=frozenset(range(0, 50, 5))))
    for name in ("anna", "bob", "carl"):
        work(desk, name, 25)
    for name in ("anna", "bob", "carl"):
        work(desk, name)
    counts = Counter(len(desk.state.judged_by(item.pair)) for item in desk.items)
    assert counts == {1: 40, 2: 10}


def test_many_at_once_on_several_desks_never_go_beyond_what_is_wanted(ledger: Ledger, tmp_path: Path) -> None:
    items = _items(12, 5, twice=frozenset(range(0, 60, 4)))

    def person(name: str) -> None:
        with open_ledger(tmp_path / "review.sqlite", data_sha=DATA) as own:
            work(Assigner(own, items), name)

    with ThreadPoolExecutor(4) as people:
        list(people.map(person, [f"person {number}" for number in range(4)]))
    state = fold(ledger.events())
    assert {item.pair: len(state.judged_by(item.pair)) for item in items} == {item.pair: item.wanted for item in items}


def test_ten_pairs_come_back_to_the_same_person(ledger: Ledger) -> None:
    desk = Assigner(ledger, _items(40, 5), repeats=10)
    done = work(desk, "anna")
    repeats = desk.state.repeats()
    assert len(repeats) == 10
    assert len(done) == 210
    for review, _ in repeats:
        first, second = (i for i, pair in enumerate(done) if pair == (review.query_id, review.chunk_id))
        assert second - first >= 30


def test_nobody_is_given_a_query_that_somebody_calls_bad(ledger: Ledger) -> None:
    desk = Assigner(ledger, _items(2, 3))
    (first,) = desk.claim("anna", 1)
    desk.record(event("bad_query", "anna", *first.item.pair, reason="unclear"))
    assert {pair[0] for pair in (*work(desk, "bob"), *work(desk, "anna"))} == {"q1"}


def test_what_was_put_off_comes_last(ledger: Ledger) -> None:
    desk = Assigner(ledger, _items(2, 2))
    (first,) = desk.claim("anna", 1)
    desk.record(event("later", "anna", *first.item.pair))
    assert work(desk, "anna")[-1] == first.item.pair


def test_who_has_nothing_left_gets_half_of_what_another_has_in_reserve(ledger: Ledger) -> None:
    desk = Assigner(ledger, _items(1, 25))
    mine = [one.item.pair for one in desk.claim("anna", 25)]
    have = [(pair, False) for pair in mine]
    theirs = [one.item.pair for one in desk.claim("bob", 25)]
    assert theirs == mine[15:], "half of those beyond the first five, the last ones"
    assert desk.lost("anna", have) == theirs
    assert desk.lost("bob", [(pair, False) for pair in theirs]) == []
    for name in ("bob", "anna"):
        work(desk, name)
    assert all(len(desk.state.judged_by(item.pair)) == 1 for item in desk.items)


def test_what_was_taken_over_and_judged_offline_all_the_same_is_kept(ledger: Ledger) -> None:
    desk = Assigner(ledger, _items(1, 7))
    reserve = desk.claim("anna", 7)
    (taken,) = desk.claim("bob", 7)
    judge(desk, "bob", taken)
    judge(desk, "anna", reserve[-1])
    assert desk.state.judged_by(taken.item.pair) == ["anna", "bob"]
    assert desk.lost("anna", [(reserve[-1].item.pair, False)]) == []
