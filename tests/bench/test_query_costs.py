"""What a search costs: dollars, and the percentiles of its seconds."""

from __future__ import annotations

from goldbench.bench.search import parts_of, usd_per_1000
from goldbench.records.manifest import StageUsage


def test_what_runs_here_costs_nothing() -> None:
    assert usd_per_1000({}, {}, 10, here=True) == 0.0


def test_charges_are_those_of_the_queries_alone() -> None:
    before = {"embed": StageUsage(requests=5, usd=1.0)}
    after = {"embed": StageUsage(requests=25, usd=1.4), "rerank": StageUsage(requests=20, usd=0.2)}
    assert usd_per_1000(before, after, 20, here=False) == 30.0


def test_nothing_is_known_without_prices_with_stored_answers_and_without_calls() -> None:
    assert usd_per_1000({}, {"embed": StageUsage(requests=20, usd=None)}, 20, here=False) is None
    assert usd_per_1000({}, {"embed": StageUsage(requests=20, replayed=1, usd=0.1)}, 20, here=False) is None
    assert usd_per_1000({}, {}, 20, here=False) is None


def test_what_a_model_took_stands_apart_from_searching() -> None:
    found = parts_of([0.010, 0.030], [{"embed": 0.004}, {"embed": 0.020, "rerank": 0.002}])
    assert {part: one and one.p50_ms for part, one in found.items()} == {
        "whole": 20,
        "search": 7,
        "embed": 12,
        "rerank": 1,
        "expand": None,
    }
