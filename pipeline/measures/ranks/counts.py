"""How many scores are higher than one, and how many equal: what a rank is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW_HITS = 8
"""Up to here the scores above a document are counted, one document at a time; beyond, they are sorted."""


def count_above(values: NDArray[Any], own: NDArray[Any]) -> tuple[list[int], list[int]]:
    """Return for each of ``own`` how many of ``values`` are greater, and how many equal."""
    if len(own) <= FEW_HITS:
        above = [int(np.count_nonzero(values > score)) for score in own]
        return above, [int(np.count_nonzero(values == score)) for score in own]
    ordered = np.sort(values)
    upper = np.searchsorted(ordered, own, "right")
    equal = upper - np.searchsorted(ordered, own, "left")
    return (len(values) - upper).tolist(), equal.tolist()
