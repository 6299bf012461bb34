"""Latency percentiles from the seconds of single queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from goldbench.records.experiment import Latency

MODEL_PARTS = ("embed", "rerank", "expand")
"""Parts of a search in which a model works."""


def latency(seconds: Sequence[float]) -> Latency:
    """Return median and 95th percentile in milliseconds, of at least one query."""
    median, high = np.quantile(seconds, [0.5, 0.95])
    return Latency(p50_ms=round(float(median) * 1000, 6), p95_ms=round(float(high) * 1000, 6))


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
