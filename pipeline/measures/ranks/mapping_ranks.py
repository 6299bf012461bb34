"""The ranks of judged documents in dicts of scores: by arrays if there are many results."""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from math import isfinite
from typing import Any

from goldbench.pipeline.measures.ranks.judged_ranks import (
    BadScore,
    Placed,
    Qrels,
    Scores,
    in_rank_order,
    single_precision,
)
from goldbench.pipeline.measures.ranks.order import rank_of

_NUMPY_PAYS = 300_000
"""From this number of results on arrays are used. They take 28 ms of CPU for 300,000 results where plain Python takes
41 (100 in single precision), and importing numpy takes at least 80. The choice depends on nothing but the number, so
that a run takes the same way whatever the calling program has imported."""


def place_mapping(qrels: Qrels, run: Mapping[str, Mapping[str, float]], *, scores: Scores) -> dict[str, Placed]:
    """Return where each judged query of ``run`` has its judged documents.

    Args:
        qrels: The judgments.
        run: The score of each retrieved document, by query.
        scores: How scores are compared.

    Raises:
        BadScore: A score is not a finite number.
    """
    single = scores == "float32"
    try:
        if _results(qrels, run) >= _NUMPY_PAYS:
            from goldbench.pipeline.measures.ranks.score_arrays import place_by_arrays

            return place_by_arrays(qrels, run, single=single)
        return {
            query_id: _place(judged, run[query_id], single=single)
            for query_id, judged in qrels.items()
            if query_id in run
        }
    except (TypeError, ValueError, OverflowError, struct.error):
        for query_id in qrels:
            _refuse_bad(query_id, run.get(query_id, {}))
        raise


def _results(qrels: Qrels, run: Mapping[str, Mapping[str, float]]) -> int:
    return sum(len(run[query_id]) for query_id in qrels if query_id in run)


def _place(judged: Mapping[str, int], documents: Mapping[str, float], *, single: bool) -> Placed:
    if not {float}.issuperset(map(type, documents.values())):  # numbers of other types compare differently
        documents = dict(zip(documents, array("d", documents.values()), strict=True))
    ordered = sorted(documents.values())
    if not isfinite(sum(ordered)) and not all(map(isfinite, ordered)):
        raise ValueError
    found = [(doc_id, grade) for doc_id, grade in judged.items() if doc_id in documents and grade >= 0]
    if not found:
        return in_rank_order(len(documents), [])
    if single:
        ordered = array("f", ordered).tolist()
        documents = single_precision(documents)
    rows = []
    tied: dict[float, list[str]] = {}
    for doc_id, grade in found:
        score = documents[doc_id]
        upper = bisect_right(ordered, score)
        equal = upper - bisect_left(ordered, score, 0, upper)
        above = len(ordered) - upper
        if equal > 1:
            tied[score] = []
        rows.append((above + 1, grade, above, equal))
    if tied:
        for doc_id, score in documents.items():
            if score in tied:
                tied[score].append(doc_id)
        rows = [
            row if row[3] == 1 else (rank_of(doc_id, row[2], tied[documents[doc_id]]), *row[1:])
            for (doc_id, _), row in zip(found, rows, strict=True)
        ]
    return in_rank_order(len(documents), rows)


def _refuse_bad(query_id: str, documents: Mapping[Any, Any]) -> None:
    """Refuse the first score that is not a finite number, and documents that are not all strings."""
    for value in documents.values():
        try:
            finite = isfinite(array("d", [value])[0])
        except (TypeError, ValueError, OverflowError):
            finite = False
        if not finite:
            raise BadScore(query_id, value) from None
    if not all(isinstance(doc_id, str) for doc_id in documents):
        raise BadScore(query_id, None) from None
