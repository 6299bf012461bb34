"""Three ways to make intervals of differences that hold together: their coverage and width, on TREC DL 2023.

``python -m tests.benchmarks.joint_widths [TIMES [RESAMPLES]]`` (60 studies, 40 resamples) uses the studies and stress
cases of `joint_validity`, with 5 systems and few judged queries:

- *posterior*: what the product prints.
- *bootstrap*: judged and other queries are drawn anew, the joint estimate is made of each draw, and the largest
  standardized deviation of a draw says how wide the intervals of the joint estimate are.
- *judged queries*: intervals of the differences that the judged queries show, with the model's values as a covariate.
  They owe nothing to a prior, and are not around the figures that are printed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product

import numpy as np
import numpy.typing as npt

from goldbench.pipeline.measures.statistics import joint_calibration
from goldbench.pipeline.measures.statistics.direct_contrasts import Direct
from goldbench.pipeline.measures.statistics.joint_calibration import joint_estimate
from goldbench.pipeline.measures.statistics.normal_draws import NormalDraws
from tests.benchmarks.collections import collections_folder
from tests.benchmarks.joint_validity import CASES, QUERIES, Drawn, drawn, load

Floats = npt.NDArray[np.float64]
Way = Callable[[Drawn, int], tuple[Floats, Floats]]
SYSTEMS, JUDGED = 5, (10, 20)
LEVEL, DRAWS = 0.95, 2_000
LEAST = 4
"""Fewest different judged queries of a resample."""
ONE, OTHER = np.triu_indices(SYSTEMS, 1)


def posterior(study: Drawn, seed: int) -> tuple[Floats, Floats]:
    return joint_estimate(study.human, study.judge, study.others, seed=seed).differences_limits()


def judged_queries(study: Drawn, seed: int) -> tuple[Floats, Floats]:
    direct, axes = _direct(study.human, study.judge, study.others)
    normal = NormalDraws(seed, DRAWS)
    scales = joint_calibration._scales(normal, direct.freedom)[:, None]
    contrasts = slice(0, SYSTEMS - 1)
    errors = normal.vectors(direct.covariance[contrasts, contrasts])
    errors = scales * (errors + normal.vectors(direct.spread[contrasts, contrasts] / QUERIES))
    return _limits(direct.estimates[contrasts] @ axes[contrasts], errors @ axes[contrasts])


def bootstrap(resamples: int) -> Way:
    """Return the way that draws queries anew this many times."""

    def limits(study: Drawn, seed: int) -> tuple[Floats, Floats]:
        draw, judged = np.random.default_rng(seed), study.human.shape[1]
        means = []
        for _ in range(resamples):
            rows = draw.integers(0, judged, judged)
            others = study.others[:, draw.integers(0, study.others.shape[1], study.others.shape[1])]
            if len(np.unique(rows)) >= LEAST:
                means.append(_estimate(study.human[:, rows], study.judge[:, rows], others))
        drawn_means = np.array(means)
        errors = (drawn_means - drawn_means.mean(axis=0)) * np.sqrt(judged / (judged - 1))
        return _limits(_estimate(study.human, study.judge, study.others), errors)

    return limits


def _direct(human: Floats, judge: Floats, others: Floats) -> tuple[Direct, Floats]:
    axes = joint_calibration._axes(len(human))
    every = np.concatenate([judge, others], axis=1)
    return Direct.of(axes @ human, axes @ judge, axes @ every, 1 - human.shape[1] / every.shape[1]), axes


def _estimate(human: Floats, judge: Floats, others: Floats) -> Floats:
    """Return the means of `joint_estimate` without its draws."""
    direct, axes = _direct(human, judge, others)
    cases = joint_calibration._Cases.of(direct, axes)
    return np.asarray(np.append(cases.weights @ cases.means, direct.estimates[-1]) @ axes)


def _limits(means: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Return limits of all differences; errors of the means have the shape (draws, systems)."""
    apart, middle = errors[:, ONE] - errors[:, OTHER], means[ONE] - means[OTHER]
    spread = apart.std(axis=0)
    reach = np.quantile(np.abs(apart / spread).max(axis=1), LEVEL) * spread
    return middle - reach, middle + reach


def main() -> None:
    """Print a row for each case and number of judged queries."""
    given = [int(text) for text in sys.argv[1:]]
    times, resamples = (*given, *(60, 40)[len(given) :])
    track = load(collections_folder() / "llm_judgments" / "dl23_per_query")
    ways: dict[str, Way] = {"posterior": posterior, "bootstrap": bootstrap(resamples), "judged queries": judged_queries}
    print(f"| case | {' | '.join(f'{way}: held, width' for way in ways)} |\n|{' --- |' * (len(ways) + 1)}")
    for (name, case), judged in product(CASES.items(), JUDGED):
        found: dict[str, list[tuple[bool, float]]] = {way: [] for way in ways}
        for number, study in enumerate(drawn([track], SYSTEMS, judged, case, times)):
            truth = study.truth[ONE] - study.truth[OTHER]
            for way, made in ways.items():
                low, high = made(study, number)
                found[way].append((bool(((low <= truth) & (truth <= high)).all()), float((high - low).mean())))
        cells = [f"{held:.1%}, {width:.3f}" for held, width in (np.mean(some, axis=0) for some in found.values())]
        print(f"| {name}, {judged} judged | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
