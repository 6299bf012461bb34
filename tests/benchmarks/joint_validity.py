"""Corrected scores of several systems, held against people: TREC Deep Learning 2023, 35 runs, nDCG@10 by query.

``python -m tests.benchmarks.joint_validity [TIMES [SYSTEMS ...]] [--elsewhere]`` (400; 5 and 12 systems) draws systems
and queries: of ``QUERIES`` queries, drawn with replacement, GPT-4's labels score all and people's labels the first m.
Truth is the mean under people's labels of all 82 queries. A row gives the root mean square error of the differences of
systems and Kendall's tau with the truth, for people alone, PPI++ of each system, the model alone, and the joint
estimate; then how often the joint 95 % intervals of all differences, and of all means, hold the truth together, and
the share of their width with which those of differences would do so in 95 % of the studies. Three stress cases:
the model favours one system by .10; its values belong to other queries and systems; people's values have noise with a
standard deviation of .15, drawn anew for each judged query.

``--elsewhere`` measures the calibration on collections on which its prior was not chosen (`joint_tracks`), and with the
prior shares that are most likely on all other collections (`joint_prior`).
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.stats import kendalltau

from goldbench.measures.statistics.joint_calibration import joint_estimate
from goldbench.measures.statistics.ppi import estimate
from tests.benchmarks import joint_prior, rows
from tests.benchmarks.collections import collections_folder
from tests.benchmarks.joint_tracks import Track, elsewhere

Floats = npt.NDArray[np.float64]
QUERIES = 300
SYSTEMS, JUDGED = (5, 12), (10, 20, 50)
BARS = {10: (0.032, 0.92), 20: (0.027, 0.92), 50: (0.023, 0.94)}
"""Largest error and least tau by the number of judged queries, with the judge as it is."""
COVERED = (0.93, 0.97)
CHOSEN_ON = "TREC DL 2023"
"""The collection on which the prior was chosen."""
WORSE = 1.03
"""Most times the error of people alone that the joint estimate may have where the judge is useless."""


Case = Callable[[Floats, Floats, np.random.Generator], tuple[Floats, Floats]]
"""Takes values under people's labels and the model's, shape (systems, queries drawn), and changes them."""


def as_it_is(people: Floats, model: Floats, _: np.random.Generator) -> tuple[Floats, Floats]:
    return people, model


def favoured(people: Floats, model: Floats, _: np.random.Generator) -> tuple[Floats, Floats]:
    return people, model + np.array([[0.1]] + [[0.0]] * (len(model) - 1))


def useless(people: Floats, model: Floats, draw: np.random.Generator) -> tuple[Floats, Floats]:
    return people, draw.permuted(model, axis=1)[draw.permutation(len(model))]


def noisy(people: Floats, model: Floats, draw: np.random.Generator) -> tuple[Floats, Floats]:
    return people + draw.normal(0, 0.15, people.shape), model


CASES: dict[str, Case] = {
    "judge as it is": as_it_is,
    "judge favours one system by .10": favoured,
    "judge useless": useless,
    "people noisy": noisy,
}


def load(folder: Path, measure: str = "ndcg@10") -> Track:
    """Return the values of a measure."""
    found: dict[str, dict[tuple[str, str], float]] = {"nist": {}, "gpt4": {}}
    with gzip.open(folder / "ndcg.csv.gz", "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["measure"] == measure:
                found[row["labels"]][row["run"], row["query_id"]] = float(row["value"])
    runs, queries = (sorted(set(part)) for part in zip(*found["nist"], strict=True))
    people, model = (np.array([[values[r, q] for q in queries] for r in runs]) for values in found.values())
    return Track(people, model)


def biases(track: Track) -> str:
    """Return how a model's differences of runs relate to those of people."""
    people, model = (values.mean(axis=1) - values.mean() for values in (track.people, track.model))
    slope = float(people @ model / (model @ model))
    spread = (people - slope * model).std() / model.std()
    return f"slope of people's differences {slope:.2f}, biases {spread:.2f} of the standard deviation of the model's"


def people_alone(human: Floats, judge: Floats, others: Floats) -> Floats:
    return np.asarray(human.mean(axis=1))


def by_system(human: Floats, judge: Floats, others: Floats) -> Floats:
    return np.array([estimate(h, g, rest).mean for h, g, rest in zip(human, judge, others, strict=True)])


def model_alone(human: Floats, judge: Floats, others: Floats) -> Floats:
    return np.asarray(np.concatenate([judge, others], axis=1).mean(axis=1))


OTHERS = {"people": people_alone, "PPI++": by_system, "model": model_alone}


@dataclass(frozen=True, slots=True)
class Drawn:
    """One simulated study: values of the judged and of the other queries, and the true means."""

    human: Floats
    judge: Floats
    others: Floats
    truth: Floats


def drawn(tracks: Sequence[Track], systems: int, judged: int, case: Case, times: int) -> Iterator[Drawn]:
    """Yield studies of each track in turn; the same ones for every case."""
    for number in range(times):
        draw, track = np.random.default_rng([number, systems, judged]), tracks[number % len(tracks)]
        some = draw.choice(len(track.people), systems, replace=False)
        queries = draw.integers(0, track.people.shape[1], QUERIES)
        truth = track.people[some].mean(axis=1)
        people, model = case(track.people[some][:, queries], track.model[some][:, queries], draw)
        yield Drawn(people[:, :judged], model[:, :judged], model[:, judged:], truth)


