"""The judgments as columns, looked up among the rows of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from goldbench.pipeline.measures.ranks.judged_ranks import Qrels

if TYPE_CHECKING:
    from numpy.typing import NDArray

MIX = np.uint64(0x9E3779B97F4A7C15)
"""An odd number that spreads the bits of a query over a hash of a row."""

_SPARSE, _LARGEST = 6, 26
"""The table that tells most rows without a judgment has 2**_SPARSE places for each judgment, 2**_LARGEST at most."""


def hashes_of(doc_ids: pl.Series) -> NDArray[np.uint64]:
    """Return a hash of each document id."""
    hashes: NDArray[np.uint64] = doc_ids.hash(0).to_numpy()
    return hashes


def in_utf8(ids: Iterable[str]) -> list[str]:
    """Return the ids that UTF-8 can hold; those with half a surrogate pair are left out."""
    return [one for one in ids if one.isascii() or one.encode("utf-8", "ignore").decode() == one]


class Judgments:
    """The judgments as columns, without negative grades."""

    def __init__(self, qrels: Qrels) -> None:
        self.query_ids = in_utf8(qrels)
        pairs = [
            (query_id, doc_id, qrels[query_id][doc_id])
            for query_id in self.query_ids
            for doc_id in in_utf8(qrels[query_id])
            if qrels[query_id][doc_id] >= 0
        ]
        schema = {"query": pl.String, "doc": pl.String, "grade": pl.Int64}
        self.frame = pl.DataFrame(pairs, schema=schema, orient="row")
        hashes = hashes_of(self.frame["doc"])
        size = min(_LARGEST, max(1, len(hashes)).bit_length() + _SPARSE)
        self._shift = np.int64(64 - size)
        self._marked = np.zeros(2**size, bool)
        self._marked[self._places(hashes)] = True

    def found_in(self, frame: pl.DataFrame, hashes: NDArray[np.uint64]) -> pl.DataFrame:
        """Return the rows of ``frame`` that are judged, with their place in it (``at``) and their ``grade``.

        Args:
            frame: The rows.
            hashes: The hash of the document of each row.
        """
        known = pl.Series(self._marked[self._places(hashes)])
        rows = frame.select("query", "doc").filter(known).insert_column(2, known.arg_true().alias("at"))
        return rows.join(self.frame, on=["query", "doc"], how="inner", maintain_order="left")

    def _places(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the place of each hash in the table; half of them count from its end."""
        places: NDArray[np.int64] = hashes.view(np.int64) >> self._shift
        return places
