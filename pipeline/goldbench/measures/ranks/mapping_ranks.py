"""The ranks of judged documents in dicts of scores."""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from math import isfinite
from typing import Any

from goldbench.measures.ranks.judged_ranks import BadScore, Placed, Qrels, Scores, in_rank_order
from goldbench.measures.ranks.order import rank_of


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
        return {
            query_id: _place(judged, run[query_id], single=single)
            for query_id, judged in qrels.items()
            if query_id in run
        }
    except (TypeError, ValueError, OverflowError, struct.error):
        for query_id in qrels:
            _refuse_bad(query_id, run.get(query_id, {}))
        raise


def _place(judged: Mapping[str, int], documents: Mapping[str, float], *, single: bool) -> Placed:
    values = list(documents.values())
    if not {float}.issuperset(map(type, values)):  # numbers of other types compare differently
        values = array("d", values).tolist()
    if not isfinite(sum(values)) and not all(map(isfinite, values)):
        raise ValueError
    hits = [(doc_id, grade) for doc_id, grade in judged.items() if doc_id in documents and grade >= 0]
    if not hits:
        return in_rank_order(len(documents), [])
    own = array("d", (documents[doc_id] for doc_id, _ in hits))
    if single:
        values = array("f", values).tolist()
        own = array("f", own)
    ordered = sorted(values)
    rows = []
    tied: dict[float, list[str]] = {}
    for (_, grade), score in zip(hits, own, strict=True):
        upper = bisect_right(ordered, score)
        equal = upper - bisect_left(ordered, score, 0, upper)
        above = len(ordered) - upper
        if equal > 1:
            tied[score] = []
        rows.append((above + 1, grade, above, equal))
    if tied:
        for doc_id, score in zip(documents, values, strict=True):
            if score in tied:
                tied[score].append(doc_id)
        rows = [
            row if row[3] == 1 else (rank_of(doc_id, row[2], tied[score]), *row[1:])
            for (doc_id, _), score, row in zip(hits, own, rows, strict=True)
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
