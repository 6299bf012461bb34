"""What people's judgments are worth, measured on judgments that real assessors and real models made.

TREC Deep Learning 2023: 22,327 pairs judged by NIST and by GPT-4. No runs are among the data, but the score of 35 runs
on every query is, under NIST's judgments; a ranking is made for each that has this very score, by noise on what the
two judges say. LLMJudge: 4,423 pairs judged by NIST and by many models.
"""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from goldbench.measures import evaluate
from goldbench.measures.statistics.ppi import estimate
from goldbench.records.judgment import Judgment, PooledPair
from goldbench.records.relevance import RELEVANT, Relevance, settled
from goldbench.records.review_event import Lane
from goldbench.review.queue import Queue, QueueSettings

Floats = npt.NDArray[np.float64]
Grades = dict[str, dict[str, int]]

LIKES_NIST = 0.1
"""How far the made rankings follow NIST rather than GPT-4: with a tenth the inflation is the published one, +0.20."""

DISCOUNTS = 1 / np.log2(np.arange(2, 12))
PANEL = ("willia-umbrela1", "RMITIR-llama70B", "Olz-gpt4o")


@dataclass(frozen=True)
class Track:
    """nDCG@10 of every query and run: under NIST's judgments, and under GPT-4's."""

    nist: Floats
    gpt4: Floats


@pytest.fixture(scope="module")
def labels(request: pytest.FixtureRequest) -> Path:
    import os

    from tests.conftest import ROOT

    place = Path(os.environ.get("GOLDBENCH_COLLECTIONS", ROOT / ".." / "shared" / "data")).resolve() / "llm_judgments"
    if not place.is_dir():
        pytest.skip(f"the judgments of people and models are not at {place}; set GOLDBENCH_COLLECTIONS")
    return place


