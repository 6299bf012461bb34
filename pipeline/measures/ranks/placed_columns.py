"""The ranks of the judged documents of many queries, from columns that hold those of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from goldbench.pipeline.measures.ranks.judged_ranks import Placed

if TYPE_CHECKING:
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
