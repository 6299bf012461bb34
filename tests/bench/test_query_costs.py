"""What queries cost: 0 on this machine, the charges of models, or nothing known."""

from __future__ import annotations

from goldbench.bench.search import usd_per_1000
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
