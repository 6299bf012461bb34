"""The results of one system in another order: what was looked at anew first, the rest below as it was."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from pipeline.measures.ranks.order import best


def by_rank(order: Sequence[str], *, k: int) -> dict[str, float]:
    """Return the first ``k`` documents with the scores n, n - 1, …, 1 of their ranks among all n: no two are equal."""
    return {doc_id: float(len(order) - place) for place, doc_id in enumerate(order[:k])}


def above_the_rest(rated: Mapping[str, float], rest: Iterable[str], *, k: int) -> dict[str, float]:
    """Return the first ``k`` documents: those rated by their score, then the rest in the order given, scored below.

    Args:
        rated: scores of the documents looked at anew; equal ones are ordered by id descending.
        rest: the other documents, best first. Each scores less than the one before it by the same step.
        k: how many at most.
    """
    first = best(rated, k)
    lowest = min(rated.values(), default=0.0)
    step = max(1.0, abs(lowest) * 1e-9)  # beside a number of that size a step of 1 might be lost to rounding
    below = itertools.islice(rest, max(0, k - len(first)))
    return first | {doc_id: lowest - step * place for place, doc_id in enumerate(below, start=1)}
