"""Coverage of every interval that goldbench prints, and the power of its detectable differences, by simulation.

``python -m tests.benchmarks.coverage [TIMES] [NAME]`` (2,000 by default; NAME limits it to figures that contain it)
draws queries from a population, computes the interval as the product does, and counts how often it holds the
population's figure. Target: 93 to 97 % for intervals, .80 +- .03 for powers. Resamples are 300 to 2,000 instead of
1,000 to 10,000: the product's numbers moved coverage by up to 1 % for kappas, alpha and bias (downwards), and by up to
.5 % for tau and means, in eight settings that were tried with both. A mark of ``more`` means more than 97 %: the
interval is safe and too wide. Populations: `coverage_populations`. The last table of
results stands in docs/explanation/errors.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tests.benchmarks import coverage_agreement, coverage_means
from tests.benchmarks.coverage_rows import Row

LEAST, MOST = 0.93, 0.97
POWER, OFF = 0.8, 0.03


@dataclass(frozen=True, slots=True)
class Bar:
    """What a share is held to: its least and its largest value, and how the bar is written."""

    least: float
    most: float
    told: str


INTERVAL = Bar(LEAST, MOST, "93-97 %")
POWERS = Bar(POWER - OFF, POWER + OFF, ".77-.83")
NONE = (
    "split-half tau, ceilings: middle 95 % of draws, no confidence interval",
    "hole rates, latency, expected gains, precision of sources: printed without an interval",
)


def verdict(row: Row) -> str:
    """Return whether a row meets its bar, or ``absent`` if no interval is given.

    An interval that covers more than 97 % is safe, but too wide.
    """
    bar, noise = (POWERS if row.power else INTERVAL), 1e-9
    if np.isnan(row.share):
        return "absent"
    if row.share < bar.least - noise:
        return "MISSED"
    return "met" if row.share <= bar.most + noise else "more"


def rows(times: int) -> Iterator[tuple[str, Callable[[int], Iterable[Row]]]]:
    """Yield the studies by name."""
    for module in (coverage_means, coverage_agreement):
        yield from module.STUDIES.items()


def main() -> None:
    """Print a row for each figure and setting."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    print("| figure | setting | coverage or power | mean width | bar | |\n|---|---|---|---|---|---|")
    counts = {"met": 0, "more": 0, "MISSED": 0, "absent": 0}
    for name, study in rows(times):
        for row in study(times) if wanted in name else ():
            mark = verdict(row)
            counts[mark] += 1
            bar = POWERS if row.power else INTERVAL
            print(f"| {name} | {row.setting} | {row.share:.3f} | {row.width:.3f} | {bar.told} | {mark} |", flush=True)
    print("\n" + ", ".join(f"{count} {mark}" for mark, count in counts.items()))
    print("\n".join(NONE))


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
