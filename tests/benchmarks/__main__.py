"""``python -m tests.benchmarks [corpus] [model] [score] [significance]``: every measurement, or those named.

Ratios first, seconds beside.
"""

from __future__ import annotations

import sys

from tests.benchmarks import build_speed, model_speed, score_speed, significance_speed

MEASUREMENTS = {
    "corpus": build_speed.main,
    "model": model_speed.main,
    "score": score_speed.main,
    "significance": significance_speed.main,
}


def main() -> None:
    wanted = sys.argv[1:] or list(MEASUREMENTS)
    unknown = [name for name in wanted if name not in MEASUREMENTS]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; there are {', '.join(MEASUREMENTS)}")
    for name in wanted:
        MEASUREMENTS[name]()


if __name__ == "__main__":
    main()
