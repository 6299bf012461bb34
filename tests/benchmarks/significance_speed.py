"""How long it takes to say which of five systems are better: 7 measures, 6,980 queries, 10,000 draws."""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
import psutil

from goldbench.measures.statistics.intervals import bootstrap_intervals
from goldbench.measures.statistics.significance import compare, sign_flip_p
from goldbench.records.scorecard import Method

QUERIES, SYSTEMS, MEASURES, DRAWS = 6980, 5, 7, 10_000


def main() -> None:
    draw = np.random.default_rng(0)
    base = draw.beta(0.5, 0.7, (QUERIES, 1, MEASURES))
    scores = np.round(np.clip(base + 0.1 * draw.normal(size=(QUERIES, SYSTEMS, MEASURES)), 0, 1), 3)
    pairs = list(combinations(range(SYSTEMS), 2))
    names = [f"s{number}" for number in range(SYSTEMS)], [f"m{number}" for number in range(MEASURES)]
    parts = {
        "randomization test": lambda: sign_flip_p(scores, pairs, permutations=DRAWS, seed=0),
        "bootstrap intervals": lambda: bootstrap_intervals(scores, pairs, resamples=DRAWS, seed=0),
        "all of a comparison": lambda: compare(scores, *names, Method(missing="zero", scores="float64")),
    }
    print(f"significance: {SYSTEMS} systems, {MEASURES} measures, {QUERIES:,} queries, {DRAWS:,} draws")
    for name, work in parts.items():
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
        load = psutil.getloadavg()[0]
        print(f"  {name}: {min(seconds):.2f} s best, {sorted(seconds)[1]:.2f} s median of 3, load {load:.1f}")


if __name__ == "__main__":
    main()
