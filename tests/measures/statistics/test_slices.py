"""Parts of the queries."""

from __future__ import annotations

import numpy as np
import pytest

from goldbench.measures.statistics.slices import slicings


def cut(about: dict[str, dict[str, object]], values: list[float] | None = None):
    ids = sorted(about)
    scores = np.array(values or [1.0] * len(ids))[:, None]
    return {slicing.trait: slicing for slicing in slicings(ids, scores, ["s"], about=about, seed=0)}


def test_a_part_holds_the_queries_of_its_trait() -> None:
    found = cut(
        {**{f"a{n}": {"kind": "fact"} for n in range(5)}, "b": {"kind": "reason"}, "d": {}},
        values=[1, 0, 0.5, 0, 1, 0, 1],
    )
    assert [(part.name, part.queries) for part in found["type"].parts] == [("fact", 5), ("reason", 1)]
    assert found["type"].parts[0].scores["s"].mean == pytest.approx(0.5)
    assert found["type"].parts[1].scores["s"].low is None