@pytest.fixture(scope="module")
def track(labels: Path) -> Track:
    nist = graded(labels / "dl23_gpt4" / "2023.qrels.pass.withDupes.txt.gz")
    gpt4 = graded(labels / "dl23_gpt4" / "2023.qrels.pass.gpt4.txt.gz")
    published: defaultdict[str, dict[str, float]] = defaultdict(dict)
    with gzip.open(labels / "syndl_scores" / "dl2023.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            if row["qrels"] == "human":
                published[row["system"]][row["query"]] = float(row["ndcg_cut_10"])
    return ranked(nist, gpt4, published)


def graded(path: Path) -> Grades:
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        for line in file:
            query_id, _, doc_id, grade = line.split()[:4]
            found[query_id][doc_id] = min(3, max(0, int(float(grade))))
    return dict(found)


def ranked(nist: Grades, gpt4: Grades, published: dict[str, dict[str, float]]) -> Track:
    """Return the figures of made rankings, each the one of 60 that comes nearest to its published score."""
    rng = np.random.default_rng(0)
    noise = np.linspace(0.05, 4, 60)[:, None]
    values = np.zeros((2, len(nist), len(published)))
    for row, query_id in enumerate(sorted(nist)):
        docs = sorted(nist[query_id])
        theirs, its = (np.array([judge[query_id][doc] for doc in docs], dtype=float) for judge in (nist, gpt4))
        liked = LIKES_NIST * theirs + (1 - LIKES_NIST) * its + noise * rng.normal(size=(60, len(docs)))
        top = np.argsort(-liked, axis=1)[:, :10]
        found = ndcg(theirs, top), ndcg(its, top)
        for column, name in enumerate(sorted(published)):
            nearest = int(np.argmin(np.abs(found[0] - published[name][query_id])))
            values[:, row, column] = found[0][nearest], found[1][nearest]
    return Track(*values)


def ndcg(grades: Floats, top: npt.NDArray[np.intp]) -> Floats:
    ideal = float((np.sort(grades)[::-1][:10] * DISCOUNTS[: len(grades)]).sum())
    return (grades[top] * DISCOUNTS).sum(axis=1) / ideal if ideal else np.zeros(len(top))


def test_the_made_rankings_are_scored_as_goldbench_scores(labels: Path) -> None:
    nist = graded(labels / "dl23_gpt4" / "2023.qrels.pass.withDupes.txt.gz")
    query_id = min(nist)
    docs = sorted(nist[query_id])
    order = np.random.default_rng(1).permutation(len(docs))
    run = {query_id: {docs[place]: float(-rank) for rank, place in enumerate(order)}}
    expected = evaluate({query_id: nist[query_id]}, run, "ndcg@10").mean("ndcg@10")
    grades = np.array([nist[query_id][doc] for doc in docs], dtype=float)
    assert float(ndcg(grades, order[None, :10])[0]) == pytest.approx(expected)


def test_gpt4_inflates_the_scores_by_a_fifth_and_the_correction_takes_it_back(track: Track) -> None:
    """One draw of 20 completely judged queries per run: on average nothing of +0.20 is left."""
    assert (track.gpt4 - track.nist).mean() == pytest.approx(0.20, abs=0.02)
    rng = np.random.default_rng(4)
    off, held = [], 0
    for run in range(track.nist.shape[1]):
        order = rng.permutation(len(track.nist))
        drawn, others = order[:20], order[20:]
        found = estimate(track.nist[drawn, run], track.gpt4[drawn, run], track.gpt4[others, run])
        truth = float(track.nist[:, run].mean())
        off.append(found.mean - truth)
        held += found.low <= truth <= found.high
        assert found.raw - truth > 0.05
    assert abs(np.mean(off)) < 0.02
    assert held >= 32


def test_the_first_fifth_of_lane_b_holds_35_of_100_binary_errors(labels: Path) -> None:
    nist = graded(labels / "llmjudge" / "llmjudge_test_qrel_idx.txt")
    found, order = errors(nist, {name: graded(labels / "llmjudge" / "submissions" / f"{name}.txt") for name in PANEL})
    fifth = order[: len(order) // 5]
    share = len(found & set(fifth)) / len(found)
    assert share >= 0.35
    at_random = np.random.default_rng(0).permutation(len(order))[: len(fifth)]
    assert share > 1.5 * len(found & {order[place] for place in at_random}) / len(found)


CONFUSION = np.array([[7979, 938, 188, 50], [4607, 2053, 849, 468], [806, 845, 661, 549], [474, 536, 561, 763]])
"""How many pairs GPT-4 graded 0 to 3 (rows) and NIST 0 to 3 (columns), TREC Deep Learning 2023."""


def test_lane_b_finds_errors_first_on_generated_judgments_too() -> None:
    """Three judges, each as wrong as GPT-4 on Deep Learning 2023; half of the time they err together."""
    rng = np.random.default_rng(6)
    truth = rng.choice(4, 4000, p=CONFUSION.sum(axis=0) / CONFUSION.sum())
    given = CONFUSION.T / CONFUSION.T.sum(axis=1, keepdims=True)
    common = np.array([rng.choice(4, p=given[grade]) for grade in truth])
    panel: dict[str, Grades] = {}
    for name in ("a", "b", "c"):
        own = np.array([rng.choice(4, p=given[grade]) for grade in truth])
        said = np.where(rng.random(len(truth)) < 0.5, common, own)
        panel[name] = by_query(said)
    found, order = errors(by_query(truth), panel)
    assert len(found & set(order[: len(order) // 5])) / len(found) >= 0.35


def by_query(grades: npt.NDArray[np.intp]) -> Grades:
    made: Grades = {}
    for number, grade in enumerate(grades.tolist()):
        made.setdefault(f"q{number % 100}", {})[f"d{number}"] = grade
    return made


def test_reviewers_who_slip_find_a_third_of_the_errors_in_the_first_fifth(labels: Path) -> None:
    """A reviewer gives another grade than NIST's in a tenth of the cases, one step up or down."""
    slips = 0.1
    nist = graded(labels / "llmjudge" / "llmjudge_test_qrel_idx.txt")
    panel = {name: graded(labels / "llmjudge" / "submissions" / f"{name}.txt") for name in PANEL}
    found, order = errors(nist, panel)
    rng = np.random.default_rng(2)
    corrected = 0
    for pair in order[: len(order) // 5]:
        truth = nist[pair[0]][pair[1]]
        said = min(3, max(0, truth + int(rng.choice([-1, 1])))) if rng.random() < slips else truth
        corrected += pair in found and (said >= RELEVANT) == (truth >= RELEVANT)
    assert corrected / len(found) >= 0.35 * (1 - slips)


def errors(nist: Grades, panel: dict[str, Grades]) -> tuple[set[tuple[str, str]], list[tuple[str, str]]]:
    """Return the pairs that the panel gets wrong, relevant or not, and lane B in its order."""
    pairs = [(query_id, doc_id) for query_id in nist for doc_id in nist[query_id]]
    judged: dict[tuple[str, str], list[Judgment]] = {pair: [] for pair in pairs}
    for (q, d), said in judged.items():
        for name, grades in panel.items():
            grade = Relevance(grades.get(q, {}).get(d, 0))
            said.append(Judgment(query_id=q, chunk_id=d, relevance=grade, assessor=f"{name}/x"))
    settings = QueueSettings(calibration=0, complete=0, lanes=frozenset({Lane.ERRORS}))
    pool = [PooledPair(query_id=q, chunk_id=d) for q, d in pairs]
    order = [item.pair for item in Queue(pool, chain.from_iterable(judged.values()), settings=settings).items]
    final = {pair: settled([one.relevance for one in given]) for pair, given in judged.items()}
    return {(q, d) for q, d in pairs if (final[q, d] >= RELEVANT) != (nist[q][d] >= RELEVANT)}, order
