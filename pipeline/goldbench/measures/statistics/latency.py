"""Latency percentiles from the seconds of single queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from goldbench.records.experiment import Latency

MODEL_PARTS = ("embed", "rerank", "expand")
"""Parts of a search in which a model works."""


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of the values lies, interpolated linearly between two neighbours.

    Args:
        values: At least one value.
        share: From 0 to 1.

    Source: Hyndman and Fan, Sample quantiles in statistical packages (The American Statistician 50(4), 1996), type 7.
    """
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def latency(seconds: Sequence[float]) -> Latency:
    """Return median and 95th percentile in milliseconds, of at least one query."""
    return Latency(p50_ms=round(percentile(seconds, 0.5) * 1000, 6), p95_ms=round(percentile(seconds, 0.95) * 1000, 6))


def parts_of(seconds: Sequence[float], parts: Sequence[Mapping[str, float]]) -> dict[str, Latency | None]:
    """Return the latency of ``whole``, of ``search`` and of each part of a model; None for a part that no query had.

    Args:
        seconds: Seconds of each query as a whole.
        parts: Seconds within each query by part, in the same order.
    """
    without = [
        max(0.0, whole - sum(part.get(name, 0.0) for name in MODEL_PARTS))
        for whole, part in zip(seconds, parts, strict=True)
    ]
    figures: dict[str, Latency | None] = {"whole": latency(seconds), "search": latency(without)}
    for name in MODEL_PARTS:
        took = [part.get(name, 0.0) for part in parts]
        figures[name] = latency(took) if any(took) else None
    return figures
