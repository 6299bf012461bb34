"""The order of likely errors, learnt from the random sample as people judge it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.records.review_event import Lane
from goldbench.records.review_report import ErrorRate, LikelyErrors
from goldbench.review.completion import Sampled, in_steps, sampled
from goldbench.review.likely_errors import Checked
from goldbench.review.queue import Item, Queue
from goldbench.review.state import Pair, State

MOST = 500
"""Limits the pairs that the order is learnt from to the first of the random sample: more hardly change it, and it is
found while people wait."""


class LearntOrder:
    """Renews a queue when 60 pairs of its random sample are judged, then every 20 pairs, and when it is finished.

    The order depends on the queue and on the ledger's decisions about those pairs alone: every server on one ledger,
    and the same server after a restart, comes to the same order.
    """

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._sample = _first(queue.items)
        self._orders = any(item.lane is Lane.ERRORS for item in queue.items)
        self._basis: tuple[Checked, ...] = ()

    def __call__(self, state: State) -> tuple[Item, ...] | None:
        """Return the items in the order of what is learnt by now, or None if the order has not changed."""
        if not self._orders:  # nobody sees likely errors
            return None
        basis = tuple(Checked(one.pair, one.people, one.inclusion) for one in basis_of(state, self._sample))
        if basis == self._basis:
            return None
        items = self._queue.renewed(basis)
        self._basis = basis  # not before: an attempt that was cut off is made again
        return items


def basis_of(state: State, items: Sequence[Item]) -> Sequence[Sampled]:
    """Return the judged pairs of the random sample that the order rests on; none before there are 60.

    Args:
        state: The decisions so far.
        items: The queue, or its random sample.
    """
    drawn = _first(items)
    finished = bool(drawn) and all(state.deciders(item.pair) or state.parked(item.query_id) for item in drawn)
    reviews = (state.review(name, item.pair) for item in drawn for name in state.judged_by(item.pair))
    return in_steps(sampled((one for one in reviews if one is not None), state), finished=finished)


def _first(items: Sequence[Item]) -> list[Item]:
    return [item for item in items if item.lane is Lane.CALIBRATION][:MOST]


def likely_errors(basis: Sequence[Sampled], judge: Mapping[Pair, Relevance]) -> LikelyErrors:
    """Return what the order rests on: the number of judged pairs, and how often the judge was wrong, by its grade.

    Args:
        basis: The judged pairs of the random sample that the order rests on.
        judge: The judge's grade of each pair.
    """
    rates = []
    for grade in sorted(Relevance, reverse=True):
        given = [one for one in basis if judge.get(one.pair) == grade]
        wrong = sum((one.people >= RELEVANT) != (grade >= RELEVANT) for one in given)
        if given:
            rates.append(ErrorRate(grade=int(grade), pairs=len(given), wrong=wrong))
    return LikelyErrors(pairs=len(basis), rates=rates)
