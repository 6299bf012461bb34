"""From seconds to percentiles."""

from __future__ import annotations

from goldbench.bench.search import parts_of


def test_what_a_model_took_stands_apart_from_searching() -> None:
    found = parts_of([0.010, 0.030], [{"embed": 0.004}, {"embed": 0.020, "rerank": 0.002}])
    assert {part: one and one.p50_ms for part, one in found.items()} == {
        "whole": 20,
        "search": 7,
        "embed": 12,
        "rerank": 1,
        "expand": None,
    }
