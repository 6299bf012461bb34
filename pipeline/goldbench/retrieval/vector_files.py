"""An encoder that takes the vectors of passages and queries from files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from goldbench.errors import RetrieverFailed
from goldbench.retrieval.vectors import Rows


class StoredVectors(Protocol):
    """Vectors by id, read from a file."""

    @property
    def source(self) -> str:
        """The path of the file."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The id of each row, each once."""

    @property
    def rows(self) -> npt.NDArray[np.float32]:
        """The vectors."""


class FileEncoder:
    """Vectors from two tables. The passages' table holds the corpus and nothing else; the queries' may hold more."""

    def __init__(self, *, passages: StoredVectors, queries: StoredVectors) -> None:
        """Take the tables.

        Raises:
            RetrieverFailed: Their vectors have different sizes.
        """
        self._passages = passages
        self._queries = queries
        sizes = passages.rows.shape[1], queries.rows.shape[1]
        if sizes[0] != sizes[1]:
            problem = f"vectors of {sizes[0]} numbers in {passages.source}, of {sizes[1]} in {queries.source}"
            raise RetrieverFailed(f"{problem}; both must come from one model")

    def passages(self, texts: Mapping[str, str]) -> Rows:
        """Return one row per passage, in order.

        Raises:
            RetrieverFailed: The table lacks a passage, or has a row of an id that is not a passage.
        """
        rows = _rows(self._passages, texts, "passages")
        for row, doc_id in enumerate(self._passages.ids, start=1):
            if doc_id not in texts:
                problem = f"{doc_id[:80]!r} is not a passage of the corpus"
                raise RetrieverFailed(f"{self._passages.source}, row {row}: {problem}")
        return rows

    def queries(self, texts: Mapping[str, str]) -> Rows:
        """Return one row per query, in order.

        Raises:
            RetrieverFailed: The table lacks a query.
        """
        return _rows(self._queries, texts, "queries")


def _rows(table: StoredVectors, texts: Mapping[str, str], what: str) -> Rows:
    places = {doc_id: position for position, doc_id in enumerate(table.ids)}
    missing = [doc_id for doc_id in texts if doc_id not in places]
    if missing:
        problem = f"{table.source} has no vector of {len(missing):,} of {len(texts):,} {what}, as of {missing[0]!r}"
        raise RetrieverFailed(f"{problem}; it has {len(places):,} rows")
    return table.rows[[places[doc_id] for doc_id in texts]]
