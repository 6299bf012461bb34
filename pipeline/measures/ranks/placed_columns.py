"""The ranks of the judged documents of many queries, from columns that hold those of all."""

from __future__ import annotations

import itertools
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
    order = np.lexsort((rank, owner))
    columns = [column[order].tolist() for column in (rank, grades, above, equal)]
    ends = np.searchsorted(owner[order], np.arange(len(sizes) + 1)).tolist()
    places = zip(sizes, itertools.pairwise(ends), strict=True)
    return [Placed(size, *(column[start:end] for column in columns)) for size, (start, end) in places]
