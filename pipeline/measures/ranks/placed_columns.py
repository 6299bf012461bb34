"""The ranks of the judged documents of many queries, from columns that hold those of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from goldbench.pipeline.measures.ranks.judged_ranks import Placed
from goldbench.pipeline.measures.ranks.order import in_tie_order

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray


def placed_queries(
    sizes: Sequence[int],
    owner: NDArray[np.int64],
    rank: NDArray[np.int64],
    grades: NDArray[Any],
    above: NDArray[np.int64],
    equal: NDArray[np.int64],
) -> list[Placed]:
    """Return where each query has its judged documents.

    Args:
        sizes: How many documents each query retrieved.
        owner: The query of each judged document, as its position in ``sizes``.
        rank: The rank of each judged document.
        grades: The grade of each.
        above: How many scores of its query are higher than its own.
        equal: How many equal it, its own included.
    """
    order = np.argsort(owner * (rank.max(initial=0) + 1) + rank)
    columns = (column[order].tolist() for column in (rank, grades, above, equal))
    ranks, graded, higher, same = columns
    ends = np.searchsorted(owner[order], np.arange(len(sizes) + 1)).tolist()
    return [
        Placed(size, ranks[start:end], graded[start:end], higher[start:end], same[start:end])
        for size, start, end in zip(sizes, ends, ends[1:], strict=False)
    ]


def tied_before(docs: pl.Series, at: NDArray[np.int64], ties: Mapping[int, NDArray[np.int64]]) -> list[int]:
    """Return for each document that shares its score how many of the same score rank before it.

    Args:
        docs: The document of each row.
        at: The row of each judged document.
        ties: For a judged document, as its position in ``at``, the rows of its query with its score; at least one.
    """
    groups = {int(rows[0]): rows for rows in ties.values()}
    ids = iter(docs.gather(np.concatenate(list(groups.values()))).to_list())
    before: dict[int, int] = {}
    for rows in groups.values():
        row_of = dict(zip(islice(ids, len(rows)), rows.tolist(), strict=True))
        before.update((row_of[doc_id], place) for place, doc_id in enumerate(in_tie_order(row_of)))
    return [before[row] for row in at[list(ties)].tolist()]
