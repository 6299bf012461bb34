"""The judgments as columns, looked up among the rows of a run."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from goldbench.pipeline.measures.ranks.judged_ranks import Qrels

MIX = np.uint64(0x9E3779B97F4A7C15)
"""An odd number that spreads the bits of a query over a hash of a row."""


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
        self.docs = self.frame["doc"].unique()

    def found_in(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of ``frame`` that are judged, with their place in it (``at``) and their ``grade``."""
        known = frame["doc"].is_in(self.docs.implode())
        at = known.arg_true()
        rows = frame.select("query", "doc").filter(known).with_columns(at=at)
        return rows.join(self.frame, on=["query", "doc"], how="inner").sort("at")