def error_and_tau(means: Floats, truth: Floats) -> tuple[float, float]:
    """Return the mean squared error of the differences, and tau."""
    one, other = np.triu_indices(len(means), 1)
    wrong = (means[one] - means[other]) - (truth[one] - truth[other])
    return float((wrong**2).mean()), float(kendalltau(means, truth).statistic)


@dataclass(frozen=True, slots=True)
class Figures:
    """Root mean square errors and taus by estimator, and the coverage of the intervals of differences and means.

    ``width`` is the mean width of an interval of a difference; ``needed`` is the factor on all widths with which the
    intervals of differences would hold together in 95 % of the studies.
    """

    errors: dict[str, float]
    taus: dict[str, float]
    differences: float
    means: float
    width: float
    needed: float


def figures(tracks: Sequence[Track], systems: int, judged: int, case: Case, times: int) -> Figures:
    """Return the figures of one case."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in (*OTHERS, "joint")}
    held: list[tuple[float, float, float]] = []
    reaches: list[float] = []
    one, other = np.triu_indices(systems, 1)
    for number, study in enumerate(drawn(tracks, systems, judged, case, times)):
        for name, estimator in OTHERS.items():
            found[name].append(error_and_tau(estimator(study.human, study.judge, study.others), study.truth))
        joint = joint_estimate(study.human, study.judge, study.others, seed=number)
        found["joint"].append(error_and_tau(joint.means, study.truth))
        low, high = joint.differences_limits()
        reaches.append(_reach((low, high), study.truth[one] - study.truth[other]))
        held.append((reaches[-1] <= 1, _reach(joint.means_limits(), study.truth) <= 1, float((high - low).mean())))
    errors = {name: float(np.sqrt(np.mean([error for error, _ in both]))) for name, both in found.items()}
    taus = {name: float(np.mean([tau for _, tau in both])) for name, both in found.items()}
    differences, means, width = np.mean(held, axis=0)
    return Figures(errors, taus, float(differences), float(means), float(width), float(np.quantile(reaches, 0.95)))


def _reach(limits: tuple[Floats, Floats], truth: Floats) -> float:
    """Return the factor on the widths of intervals with which they would just hold the truth together."""
    low, high = limits
    return float((np.abs(truth - (low + high) / 2) / ((high - low) / 2)).max())


def main() -> None:
    """Print a row for each case, number of systems and number of judged queries."""
    parser = argparse.ArgumentParser(description="Corrected scores of several systems, held against people.")
    parser.add_argument("times", type=int, nargs="?", default=400, help="studies of each row")
    parser.add_argument("systems", type=int, nargs="*", default=SYSTEMS, help="numbers of systems")
    parser.add_argument("--elsewhere", action="store_true", help="measure on collections that the prior does not know")
    options = parser.parse_args()
    track = load(collections_folder() / "llm_judgments" / "dl23_per_query")
    if options.elsewhere:
        _print_elsewhere({CHOSEN_ON: [track], **elsewhere()}, options.times, options.systems)
        return
    print(f"{CHOSEN_ON}: {biases(track)}")
    rows.heading()
    for (name, case), systems, judged in product(CASES.items(), options.systems, JUDGED):
        found = figures([track], systems, judged, case, options.times)
        met = _covered(found)
        error, tau = BARS[judged]
        if case is as_it_is:
            met = met and found.errors["joint"] <= error and found.taus["joint"] >= tau
        if case is useless:
            met = met and found.errors["joint"] <= WORSE * found.errors["people"]
        rows.row(f"{name}, {systems} systems, {judged} judged", *told(found), "93 to 97 %", met=met)


def _print_elsewhere(groups: dict[str, list[Track]], times: int, numbers: Sequence[int]) -> None:
    """Print a row for each collection, number of systems and of judged queries, with both priors."""
    settings = list(product(numbers, JUDGED))
    others = joint_prior.left_out({
        name: [
            joint_prior.evidence(study.human, study.judge, study.others)
            for systems, judged in settings
            for study in drawn(tracks, systems, judged, as_it_is, times)
        ]
        for name, tracks in groups.items()
    })  # fmt: skip
    print(f"prior probabilities as shipped: {joint_prior.SHIPPED}")
    for name, prior in others.items():
        print(f"by all collections but {name}: {prior}. {name}, first judge: {biases(groups[name][0])}")
    rows.heading()
    for (name, tracks), (systems, judged) in product(groups.items(), settings):
        for prior, whose in ((joint_prior.SHIPPED, "prior as shipped"), (others[name], "prior of the others")):
            with joint_prior.used(prior):
                found = figures(tracks, systems, judged, as_it_is, times)
            met = _covered(found) and found.errors["joint"] <= WORSE * found.errors["people"]
            what = f"{name}, {systems} systems, {judged} judged, {whose}"
            rows.row(what, *told(found), "93 to 97 %, error at most 1.03 of people's", met=met)


def _covered(found: Figures) -> bool:
    return all(COVERED[0] <= one <= COVERED[1] for one in (found.differences, found.means))


def told(found: Figures) -> tuple[str, str]:
    """Return the errors and taus of the estimators, and the coverage of the intervals, as they are printed."""
    covered = f"together {found.differences:.1%} of differences, {found.means:.1%} of means"
    return (
        "; ".join(f"{who} {found.errors[who]:.3f}, {found.taus[who]:.2f}" for who in found.errors),
        f"{covered}; width {found.width:.3f}, needed {found.needed:.2f} of it",
    )


if __name__ == "__main__":
    main()
