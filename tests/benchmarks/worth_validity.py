"""How many real queries a set is worth, held against the number at which people's own queries rank systems as well.

``python -m tests.benchmarks.worth_validity [TIMES]`` (40 by default) draws a few queries of people as the real ones,
and ranks systems by a set. Truth is the number of people's queries whose mean tau with the ranking by all of them is as
high as the set's, found by drawing. Sets on TREC Deep Learning 2023, 8 of 35 runs: queries under GPT-4's labels, 5, 20
or 60 other queries of people, queries with errors of the systems, and values of other systems. Sets on collections: 300
queries simulated by two recipes, 16 lexical systems. A row gives the median truth and the median estimate (where either
is above 1,000, 1,000), and how often the 95 % interval holds the truth.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import numpy as np
import numpy.typing as npt

from goldbench.measures.statistics.query_worth import MOST, query_worth
from goldbench.offline.generator import RecipeName
from tests.benchmarks import rows
from tests.benchmarks.collections import collections_folder, load
from tests.benchmarks.joint_tracks import Track
from tests.benchmarks.joint_validity import load as load_track
from tests.benchmarks.source_scores import simulated_scores
from tests.benchmarks.systems import Analyzers, Corpus, ndcg

Floats = npt.NDArray[np.float64]
REAL = (20, 40, 60)
SYSTEMS, OTHERS = 8, 200
COLLECTIONS = ("cacm", "med")
RECIPES: tuple[RecipeName, ...] = ("terms", "held-out")
SIZES = np.unique(np.round(np.geomspace(1, MOST, 25)))
SAMPLES = 300
COVERED = 0.9

Set = Callable[[Track, np.random.Generator], Floats]
"""Returns the values of a set, shape (queries, systems)."""


def judged(track: Track, draw: np.random.Generator) -> Floats:
    return some(track.model, OTHERS, draw)


def erring(track: Track, draw: np.random.Generator) -> Floats:
    return np.asarray(some(track.people, OTHERS, draw) + draw.normal(0, 0.08, len(track.people)))


def unrelated(track: Track, draw: np.random.Generator) -> Floats:
    return some(draw.permuted(track.model, axis=1)[draw.permutation(len(track.model))], OTHERS, draw)


def of_people(count: int) -> Set:
    return lambda track, draw: some(track.people, count, draw)


def some(values: Floats, count: int, draw: np.random.Generator) -> Floats:
    """Return queries drawn with replacement, shape (count, systems)."""
    return np.asarray(values[:, draw.integers(values.shape[1], size=count)].T)


SETS: dict[str, Set] = {
    "GPT-4's labels": judged,
    **{f"{count} queries of people": of_people(count) for count in (5, 20, 60)},
    "people's, systems err by .08": erring,
    "other systems' values": unrelated,
}


def true_worth(people: Floats, others: Floats, draw: np.random.Generator) -> float:
    """Return the number of people's queries at which their mean tau with the ranking by all reaches the set's."""
    means, told = people.mean(axis=1), others.mean(axis=0)
    one, other = np.triu_indices(len(means), 1)
    order = np.sign(means[one] - means[other])
    tau, curve = (np.sign(told[one] - told[other]) * order).mean(), []
    for size in SIZES:
        drawn = draw.multinomial(int(size), np.full(people.shape[1], 1 / people.shape[1]), SAMPLES) @ people.T
        curve.append((np.sign(drawn[:, one] - drawn[:, other]) * order).mean())
    curve = np.maximum.accumulate(curve)
    return 0.0 if tau < curve[0] else float(MOST) if tau > curve[-1] else float(np.interp(tau, curve, SIZES))


def told(people: Floats, others: Floats, real: int, draw: np.random.Generator, seed: int) -> tuple[float, float, bool]:
    """Return the true worth, the estimate, and whether the interval holds the truth."""
    truth = true_worth(people, others, draw)
    found = query_worth(some(people, real, draw), others, seed=seed)
    high = float(MOST) if np.isinf(found.high) else found.high
    return truth, min(found.queries, MOST), min(found.low, MOST) <= truth <= high


def on_track(track: Track, name: str, real: int, times: int) -> Iterator[tuple[float, float, bool]]:
    """Yield results on random systems of a track."""
    for number in range(times):
        draw = np.random.default_rng([number, real])
        chosen = draw.choice(len(track.people), SYSTEMS, replace=False)
        part = Track(track.people[chosen], track.model[chosen])
        yield told(part.people, SETS[name](part, draw), real, draw, number)


def values_of(folder: Path) -> tuple[Floats, dict[str, Floats]]:
    """Return people's values on a collection, shape (systems, queries), and those of each recipe."""
    collection = load(folder)
    corpus = Corpus(
        collection.documents,
        Analyzers(collection.documents, language=collection.language, spaceless=collection.spaceless),
    )
    simulated = {}
    for recipe in RECIPES:
        simulated[recipe] = simulated_scores(collection, corpus, recipe, count=300).T
    return ndcg(corpus.top(collection.queries), collection.gains), simulated


def shown(what: str, results: Iterator[tuple[float, float, bool]]) -> None:
    """Print a row."""
    truth, estimates, held = (np.array(column) for column in zip(*results, strict=True))
    figure = f"truth {np.median(truth):.0f}, estimate {np.median(estimates):.0f}"
    rows.row(what, figure, f"held {held.mean():.0%}", f"{COVERED:.0%}", met=bool(held.mean() >= COVERED))


def main() -> None:
    """Print a row for each set and number of real queries."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    assert set(RECIPES) <= set(get_args(RecipeName))
    track = load_track(collections_folder() / "llm_judgments" / "dl23_per_query")
    rows.heading()
    for name in SETS:
        for real in REAL:
            shown(f"TREC DL 2023, {name}, {real} real queries", on_track(track, name, real, times))
    for place in COLLECTIONS:
        people, simulated = values_of(collections_folder() / place)
        for recipe, others in simulated.items():
            for real in REAL[:2]:
                drawn = ((np.random.default_rng([number, real]), number) for number in range(times))
                shown(
                    f"{place}, {recipe}, {real} real queries",
                    (told(people, others, real, draw, number) for draw, number in drawn),
                )


if __name__ == "__main__":
    main()
