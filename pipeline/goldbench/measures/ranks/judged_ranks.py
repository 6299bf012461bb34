"""The ranks of judged documents, which are all that measures need of a run; counted, so that no list is sorted."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Literal, NamedTuple

from goldbench.measures.ranks.order import rank_of

Qrels = Mapping[str, Mapping[str, int]]
"""The grade of each judged document, by query. A negative grade does not count as a judgment."""

HIGHEST_GRADE = 1000
"""A grade above this, or below its negative, is refused as a mistake."""

GRADES = f"a whole number from -{HIGHEST_GRADE} to {HIGHEST_GRADE}"

Scores = Literal["float64", "float32"]
"""How scores are compared: trec_eval 10 holds them as float64, trec_eval 9 and everything built on it as float32."""


class JudgedColumns(NamedTuple):
    """How many documents one query retrieved, and columns of the judged ones among them, in rank order.

    ``ranks`` counts from 1, ``grades`` is 0 or more, ``above`` is how many scores are higher than the document's own,
    ``equal`` how many equal it, its own included.
    """

    retrieved: int
    ranks: list[int]
    grades: list[int]
    above: list[int]
    equal: list[int]


class Hit(NamedTuple):
    """A retrieved document that is judged, and its score as it is compared."""

    doc_id: str
    grade: int
    score: float


class DuplicateDocument(Exception):
    """A query holds a document twice; with two scores it would have two ranks."""

    def __init__(self, query_id: str, doc_id: str) -> None:
        self.query_id = query_id
        self.doc_id = doc_id
        super().__init__("a document is listed twice for one query; keep one of the two")


class BadScore(Exception):
    """A score is not a finite number."""

    def __init__(self, query_id: str, score: object) -> None:
        self.query_id = query_id
        shown = repr(float(score)) if isinstance(score, float) else f"of type {type(score).__name__}"
        super().__init__(f"a score is {shown}; it must be a finite number")


def place_mapping(qrels: Qrels, run: Mapping[str, Mapping[str, float]], *, scores: Scores) -> dict[str, JudgedColumns]:
    """Return where each judged query of ``run`` has its judged documents.

    Args:
        qrels: The judgments.
        run: The score of each retrieved document, by query.
        scores: How scores are compared.

    Raises:
        BadScore: A score is not a finite number.
    """
    placed = {}
    for query_id, judged in qrels.items():
        documents = run.get(query_id)
        if documents is None:
            continue
        values = _compared(query_id, documents.values(), scores)
        grades = {doc_id: grade for doc_id, grade in judged.items() if grade >= 0 and doc_id in documents}
        own = _compared(query_id, [documents[doc_id] for doc_id in grades], scores)
        hits = list(map(Hit, grades, grades.values(), own))
        pairs = zip(documents, values, strict=True)
        placed[query_id] = place_hits(hits, sorted(values) if hits else values, pairs)
    return placed


def place_hits(hits: Sequence[Hit], ordered: Sequence[float], documents: Iterable[tuple[str, float]]) -> JudgedColumns:
    """Return the place of a query's judged documents.

    Args:
        hits: The retrieved documents that are judged.
        ordered: The scores of all retrieved documents, ascending.
        documents: All retrieved documents with their scores; read only if a judged one shares its score.
    """
    rows = []
    tied: dict[float, list[str]] = {}
    for _, grade, score in hits:
        upper = bisect_right(ordered, score)
        equal = upper - bisect_left(ordered, score, 0, upper)
        above = len(ordered) - upper
        rows.append((above + 1, grade, above, equal))
        if equal > 1:
            tied[score] = []
    if tied:
        for doc_id, score in documents:
            if score in tied:
                tied[score].append(doc_id)
        for position, (doc_id, grade, score) in enumerate(hits):
            _, _, above, equal = rows[position]
            if equal > 1:
                rows[position] = (rank_of(doc_id, above, tied[score]), grade, above, equal)
    columns = [list(column) for column in zip(*sorted(rows), strict=True)] or [[], [], [], []]
    return JudgedColumns(len(ordered), *columns)


def _compared(query_id: str, values: Iterable[float], scores: Scores) -> list[float]:
    """Return the scores of a query as they are compared.

    Raises:
        BadScore: One is not a finite number.
    """
    numbers = list(values)
    if not {float}.issuperset(map(type, numbers)):  # numbers of other types compare differently
        numbers = [_float64(query_id, value) for value in numbers]
    if not isfinite(sum(numbers)):
        for value in numbers:
            if not isfinite(value):
                raise BadScore(query_id, value)
    return array("f", numbers).tolist() if scores == "float32" else numbers


def _float64(query_id: str, value: float) -> float:
    try:
        return array("d", [value])[0]
    except (TypeError, ValueError, OverflowError):
        raise BadScore(query_id, value) from None


def single_precision(documents: Mapping[str, float]) -> dict[str, float]:
    """Return the scores of one query rounded to float32."""
    return dict(zip(documents, array("f", documents.values()), strict=True))
