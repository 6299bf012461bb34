"""The ranks of judged documents, which are all that measures need of a run; counted, so that no list is sorted."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, Literal, NamedTuple

from goldbench.pipeline.measures.ranks.order import count_above, rank_of

Qrels = Mapping[str, Mapping[str, int]]
"""The grade of each judged document, by query. A negative grade does not count as a judgment."""

HIGHEST_GRADE = 1000
"""A grade above this, or below its negative, is refused as a mistake."""

GRADES = f"a whole number from -{HIGHEST_GRADE} to {HIGHEST_GRADE}"

Scores = Literal["float64", "float32"]
"""How scores are compared: trec_eval 10 holds them as float64, trec_eval 9 and everything built on it as float32."""

_MANY_DOCUMENTS = 256
_NUMPY_PAYS = 300_000
"""From this number of results on, numpy is worth the time that importing it takes."""


class Hit(NamedTuple):
    """A judged document in a ranking: its rank, its grade, how many scores are higher than its own, how many equal."""

    rank: int
    grade: int
    above: int
    equal: int


class Placed(NamedTuple):
    """How many documents one query retrieved, and the judged ones among them in rank order."""

    retrieved: int
    hits: list[Hit]


class DuplicateDocument(Exception):
    """A query holds a document twice; with two scores it would have two ranks."""

    def __init__(self, query_id: str, doc_id: str) -> None:
        self.query_id, self.doc_id = query_id, doc_id
        super().__init__("a document is listed twice for one query; keep one of the two")


class BadScore(Exception):
    """A score is not a finite number."""

    def __init__(self, query_id: str, found: object) -> None:
        self.query_id = query_id
        shown = repr(float(found)) if isinstance(found, float) else f"of type {type(found).__name__}"
        super().__init__(f"a score is {shown}; it must be a finite number")


def single_precision(documents: Mapping[str, float]) -> dict[str, float]:
    """Return the scores of one query rounded to float32."""
    return dict(zip(documents, array("f", documents.values()), strict=True))


def place_mapping(qrels: Qrels, run: Mapping[str, Mapping[str, float]], *, scores: Scores) -> dict[str, Placed]:
    """Return where each judged query of ``run`` has its judged documents.

    Args:
        qrels: The judgments.
        run: The score of each retrieved document, by query.
        scores: How scores are compared.

    Raises:
        BadScore: A score is not a finite number.
    """
    pays = "numpy" in sys.modules or sum(len(run[query_id]) for query_id in qrels if query_id in run) >= _NUMPY_PAYS
    by_numpy = _place_by_numpy if pays else _place
    placed = {}
    for query_id, judged in qrels.items():
        documents = run.get(query_id)
        if documents is not None:
            place = by_numpy if len(documents) >= _MANY_DOCUMENTS else _place
            try:
                placed[query_id] = place(judged, documents, single=scores == "float32")
            except (TypeError, ValueError, OverflowError):
                raise BadScore(query_id, _bad(documents.values())) from None
    return placed


def _place(judged: Mapping[str, int], documents: Mapping[str, float], *, single: bool) -> Placed:
    if not {float}.issuperset(map(type, documents.values())):  # numbers of other types compare differently
        documents = dict(zip(documents, array("d", documents.values()), strict=True))
    ordered = sorted(documents.values())
    if not isfinite(sum(ordered)) and not all(map(isfinite, ordered)):
        raise ValueError
    found = [(doc_id, grade) for doc_id, grade in judged.items() if doc_id in documents and grade >= 0]
    if not found:
        return Placed(len(documents), [])
    if single:
        ordered = array("f", ordered).tolist()
        documents = single_precision(documents)
    hits = []
    tied: dict[float, list[str]] = {}
    for doc_id, grade in found:
        score = documents[doc_id]
        upper = bisect_right(ordered, score)
        equal = upper - bisect_left(ordered, score, 0, upper)
        above = len(ordered) - upper
        if equal > 1:
            tied[score] = []
        hits.append(Hit(above + 1, grade, above, equal))
    if tied:
        for doc_id, score in documents.items():
            if score in tied:
                tied[score].append(doc_id)
        hits = [
            hit if hit.equal == 1 else hit._replace(rank=rank_of(doc_id, hit.above, tied[documents[doc_id]]))
            for (doc_id, _), hit in zip(found, hits, strict=True)
        ]
    hits.sort()
    return Placed(len(documents), hits)


def _place_by_numpy(judged: Mapping[str, int], documents: Mapping[str, float], *, single: bool) -> Placed:
    """Do the same as `_place` by counting over an array: several times faster for long lists in no order."""
    import numpy as np

    values = np.frombuffer(array("d", documents.values()))  # numpy itself would take text for numbers
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        raise ValueError
    if single:
        with np.errstate(over="ignore"):
            values = values.astype(np.float32)
    found = [(doc_id, grade) for doc_id, grade in judged.items() if doc_id in documents and grade >= 0]
    if not found:
        return Placed(len(documents), [])
    with np.errstate(over="ignore"):
        own = np.array([float(documents[doc_id]) for doc_id, _ in found], np.float64).astype(values.dtype)
    above, equal = count_above(values, own)
    hits = [Hit(higher + 1, grade, higher, same) for (_, grade), higher, same in zip(found, above, equal, strict=True)]
    if max(equal) > 1:
        names = list(documents)
        for place, ((doc_id, _), hit) in enumerate(zip(found, hits, strict=True)):
            if hit.equal > 1:
                tied = np.flatnonzero(values == own[place]).tolist()
                hits[place] = hit._replace(rank=rank_of(doc_id, hit.above, (names[i] for i in tied)))
    hits.sort()
    return Placed(len(documents), hits)


def _bad(values: Iterable[Any]) -> object:
    """Return the first value that is not a finite number."""
    for value in values:
        try:
            if not isfinite(array("d", [value])[0]):
                return value
        except (TypeError, ValueError, OverflowError):
            return value
    return None
