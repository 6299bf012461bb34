"""The ranks of judged documents, which are all that measures need of a run; counted, so that no list is sorted."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Literal, NamedTuple

Qrels = Mapping[str, Mapping[str, int]]
"""The grade of each judged document, by query. A negative grade does not count as a judgment."""

HIGHEST_GRADE = 1000
"""A grade above this, or below its negative, is refused as a mistake."""

GRADES = f"a whole number from -{HIGHEST_GRADE} to {HIGHEST_GRADE}"

Scores = Literal["float64", "float32"]
"""How scores are compared: trec_eval 10 holds them as float64, trec_eval 9 and everything built on it as float32."""


class Placed(NamedTuple):
    """How many documents one query retrieved, and columns of the judged ones among them, in rank order.

    ``ranks`` counts from 1, ``grades`` is 0 or more, ``above`` is how many scores are higher than the document's own,
    ``equal`` how many equal it, its own included.
    """

    retrieved: int
    ranks: list[int]
    grades: list[int]
    above: list[int]
    equal: list[int]


def in_rank_order(retrieved: int, rows: list[tuple[int, int, int, int]]) -> Placed:
    """Return the place of a query's judged documents.

    Args:
        retrieved: How many documents the query retrieved.
        rows: The rank, grade, number of higher and number of equal scores of each judged document.
    """
    ranks, grades, above, equal = map(list, zip(*sorted(rows), strict=True)) if rows else ([], [], [], [])
    return Placed(retrieved, ranks, grades, above, equal)


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
