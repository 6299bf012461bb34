"""The order of every hit list, as trec_eval defines it: score descending, then document id descending by code point."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


def best(scores: Mapping[str, float], k: int) -> dict[str, float]:
    """Return the first ``k`` documents with their scores, in order."""
    pairs = ((score, doc_id) for doc_id, score in scores.items())
    top = sorted(pairs, reverse=True) if len(scores) <= k else heapq.nlargest(k, pairs)
    return {doc_id: score for score, doc_id in top}


def rank_of(doc_id: str, above: int, equals: Iterable[str]) -> int:
    """Return the rank of a document, from 1, without sorting the list it stands in.

    Args:
        doc_id: The document.
        above: How many documents score higher.
        equals: The documents with the same score, itself included.
    """
    return 1 + above + sum(equal > doc_id for equal in equals)


def in_tie_order(ids: Iterable[str]) -> list[str]:
    """Return ids so that, of two with the same score, the one at the lower place ranks higher."""
    return sorted(ids, reverse=True)


def highest(scores: NDArray[Any], k: int, places: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return the positions of the first ``k`` scores of an array, in order.

    Args:
        scores: The scores of documents.
        k: How many positions at most, 1 or more.
        places: The place of each document in ``in_tie_order``. By default the documents stand in that order.
    """
    import numpy as np

    if 2 * k < len(scores):  # where k is nearer to the length, sorting all of them is quicker
        positions = np.flatnonzero(scores >= reached(scores, k))
        if len(positions) < len(scores):
            best: NDArray[Any] = positions[highest(scores[positions], k, None if places is None else places[positions])]
            return best
    order: NDArray[Any] = np.argsort(-scores, kind="stable") if places is None else np.lexsort((places, -scores))
    return order[:k]


_GROUPS = 1024
"""The fewest groups of scores whose highest scores are compared in place of all scores."""


def reached(scores: NDArray[Any], k: int) -> float:
    """Return a score that at least ``k`` scores reach: the one at rank ``k``, or a lower one.

    Many scores are divided into groups. The ``k``-th of the highest scores of all groups is what is returned.

    Args:
        scores: At least ``k`` scores.
        k: The rank, from 1.
    """
    import numpy as np

    groups = max(_GROUPS, 8 * k)
    if (rows := len(scores) // groups) > 1:
        scores = scores[: rows * groups].reshape(rows, groups).max(axis=0)
    return float(np.partition(scores, -k)[-k])
