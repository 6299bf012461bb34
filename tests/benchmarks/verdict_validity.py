"""The verdict on a gold set, held against people's judgments: where it says "ranks these systems", does the set?

``python -m tests.benchmarks.verdict_validity [--times N] [--only NAME ...]`` draws N cases (20 by
default) for each number of systems and of queries: systems at random, and queries with replacement from all queries of
a collection. Truth is the order by people's judgments over all of its queries, so it has no noise of its own: what
holds for a draw holds for the population that the draw is from. Sets of queries that a model wrote are drawn without
replacement from 31 queries, and truth is the order over the 51 queries of people, which is noisy itself. Two stress
cases come from ``joint_validity``: a model that favours one system by .10, and one whose scores belong to others.

The first table has a row for each kind of set and level of the verdict: cases, the share of them whose order has tau of
0.8 or more with the true one, and the mean tau. The second shows by collection how often "ranks" was right, and how
many of the right orders it names. The third chooses the least chance without the collection that it is then tried on,
the fourth shows what other least chances do.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from goldbench.measures.statistics.fitness import ENOUGH_CHANCE, Basis, Fitness, FitnessLevel, fitness, ranking_of
from goldbench.measures.statistics.joint_calibration import joint_estimate
from tests.benchmarks.collections import collections_folder, is_collection
from tests.benchmarks.collections import load as load_collection
from tests.benchmarks.joint_validity import Floats, as_it_is, favoured, useless
from tests.benchmarks.joint_validity import load as load_track
from tests.benchmarks.offline_validity import FEWEST_QUERIES
from tests.benchmarks.systems import Analyzers, Corpus, ndcg
from tests.benchmarks.written_queries import SIMULATED, written

SYSTEMS, QUERIES, JUDGED = (2, 3, 5, 8, 16), (10, 25, 50, 100, 200), (10, 20, 50)
RIGHT, BAR = 0.8, 0.9
SIMULATED_QUERIES = 200
TRACK = "TREC DL 2023"
FIRST_WRITTEN = 3_000_000
"""The smallest number of a query of TREC Deep Learning 2023 that a model wrote."""
JUDGES = {"a model": as_it_is, "a model that favours one system": favoured, "a useless model": useless}
Places = npt.NDArray[np.int64]
CHANCES = (0.8, 0.85, 0.9, 0.95, 0.97)


@dataclass(frozen=True, slots=True)
class Population:
    """Scores, shape (systems, queries): by people's judgments, by a model's, and on a simulated set.

    ``written`` are scores by people's judgments on queries that a model wrote.
    """

    name: str
    people: Floats
    model: Floats | None = None
    written: Floats | None = None
    simulated: Floats | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One drawn set: its kind, what was decided, and tau of its order with the true one."""

    collection: str
    kind: str
    found: Fitness
    tau: float

    @property
    def right(self) -> bool:
        return self.tau >= RIGHT - 1e-9


def populations(options: argparse.Namespace) -> Iterator[Population]:
    """Yield the track and every collection with enough queries."""
    if not options.only or TRACK in options.only:
        yield track()
    for folder in sorted(filter(is_collection, collections_folder().iterdir())):
        if not options.only or folder.name in options.only:
            found = lexical(folder)
            if found.people.shape[1] >= FEWEST_QUERIES:
                yield found


def track() -> Population:
    """Return TREC Deep Learning 2023: 35 runs, people's judgments and GPT-4's, and queries that models wrote."""
    folder = collections_folder() / "llm_judgments" / "dl23_per_query"
    both = load_track(folder)
    with gzip.open(folder / "ndcg.csv.gz", "rt", encoding="utf-8", newline="") as file:
        names = sorted({row["query_id"] for row in csv.DictReader(file)})
    written = np.array([int(name) >= FIRST_WRITTEN for name in names])
    return Population(TRACK, both.people, both.model, written=both.people[:, written])


def lexical(folder: Path) -> Population:
    """Return the scores of sixteen lexical systems on a collection and on sets simulated from its documents."""
    collection = load_collection(folder)
    analyzers = Analyzers(collection.documents, language=collection.language, spaceless=collection.spaceless)
    corpus = Corpus(collection.documents, analyzers)
    people = ndcg(corpus.top(collection.queries), collection.gains)
    made = written(folder, SIMULATED, count=SIMULATED_QUERIES, seed=1)
    simulated = ndcg(corpus.top(made.queries), [{source: 1.0} for source in made.sources])
    return Population(folder.name, people, simulated=simulated)


def cases(population: Population, times: int) -> Iterator[Case]:
    """Yield the drawn sets of every kind that a population has."""
    for systems, queries, number in product(SYSTEMS, QUERIES, range(times)):
        draw = np.random.default_rng([number, systems, queries])
        if systems > len(population.people):
            continue
        some = draw.choice(len(population.people), systems, replace=False)
        people = population.people[some]
        asked = draw.integers(0, people.shape[1], queries)
        yield _case(population.name, "people wrote and judged", people[:, asked], people, Basis("human", "people"))
        if population.model is not None:
            yield from _judged_by_model(population, some, asked)
        written = None if population.written is None else population.written[some]
        if written is not None and queries <= written.shape[1]:
            drawn = written[:, draw.choice(written.shape[1], queries, replace=False)]
            truth = people[:, : people.shape[1] - written.shape[1]]  # people's queries come first
            yield _case(population.name, "a model wrote, people judged", drawn, truth, Basis("model", "people"))
        if population.simulated is not None:
            drawn = population.simulated[some][:, draw.integers(0, population.simulated.shape[1], queries)]
            yield _case(population.name, "simulated", drawn, people, Basis("smoke", "source"))


