"""The order of likely errors is renewed as the random sample is judged, and is the same on every server."""

from __future__ import annotations

from goldbench.records.judgment import Judgment, PooledPair
from goldbench.records.relevance import Relevance
from goldbench.records.review_event import Lane
from goldbench.review.assignment import Assigner
from goldbench.review.ledger import Ledger
from goldbench.review.queue import LearntOrder, Queue, QueueSettings, basis_of
from tests.review.events import event

POOL = [PooledPair(query_id=f"q{q}", chunk_id=f"c{q}-{c}") for q in range(30) for c in range(10)]
SAID = [
    Judgment(query_id=one.query_id, chunk_id=one.chunk_id, relevance=Relevance(place % 4), assessor="m")
    for place, one in enumerate(POOL)
]
GRADES = {(one.query_id, one.chunk_id): one.relevance for one in SAID}
QUEUE = Queue(POOL, SAID, settings=QueueSettings(calibration=90, complete=3, overlap=0))


def _work(desk: Assigner, most: int) -> list[tuple[str, str]]:
    """Judge pairs in turn: what the judge graded 0 is relevant, everything else not."""
    done = []
    for _ in range(most):
        for handed in desk.claim("anna", 1):
            item = handed.item
            grade = 3 if GRADES[item.pair] == 0 else 0
            desk.record(event("judge", "anna", *item.pair, grade=grade, lane=item.lane, inclusion=item.inclusion))
            done.append(item.pair)
    return done


def _desk(ledger: Ledger) -> Assigner:
    return Assigner(ledger, QUEUE.items, renewed=LearntOrder(QUEUE), repeats=0)


def test_the_order_stays_until_sixty_pairs_are_judged_and_then_follows_the_errors(ledger: Ledger) -> None:
    desk = _desk(ledger)
    _work(desk, 59)
    assert desk.refresh()
    assert tuple(desk.items) == QUEUE.items
    _work(desk, 3)
    desk.refresh()
    assert len(basis_of(desk.state, desk.items)) == 60
    wrong = [item.pair for item in desk.items if item.lane is Lane.ERRORS]
    assert {GRADES[pair] for pair in wrong[:30]} != {Relevance(1)}
    assert all(GRADES[pair] != Relevance(1) for pair in wrong[: len(wrong) // 2])


def test_every_server_and_a_restart_come_to_the_same_order(ledger: Ledger) -> None:
    first, second = _desk(ledger), _desk(ledger)
    _work(first, 130)
    orders = [tuple(desk.items) for desk in (first, second, _desk(ledger)) if desk.refresh()]
    assert len(orders) == 3
    assert len(set(orders)) == 1
    assert orders[0] != QUEUE.items


def test_training_judgments_teach_nothing(ledger: Ledger) -> None:
    desk = _desk(ledger)
    for item in [item for item in QUEUE.items if item.stratum][:70]:
        ledger.append(event("judge", "anna", *item.pair, grade=3, lane=item.lane, inclusion=0.5, revealed=True))
    desk.refresh()
    assert tuple(desk.items) == QUEUE.items
