"""Who is given what: never more people than are wanted, and nobody's half-done query to somebody else."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from goldbench.records.review_event import Lane
from goldbench.review.assignment import LEASE_S, MIN_RESERVE, Assigner, Assignment, NotAssigned
from goldbench.review.ledger import Ledger, open_ledger
from goldbench.review.queue import Item
from goldbench.review.state import State, fold
from tests.review.events import DATA, event


def _items(queries: int, passages: int, *, twice: frozenset[int] = frozenset()) -> tuple[Item, ...]:
    pairs = [(f"q{q}", f"c{q}-{c}") for q in range(queries) for c in range(passages)]
    return tuple(
        Item(*pair, Lane.CALIBRATION, inclusion=1.0, wanted=2 if i in twice else 1) for i, pair in enumerate(pairs)
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "review.sqlite", data_sha=DATA) as opened:
        yield opened


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def judge(desk: Assigner, name: str, handed: Assignment, grade: int = 2) -> None:
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


def test_what_one_has_another_is_not_given(ledger: Ledger) -> None:
    desk = Assigner(ledger, _items(2, 3))
    mine = desk.claim("anna", 3)
    theirs = desk.claim("bob", 10)
    assert {one.item.pair for one in mine}.isdisjoint(one.item.pair for one in theirs)
    assert len(theirs) == 3


def test_two_people_are_at_two_queries_until_nothing_else_is_left(ledger: Ledger) -> None:
    desk = Assigner(ledger, _items(2, 4))
    (first,) = desk.claim("anna", 1)
    (second,) = desk.claim("bob", 1)
    assert first.item.query_id != second.item.query_id
    judge(desk, "anna", first)
    assert desk.claim("anna", 1)[0].item.query_id == first.item.query_id
    work(desk, "bob")
    assert desk.state.judged_by(("q0", "c0-3")) == ["bob"]


def test_a_person_returns_to_the_query_left_half_done(ledger: Ledger) -> None:
    clock = Clock()
    desk = Assigner(ledger, _items(3, 4), clock=clock)
    work(desk, "anna", 2)
    again = Assigner(ledger, _items(3, 4), clock=clock)
    assert again.claim("anna", 1)[0].item.pair == ("q0", "c0-2")


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


def test_many_at_once_on_several_desks_never_go_beyond_what_is_wanted(tmp_path: Path) -> None:
    items = _items(12, 5, twice=frozenset(range(0, 60, 4)))
    problems: list[BaseException] = []

    def person(name: str) -> None:
        try:
            with open_ledger(tmp_path / "review.sqlite", data_sha=DATA) as own:
                work(Assigner(own, items), name)
        except BaseException as error:  # noqa: BLE001  told by the test
            problems.append(error)

    open_ledger(tmp_path / "review.sqlite", data_sha=DATA).close()
    threads = [threading.Thread(target=person, args=(f"person {i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    with open_ledger(tmp_path / "review.sqlite", data_sha=DATA) as book:
        state = fold(book.events())
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


def test_a_renewed_order_loses_no_pair_and_shows_none_twice(ledger: Ledger) -> None:
    items = _items(12, 5)
    turns: list[int] = []

    def renewed(state: State) -> Sequence[Item]:
        turns.append(len(state.reviews()))
        by = 7 * len(turns) % len(items)
        return items[by:] + items[:by]

    anna, ben = Assigner(ledger, items, renewed=renewed), Assigner(ledger, items)
    done = []
    while handed := [(desk, name, one) for desk, name in ((anna, "anna"), (ben, "ben")) for one in desk.claim(name, 3)]:
        for desk, name, one in handed:
            judge(desk, name, one)
            done.append(one.item.pair)
    assert sorted(done) == sorted(item.pair for item in items)
    assert len(turns) > 5


def test_a_pair_that_is_lent_stays_lent_when_the_order_is_renewed(ledger: Ledger) -> None:
    items = _items(4, 3)
    desk = Assigner(ledger, items, renewed=lambda _: items[::-1])
    lent = {one.item.pair for one in desk.claim("anna", 3)}
    assert [pair[0] for pair in work(desk, "ben", most=4)] == ["q1", "q1", "q1", "q3"]
    assert lent.isdisjoint(work(desk, "ben"))
    assert set(work(desk, "anna")) == lent


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


def test_the_first_passages_of_a_reserve_are_never_taken_over(ledger: Ledger) -> None:
    desk = Assigner(ledger, _items(1, MIN_RESERVE))
    desk.claim("anna", MIN_RESERVE)
    assert desk.claim("bob", 5) == []


def test_what_was_taken_over_and_judged_offline_all_the_same_is_kept(ledger: Ledger) -> None:
    desk = Assigner(ledger, _items(1, 7))
    reserve = desk.claim("anna", 7)
    (taken,) = desk.claim("bob", 7)
    judge(desk, "bob", taken)
    judge(desk, "anna", reserve[-1])
    assert desk.state.judged_by(taken.item.pair) == ["anna", "bob"]
    assert desk.lost("anna", [(reserve[-1].item.pair, False)]) == []


def test_a_reserve_that_nobody_renews_is_free_after_the_lease(ledger: Ledger) -> None:
    clock = Clock()
    desk = Assigner(ledger, _items(1, 50), clock=clock)
    assert len(desk.claim("anna", 50)) == 50
    clock.now += LEASE_S + 1
    assert len(desk.claim("bob", 50)) == 50
    assert len(desk.lost("anna", [(item.pair, False) for item in desk.items])) == 50


def test_a_refusal_leaves_the_state_as_it_is(ledger: Ledger) -> None:
    desk = Assigner(ledger, _items(1, 2))
    judge(desk, "anna", desk.claim("anna", 1)[0])
    with pytest.raises(NotAssigned):
        desk.record(event("adjudicate", "bob", "q0", "c0-0", grade=1))
    with desk.reading() as state:
        assert state.judged_by(("q0", "c0-0")) == ["anna"]
        assert desk.total("anna") == {"total": 2, "done": 1, "mine": 1}
