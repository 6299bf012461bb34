"""A row of `coverage`: how often an interval held the truth, and how wide it was."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

Ends = tuple[float | None, float | None] | None
_ROUNDING = 1e-9
_PRESENT = 0.05
"""Least share of simulations with an interval for which a coverage is told."""


@dataclass(frozen=True, slots=True)
class Row:
    """A share with its setting: coverage with the mean width of the interval, or a power with the mean difference."""

    setting: str
    share: float
    width: float
    power: bool = False


def row_of(setting: str, ends: Iterable[Ends], truth: float) -> Row:
    """Return the row of intervals of one true figure; intervals that are absent do not count, and the row says so."""
    given = list(ends)
    known = np.array([one for one in given if one is not None and None not in one], dtype=np.float64)
    if len(known) < _PRESENT * len(given):
        return Row(f"{setting}, absent", float("nan"), float("nan"))
    absent = 1 - len(known) / len(given)
    held = (known[:, 0] - _ROUNDING <= truth) & (truth <= known[:, 1] + _ROUNDING)
    told = f"{setting}, absent in {absent:.0%}" if absent > 0.005 else setting
    return Row(told, float(held.mean()), float((known[:, 1] - known[:, 0]).mean()))
