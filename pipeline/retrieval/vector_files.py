"""Vectors made elsewhere as an encoder: each passage and each query has its own in a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pipeline.errors import RetrieverFailed
from pipeline.retrieval.vectors import Rows


class Table(Protocol):
    """Vectors by id, as read from a file that ``source`` names."""

    @property
    def source(self) -> str:
        """The file."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Whose the rows are, each once."""

    @property
    def rows(self) -> npt.NDArray[np.float32]:
        """The vectors."""


class FileEncoder:
    """Vectors from two tables. The passages' table holds the corpus and nothing else; the queries' may hold more."""

    def __init__(self, *, name: str, passages: Table, queries: Table) -> None:
        """Take the tables.

        Raises:
            RetrieverFailed: their vectors have different sizes.
        """
        self._name, self._passages, self._queries = name, passages, queries
        sizes = passages.rows.shape[1], queries.rows.shape[1]
        if sizes[0] != sizes[1]:
            problem = f"vectors of {sizes[0]} numbers in {passages.source}, of {sizes[1]} in {queries.source}"
            raise RetrieverFailed(name, f"{problem}; both must be of one model")

    def passages(self, texts: Mapping[str, str]) -> Rows:
        """Return one row per passage, in order.

        Raises:
            RetrieverFailed: the table lacks a passage, or has a row that is of none.
        """
        rows = self._rows(self._passages, texts, "passages")
        stranger = next((row for row, doc_id in enumerate(self._passages.ids, start=1) if doc_id not in texts), None)
        if stranger is not None:
            doc_id = self._passages.ids[stranger - 1]
            problem = f"{self._passages.source}, row {stranger}: {doc_id[:80]!r} is no passage of the corpus"
            raise RetrieverFailed(self._name, problem)
        return rows

    def queries(self, texts: Mapping[str, str]) -> Rows:
        """Return one row per query, in order.

        Raises:
            RetrieverFailed: the table lacks a query.
        """
        return self._rows(self._queries, texts, "queries")

    def _rows(self, table: Table, texts: Mapping[str, str], what: str) -> Rows:
        places = {doc_id: place for place, doc_id in enumerate(table.ids)}
        missing = [doc_id for doc_id in texts if doc_id not in places]
        if missing:
            problem = f"{table.source} has no vector of {len(missing):,} of {len(texts):,} {what}, as of {missing[0]!r}"
            raise RetrieverFailed(self._name, f"{problem}; it has {len(places):,} rows")
        return table.rows[[places[doc_id] for doc_id in texts]]
