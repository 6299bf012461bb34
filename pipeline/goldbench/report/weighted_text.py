"""Weighted means beside those that count every query once: a table, and members of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from goldbench.measures.result import Result
from goldbench.measures.statistics.floats import effective_size
from goldbench.records.scorecard import Score


def table_rows(results: Mapping[str, Result], means: Mapping[str, Mapping[str, Score]]) -> list[list[str]]:
    """Return the headings, then a row for each run and measure.

    Args:
        results: Weighted results by the name of the run.
        means: The weighted mean of each measure with its interval, by run.
    """
    rows = [["run", "measure", "weighted mean", "95 % interval", "mean of all queries alike"]]
    for name, result in results.items():
        alike = replace(result, weights=None)
        for measure, one in means[name].items():
            ends = f"{one.low:.4f} to {one.high:.4f}" if one.low is not None and one.high is not None else ""
            rows.append([name, measure, f"{one.mean:.4f}", ends, f"{alike.mean(measure):.4f}"])
    return rows


def as_member(result: Result, means: Mapping[str, Score]) -> dict[str, Any]:
    """Return what JSON says of the weights: what they are, their effective number of queries, intervals, plain means.

    Args:
        result: A weighted result.
        means: The weighted mean of each measure with its interval.
    """
    assert result.weights is not None
    alike = replace(result, weights=None)
    return {
        "by": result.weighted_by,
        "effective_queries": round(effective_size(result.weights), 1),
        "intervals": {name: [one.low, one.high] for name, one in means.items() if one.low is not None},
        "unweighted": {measure: alike.mean(measure) for measure in result.values},
    }