def _judged_by_model(population: Population, some: Places, places: Places) -> Iterator[Case]:
    """Yield sets that a model judged: without people, and with some queries that people judged completely."""
    assert population.model is not None
    basis, name = Basis("human", "model"), population.name
    truth = population.people[some].mean(axis=1)
    for judge, distorted in JUDGES.items():
        draw = np.random.default_rng([*some.tolist(), len(places)])
        people, model = distorted(population.people[some], population.model[some], draw)
        people, model = people[:, places], model[:, places]
        yield Case(
            name, f"{judge} judged, people nothing", fitness(model.tolist(), basis), tau(model.mean(axis=1), truth)
        )
        for judged in JUDGED:
            if judged < len(places):
                joint = joint_estimate(people[:, :judged], model[:, :judged], model[:, judged:])
                ranking = ranking_of(joint, complete=judged, queries=len(places))
                found = fitness(model.tolist(), basis, ranking=ranking)
                yield Case(name, f"{judge} judged, people {judged} queries", found, tau(joint.means, truth))


def _case(name: str, kind: str, scores: Floats, truth: Floats, basis: Basis) -> Case:
    return Case(name, kind, fitness(scores.tolist(), basis), tau(scores.mean(axis=1), truth.mean(axis=1)))


def tau(floats: Floats, truth: Floats) -> float:
    """Return Kendall's tau; a pair that is tied in either order counts 0."""
    one, other = np.triu_indices(len(floats), 1)
    return float((np.sign(floats[one] - floats[other]) * np.sign(truth[one] - truth[other])).mean())


def _print_levels(found: Sequence[Case]) -> None:
    print("| set | verdict | cases | tau >= 0.8 | mean tau |\n| --- | --- | ---: | ---: | ---: |")
    for kind, level in product(dict.fromkeys(one.kind for one in found), FitnessLevel):
        some = [one for one in found if one.kind == kind and one.found.level is level]
        if some:
            mean = np.mean([one.tau for one in some])
            print(f"| {kind} | {level.value} | {len(some):,} | {_share(some)} | {mean:.2f} |")


def _print_collections(found: Sequence[Case]) -> None:
    print('\n| collection | set | cases | "ranks" | of these right | of the right ones named | bar 90 % |')
    print("| --- | --- | ---: | ---: | ---: | ---: | --- |")
    ordered = sorted(found, key=lambda one: (one.kind, one.collection))
    for (kind, collection), group in groupby(ordered, key=lambda one: (one.kind, one.collection)):
        some = list(group)
        said = [one for one in some if one.found.level is FitnessLevel.RANKS]
        right = [one for one in some if one.right]
        named = f"{sum(one.found.level is FitnessLevel.RANKS for one in right) / len(right):.0%}" if right else ""
        met = "" if not said else "met" if np.mean([one.right for one in said]) >= BAR else "NOT MET"
        print(f"| {collection} | {kind} | {len(some):,} | {len(said):,} | {_share(said)} | {named} | {met} |")


def _print_left_out(found: Sequence[Case]) -> None:
    """Print the least chance that is right in 90 % of the other collections, and how it does on the one left out."""
    open_to = [one for one in found if one.kind == "people wrote and judged" and one.found.chance is not None]
    print(
        f"\n| left out | least chance by the others | right | right at {ENOUGH_CHANCE} |\n| --- | ---: | ---: | ---: |"
    )
    for name in dict.fromkeys(one.collection for one in open_to):
        rest = [one for one in open_to if one.collection != name]
        chosen = next((least for least in CHANCES if _precision(rest, least) >= BAR), CHANCES[-1])
        own = [one for one in open_to if one.collection == name]
        print(f"| {name} | {chosen} | {_precision(own, chosen):.1%} | {_precision(own, ENOUGH_CHANCE):.1%} |")


def _print_chances(found: Sequence[Case]) -> None:
    """Print what other bounds of the chance would do where a ranking is open: the rule is `ENOUGH_CHANCE`."""
    barred = ("simulated", "people nothing")
    some = [one for one in found if not any(word in one.kind for word in barred) and one.found.chance is not None]
    print("\n| least chance | named | right | least by collection and set (20 or more) | of the right ones named |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for least in CHANCES:
        said = [one for one in some if (one.found.chance or 0.0) >= least]
        groups: dict[tuple[str, str], list[bool]] = {}
        for one in said:
            groups.setdefault((one.collection, one.kind), []).append(one.right)
        worst = min(float(np.mean(group)) for group in groups.values() if len(group) >= 20)
        named = sum(one.right for one in said) / sum(one.right for one in some)
        print(f"| {least} | {len(said):,} | {_share(said)} | {worst:.1%} | {named:.0%} |")


def _precision(found: Sequence[Case], least: float) -> float:
    said = [one.right for one in found if (one.found.chance or 0.0) >= least]
    return float(np.mean(said)) if said else 1.0


def _share(found: Sequence[Case]) -> str:
    return f"{np.mean([one.right for one in found]):.1%}" if found else ""


def main() -> None:
    """Print the four tables."""
    parser = argparse.ArgumentParser(description="The verdict on gold sets against people's judgments.")
    parser.add_argument("--times", type=int, default=20, help="cases for each number of systems and queries")
    parser.add_argument("--only", nargs="+", default=[], help=f"names of folders, or {TRACK!r}")
    options = parser.parse_args()
    found = [case for population in populations(options) for case in cases(population, options.times)]
    _print_levels(found)
    _print_collections(found)
    _print_left_out(found)
    _print_chances(found)


if __name__ == "__main__":
    main()
