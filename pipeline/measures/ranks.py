"""The ranks of judged documents: all that measures need of a run.

The order is trec_eval's: score descending, then document id descending by code point; the rank column is not read. The
rank of a document is thus 1 + |higher scores| + |equal scores with a greater id|, and nothing need be sorted.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Literal, NamedTuple

Qrels = Mapping[str, Mapping[str, int]]
"""The grade of each judged document, by query. A negative grade is no judgment."""

Scores = Literal["float64", "float32"]
"""How scores are compared: trec_eval 10 holds them as float64, trec_eval 9 and everything built on it as float32."""

_MANY_DOCUMENTS = 256
_NUMPY_PAYS = 300_000


class Hit(NamedTuple):
    """A judged document in a ranking: its rank, its grade, how many scores are higher, how many equal with its own."""

    rank: int
    grade: int
    above: int
    equal: int


class Placed(NamedTuple):
    """What one query retrieved: how many documents, and the judged ones in rank order."""

    retrieved: int
    hits: list[Hit]


class DuplicateDocument(Exception):
    """A query holds a document twice; with two scores it would have two ranks."""

    def __init__(self, query_id: str, doc_id: str) -> None:
        self.query_id, self.doc_id = query_id, doc_id
        super().__init__("a document stands twice in the list of one query; keep one of the two")


class BadScore(Exception):
    """A score is no finite number."""

    def __init__(self, query_id: str, found: object) -> None:
        self.query_id = query_id
        shown = repr(float(found)) if isinstance(found, float) else f"of type {type(found).__name__}"
        super().__init__(f"a score is {shown}, and must be a finite number")


def rank_of(doc_id: str, above: int, equals: Iterable[str]) -> int:
    """Return the rank of a document that ``above`` others outscore and that ties with ``equals``, itself included."""
    return 1 + above + sum(other > doc_id for other in equals)


def in_order(documents: Mapping[str, float], *, scores: Scores = "float64") -> list[str]:
    """Return the documents of one query in trec_eval's order."""
    values: Sequence[float] = list(documents.values())
    if scores == "float32":
        values = array("f", values).tolist()
    return [doc_id for _, doc_id in sorted(zip(values, documents, strict=True), reverse=True)]


def place_mapping(qrels: Qrels, run: Mapping[str, Mapping[str, float]], *, scores: Scores) -> dict[str, Placed]:
    """Return where each judged query of ``run`` has its judged documents.

    Args:
        qrels: the judgments.
        run: the score of each retrieved document, by query.
        scores: how scores are compared.

    Raises:
        BadScore: a score is NaN, infinite or no number.
    """
    total = sum(len(run[query_id]) for query_id in qrels if query_id in run)
    by_numpy = _place_by_numpy if total >= _NUMPY_PAYS else _place
    placed = {}
    for query_id, judged in qrels.items():
        documents = run.get(query_id)
        if documents is not None:
            place = by_numpy if len(documents) >= _MANY_DOCUMENTS else _place
            try:
                placed[query_id] = place(judged, documents, single=scores == "float32")
            except (TypeError, ValueError):
                raise BadScore(query_id, _bad(documents.values())) from None
    return placed


def _place(judged: Mapping[str, int], documents: Mapping[str, float], *, single: bool) -> Placed:
    values: Sequence[float] = list(documents.values())
    if not isfinite(sum(values)) and not all(map(isfinite, values)):
        raise ValueError
    if single:
        values = array("f", values).tolist()
        documents = dict(zip(documents, values, strict=True))
    found = [(doc_id, grade) for doc_id, grade in judged.items() if grade >= 0 and doc_id in documents]
    if not found:
        return Placed(len(documents), [])
    ordered = sorted(values)
    hits = []
    tied: dict[float, list[str]] = {}
    for doc_id, grade in found:
        score = documents[doc_id]
        upper = bisect_right(ordered, score)
        equal = upper - bisect_left(ordered, score)
        above = len(ordered) - upper
        if equal > 1:
            tied[score] = []
        hits.append((doc_id, score, Hit(above + 1, grade, above, equal)))
    if tied:
        for doc_id, score in documents.items():
            if score in tied:
                tied[score].append(doc_id)
    return Placed(len(documents), sorted(_settled(*hit, tied) for hit in hits))


def _settled(doc_id: str, score: float, hit: Hit, tied: Mapping[float, list[str]]) -> Hit:
    return hit if hit.equal == 1 else hit._replace(rank=rank_of(doc_id, hit.above, tied[score]))


def _place_by_numpy(judged: Mapping[str, int], documents: Mapping[str, float], *, single: bool) -> Placed:
    """Do the same by counting over an array, several times faster for long lists in no order."""
    import numpy as np

    from pipeline.measures.counting import count_above

    values = np.fromiter(documents.values(), np.float64, len(documents))
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        raise ValueError
    if single:
        with np.errstate(over="ignore"):
            values = values.astype(np.float32)
    found = [(doc_id, grade) for doc_id, grade in judged.items() if grade >= 0 and doc_id in documents]
    if not found:
        return Placed(len(documents), [])
    names = None
    hits = []
    with np.errstate(over="ignore"):
        own = np.array([documents[doc_id] for doc_id, _ in found], np.float64).astype(values.dtype)
    above_all, equal_all = count_above(values, own)
    for (doc_id, grade), score, above, equal in zip(found, own, above_all, equal_all, strict=True):
        rank = above + 1
        if equal > 1:
            names = names or list(documents)
            rank = rank_of(doc_id, above, (names[i] for i in np.flatnonzero(values == score).tolist()))
        hits.append(Hit(rank, grade, above, equal))
    hits.sort()
    return Placed(len(documents), hits)


def _bad(values: Iterable[object]) -> object:
    return next((v for v in values if not isinstance(v, int | float) or not isfinite(v)), None)
