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

import numpy as np

from tests.benchmarks import coverage_agreement, coverage_means
from tests.benchmarks.coverage_rows import Row

INTERVAL, POWERS = (0.93, 0.97), (0.77, 0.83)
"""The least and the largest share of intervals that hold the truth, and of differences that are found."""


NONE = (
    "split-half tau, ceilings: middle 95 % of draws, no confidence interval",
    "hole rates, latency, expected gains, precision of sources: printed without an interval",
)


def verdict(row: Row) -> str:
    """Return whether a row meets its bar, or ``absent`` if no interval is given.

    An interval that covers more than 97 % is safe, but too wide.
    """
    least, most = POWERS if row.power else INTERVAL
    noise = 1e-9
    if np.isnan(row.share):
        return "absent"
    if row.share < least - noise:
        return "MISSED"
    return "met" if row.share <= most + noise else "more"


def main() -> None:
    """Print a row for each figure and setting."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    print("| figure | setting | coverage or power | mean width | bar | |\n|---|---|---|---|---|---|")
    counts = {"met": 0, "more": 0, "MISSED": 0, "absent": 0}
    for name, study in [*coverage_means.STUDIES.items(), *coverage_agreement.STUDIES.items()]:
        for row in study(times) if wanted in name else ():
            mark = verdict(row)
            counts[mark] += 1
            bar = ".77-.83" if row.power else "93-97 %"
            print(f"| {name} | {row.setting} | {row.share:.3f} | {row.width:.3f} | {bar} | {mark} |", flush=True)
    print("\n" + ", ".join(f"{count} {mark}" for mark, count in counts.items()))
    print("\n".join(NONE))


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
