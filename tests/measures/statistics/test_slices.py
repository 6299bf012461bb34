"""Parts of the queries."""

from __future__ import annotations

import numpy as np
import pytest

from goldbench.measures.statistics.slices import FEW, MOST_PARTS, slicings


def cut(about: dict[str, dict[str, object]], texts: dict[str, str] | None = None, values: list[float] | None = None):
    ids = sorted(about)
    scores = np.array(values or [1.0] * len(ids))[:, None]
    return {
        slicing.trait: slicing
        for slicing in slicings(ids, scores, ["s"], texts=texts or {}, about=about, resamples=100, seed=0)
    }


def test_a_part_holds_the_queries_of_its_trait() -> None:
    found = cut(
        {**{f"a{n}": {"kind": "fact"} for n in range(5)}, "b": {"kind": "reason"}, "d": {}},
        values=[1, 0, 0.5, 0, 1, 0, 1],
    )
    assert [(part.name, part.queries) for part in found["type"].parts] == [("fact", 5), ("reason", 1)]
    assert found["type"].parts[0].scores["s"].mean == pytest.approx(0.5)
    assert found["type"].parts[1].scores["s"].low is None


def test_numbers_are_cut_in_thirds_and_equal_ones_stay_together() -> None:
    found = cut({f"q{n:02}": {"overlap": n / 30} for n in range(30)})["word overlap with the source"]
    assert [(part.name, part.queries) for part in found.parts] == [
        ("lowest third", 10),
        ("middle third", 10),
        ("highest third", 10),
    ]
    tied = cut({f"q{n:02}": {"overlap": n // 6} for n in range(30)})["word overlap with the source"]
    assert sum(part.queries for part in tied.parts) == 30


def test_many_sources_are_cut_short_and_counted() -> None:
    found = cut({f"q{n:03}": {"source": f"d{n % 40}"} for n in range(240)})["source"]
    assert (len(found.parts), found.rest) == (MOST_PARTS, 28)
    assert all(part.queries < FEW for part in found.parts)
