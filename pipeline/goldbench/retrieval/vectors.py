"""Search of vectors by normalised inner product, comparing every vector (flat) or through a navigable graph (HNSW).

What a search finds is scored again in double precision, so that a score depends on its two vectors alone and equal
vectors score equally.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from goldbench.errors import MissingExtra, RetrieverFailed
from goldbench.measures.ranks.order import highest, in_tie_order
from goldbench.measures.statistics.floats import of_finite_numbers
from goldbench.retrieval.system_settings import IndexKind, Vectors

Rows = npt.NDArray[np.float32]

_MARGIN = 1e-5
"""Two scores closer than this may be in the wrong order in single precision."""
_BLOCK_NUMBERS = 2**25
"""Limits the scores held at a time, as a number of floats."""
_ROWS_AT_ONCE = 2**14
"""Vectors converted to double precision at a time."""


class VectorIndex:
    """The vectors of passages, searched by normalised inner product.

    Source: HNSW is Malkov and Yashunin, IEEE TPAMI 42 (2020), as ``faiss.IndexHNSWFlat`` builds it.
    """

    def __init__(self, settings: Vectors) -> None:
        """Take how vectors are searched.

        Raises:
            MissingExtra: HNSW is asked for and faiss is not installed.
        """
        self._settings = settings
        self._faiss: Any = None
        if settings.index is IndexKind.HNSW:
            try:
                import faiss
            except ImportError:
                raise MissingExtra("faiss-cpu", "dense") from None
            self._faiss = faiss
        self._ids: list[str] = []
        self._positions: dict[str, int] = {}
        self._tie_places = np.empty(0, dtype=np.int64)
        self._rows: Rows = np.empty((0, 0), dtype=np.float32)
        self._graph: Any = None

    def index(self, ids: Sequence[str], rows: npt.NDArray[Any]) -> None:
        """Index one row per id, in place of what was indexed before.

        Raises:
            RetrieverFailed: An id occurs twice, or the rows are not one finite vector other than 0 for each id.
        """
        self._rows = normalised(rows, ids, what="passage")
        self._ids = list(ids)
        self._positions = {doc_id: position for position, doc_id in enumerate(self._ids)}
        if len(self._positions) < len(self._ids):
            raise RetrieverFailed("the same passage id stands for two vectors; give each its own")
        places = {doc_id: rank for rank, doc_id in enumerate(in_tie_order(self._ids))}
        self._tie_places = np.array([places[doc_id] for doc_id in self._ids], dtype=np.int64)
        self._graph = None
        if self._faiss is not None and self._ids:
            self._graph = _graph(self._rows, self._settings, self._faiss)

    def search(self, ids: Sequence[str], rows: npt.NDArray[Any], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query id at most ``k`` passages with their cosine, best first, equal ones by id descending.

        Args:
            ids: The ids of the queries.
            rows: One vector per query.
            k: Passages per query at most.

        Raises:
            RetrieverFailed: The rows are not one finite vector other than 0 for each query, of the passages' dimension.
        """
        if not self._ids or not len(ids):
            return {query_id: {} for query_id in ids}
        queries = normalised(rows, ids, what="query", dimensions=self._rows.shape[1])
        count = min(k, len(self._ids))
        candidates = self._through_graph(queries, count) if self._graph is not None else self._compared(queries, count)
        return {
            query_id: self._ranked(passages, query, count)
            for query_id, query, passages in zip(ids, queries, candidates, strict=True)
        }

    def rows_of(self, ids: Sequence[str]) -> Rows:
        """Return the normalised vectors of these passages.

        Raises:
            RetrieverFailed: A passage has no vector.
        """
        missing = next((doc_id for doc_id in ids if doc_id not in self._positions), None)
        if missing is not None:
            raise RetrieverFailed(f"has no vector of passage {missing!r}")
        return self._rows[[self._positions[doc_id] for doc_id in ids]]

    def _ranked(self, passages: npt.NDArray[np.int64], query: Rows, count: int) -> dict[str, float]:
        scores = _products(self._rows, passages, query)
        ranked = highest(scores, count, self._tie_places[passages])
        return {self._ids[passages[position]]: float(scores[position]) for position in ranked}

    def _through_graph(self, queries: Rows, count: int) -> Iterator[npt.NDArray[np.int64]]:
        _, positions = self._graph.search(queries, count)
        return (row[row >= 0] for row in positions)

    def _compared(self, queries: Rows, count: int) -> Iterator[npt.NDArray[np.int64]]:
        """Yield for each query the passages that may be among the best ``count``: those, and all too close to call."""
        total = len(self._ids)
        step = max(1, _BLOCK_NUMBERS // total)
        for start in range(0, len(queries), step):
            with of_finite_numbers():
                scores = queries[start : start + step] @ self._rows.T
            kth = np.partition(scores, total - count, axis=1)[:, total - count]
            for row, least in zip(scores, kth, strict=True):
                yield np.flatnonzero(row >= least - _MARGIN)


def normalised(rows: npt.NDArray[Any], ids: Sequence[str], *, what: str, dimensions: int | None = None) -> Rows:
    """Return the rows scaled to length 1, as float32.

    Args:
        rows: One vector per id.
        ids: The ids that the rows belong to, in order.
        what: What the ids name, for messages: ``passage`` or ``query``.
        dimensions: The size that a vector must have; None allows any.

    Raises:
        RetrieverFailed: Another number of rows or columns, a number that is not finite, or a vector that is all 0.
    """
    if rows.ndim != 2 or len(rows) != len(ids) or (len(ids) and not rows.shape[1]):
        shape = " x ".join(map(str, rows.shape))
        many = "queries" if what == "query" else f"{what}s"
        raise RetrieverFailed(f"{len(ids):,} {many}, but vectors of shape {shape}; give one row for each")
    if dimensions is not None and rows.shape[1] != dimensions:
        problem = f"the {what} vectors have {rows.shape[1]} dimensions, the passages' {dimensions}; use one model"
        raise RetrieverFailed(problem)
    unit = np.empty(rows.shape, dtype=np.float32)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        block = np.asarray(rows[start : start + _ROWS_AT_ONCE], dtype=np.float64)
        finite = np.isfinite(block).all(axis=1)
        if not finite.all():
            bad = ids[start + int(np.argmin(finite))]
            raise RetrieverFailed(f"the vector of {what} {bad!r} holds a number that is not finite")
        largest = np.abs(block).max(axis=1, keepdims=True)
        if not largest.all():
            bad = ids[start + int(np.argmin(largest))]
            raise RetrieverFailed(f"the vector of {what} {bad!r} is all 0: it has no direction to compare")
        block = block / largest  # squares of very large or small numbers overflow
        unit[start : start + len(block)] = block / np.sqrt(np.einsum("ij,ij->i", block, block))[:, None]
    return unit


def _products(rows: Rows, positions: npt.NDArray[np.int64], query: Rows) -> npt.NDArray[np.float64]:
    # Summed row by row: a product of matrices may round two equal rows differently.
    wide = query.astype(np.float64)
    parts = [
        (rows[positions[start : start + _ROWS_AT_ONCE]] * wide).sum(axis=1)
        for start in range(0, len(positions), _ROWS_AT_ONCE)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def _graph(rows: Rows, settings: Vectors, faiss: Any) -> Any:  # noqa: ANN401  an index of a library without types
    graph = faiss.IndexHNSWFlat(rows.shape[1], settings.M, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = settings.efConstruction
    graph.hnsw.efSearch = settings.efSearch
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # with several threads the graph differs every time
    try:
        graph.add(rows)
    finally:
        faiss.omp_set_num_threads(threads)
    return graph
