"""Figures: trec_eval's values, agreement and calibration on TREC Deep Learning 2023."""

from __future__ import annotations

import csv
import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from scipy.stats import kendalltau

from tests.acceptance.conftest import Command

MEASURES = {
    "ndcg@10": "ndcg_cut_10", "p@5": "P_5", "r@20": "recall_20", "hit@3": "success_3", "map": "map",
    "mrr": "recip_rank", "rprec": "Rprec", "bpref": "bpref",
}  # fmt: skip


def test_50_fuzzed_runs_with_ties_score_as_pytrec_eval_says(command: Command, tmp_path: Path) -> None:
    draw = random.Random(7)
    documents = [f"d{number}" for number in range(60)]
    queries = [f"q{number}" for number in range(12)]
    qrels = {query: {d: draw.choice([0, 0, 1, 2, 3]) for d in draw.sample(documents, 25)} for query in queries}
    runs = {
        f"r{number}": {
            query: {d: draw.choice([0.5, 1.0, draw.random(), 1e-8, -3.0]) for d in draw.sample(documents, 40)}
            for query in draw.sample(queries, 11)
        }
        for number in range(50)
    }
    lines = [f"{query} 0 {d} {grade}" for query, judged in qrels.items() for d, grade in judged.items()]
    (tmp_path / "qrels.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = []
    for name, run in runs.items():
        rows = [f"{query} Q0 {d} 1 {score} x" for query, scores in run.items() for d, score in scores.items()]
        (tmp_path / f"{name}.trec").write_text("\n".join(rows) + "\n", encoding="utf-8")
        options += ["--run", f"{name}={name}.trec"]
    command(
        "score", "qrels.txt", *options, "--measure", ",".join(MEASURES), "--scores", "float32", "--missing", "skip",
        "--per-query", "values.csv",
    )  # fmt: skip
    with (tmp_path / "values.csv").open(encoding="utf-8", newline="") as file:
        values = {(row["run"], row["query_id"]): row for row in csv.DictReader(file)}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(MEASURES.values()))
    for name, run in runs.items():
        for query, expected in evaluator.evaluate(run).items():
            for measure, theirs in MEASURES.items():
                assert float(values[name, query][measure]) == pytest.approx(expected[theirs], abs=1e-6), measure


@pytest.fixture
def labels(collections: Path) -> Path:
    return collections / "llm_judgments"


def test_agreement_of_gpt4_with_people_on_dl_2023_has_the_published_figures(command: Command, labels: Path) -> None:
    sides = [labels / "dl23_gpt4" / f"2023.qrels.pass.{name}.txt.gz" for name in ("withDupes", "gpt4")]
    figures = json.loads(command("agreement", *sides, "--resamples", 100, "--json").stdout)["overall"]
    assert (figures["pairs"], figures["queries"]) == (22_327, 82)
    assert figures["kappa"]["value"] == pytest.approx(0.2553, abs=5e-5)
    assert figures["kappa_binary"]["value"] == pytest.approx(0.4288, abs=5e-5)
    assert figures["kappa_quadratic"]["value"] == pytest.approx(0.5175, abs=5e-5)
    assert figures["alpha"]["value"] == pytest.approx(0.48, abs=5e-3)
    assert figures["exact"]["value"] == pytest.approx(0.5131, abs=5e-5)
    people = [round(row["share"]["value"], 2) for row in figures["relevant_by_grade"]]
    assert people == [0.03, 0.17, 0.42, 0.57], "share that people call relevant, by GPT-4's grade"


DEPTH = 10
Values = dict[str, dict[tuple[str, str], float]]


def read_values(labels: Path) -> Values:
    """Return nDCG@10 in steps of a tenth, by run and query, under the labels of people and of GPT-4."""
    values: Values = {"nist": {}, "gpt4": {}}
    with gzip.open(labels / "dl23_per_query" / "ndcg.csv.gz", "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["measure"] == "ndcg@10":
                values[row["labels"]][row["run"], row["query_id"]] = round(float(row["value"]) * DEPTH) / DEPTH
    return values


def passages_of(query: str) -> Iterator[tuple[str, bool, bool]]:
    """Yield passages of which people, the model, both or neither call ``DEPTH`` relevant."""
    for people in (False, True):
        for model in (False, True):
            yield from ((f"{query}-{people:d}{model:d}-{n}", people, model) for n in range(DEPTH))


def results_of(query: str, people: float, model: float) -> list[str]:
    """Return ten passages with these precisions under people's labels and the model's."""
    by_people, by_model = round(people * DEPTH), round(model * DEPTH)
    both = min(by_people, by_model)
    counts = {"11": both, "10": by_people - both, "01": by_model - both, "00": DEPTH - max(by_people, by_model)}
    return [f"{query}-{kind}-{n}" for kind, count in counts.items() for n in range(count)]


def write_study(folder: Path, values: Values, runs: list[str], queries: list[str]) -> None:
    """Write a set with the model's labels, and runs whose P@10 under both labels is the nDCG@10 of DL 2023."""
    (folder / "beir" / "qrels").mkdir(parents=True)
    corpus, asked, judged = [], [], ["query-id\tcorpus-id\tscore"]
    for query in queries:
        asked.append(json.dumps({"_id": query, "text": f"question {query}"}))
        for passage, _, model in passages_of(query):
            corpus.append(json.dumps({"_id": passage, "title": "", "text": f"Passage {passage}."}))
            judged.append(f"{query}\t{passage}\t{2 * model}")
    for name, lines in (("corpus.jsonl", corpus), ("queries.jsonl", asked), ("qrels/test.tsv", judged)):
        (folder / "beir" / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    for run in runs:
        rows = [
            f"{query} Q0 {passage} {rank} {-rank} {run}"
            for query in queries
            for rank, passage in enumerate(results_of(query, *(values[who][run, query] for who in values)), 1)
        ]
        (folder / f"{run}.trec").write_text("\n".join(rows) + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("judged", "tau"),
    [pytest.param(10, 0.92, marks=pytest.mark.slow), (20, 0.92), pytest.param(50, 0.94, marks=pytest.mark.slow)],
)
def test_corrected_scores_rank_dl_2023_as_people_do(
    command: Command, tmp_path: Path, labels: Path, judged: int, tau: float
) -> None:
    values = read_values(labels)
    runs, queries = (sorted(set(part)) for part in zip(*values["nist"], strict=True))
    draw = random.Random(judged)
    runs = draw.sample(runs, 12)
    write_study(tmp_path, values, runs, queries)
    whole = draw.sample(queries, judged)
    rows = [
        f"{passage.rpartition('-')[0].rpartition('-')[0]},{passage},anna,{2 * people},C,yes,1"
        for query in whole
        for passage, people, _ in passages_of(query)
    ]
    head = "query_id,chunk_id,annotator,grade,lane,blind,inclusion"
    (tmp_path / "people.csv").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    command("import", "beir", "beir", "--out", "set", "--evidence-level", "model", "--relevant-from", 2)
    command("review", "import", "set", "people.csv", "--format", "csv")
    options = [part for run in runs for part in ("--run", f"{run}={run}.trec")]
    report = json.loads(command("score", "set", *options, "--measure", f"p@{DEPTH}", "--calibrated", "--json").stdout)[
        "calibrated"
    ]
    assert report["complete"] == judged
    truth = np.array([np.mean([values["nist"][run, query] for query in queries]) for run in runs])
    scores = {score["system"]: score for score in report["scores"]}
    raw = np.array([scores[run]["raw"] for run in runs])
    corrected = np.array([scores[run]["corrected"]["value"] for run in runs])
    people = np.array([np.mean([values["nist"][run, query] for query in whole]) for run in runs])
    assert round(kendalltau(corrected, truth).statistic, 2) >= tau
    assert spread(corrected - truth) < spread(raw - truth)
    if judged <= 20:  # with more, their own mean is as good
        assert spread(corrected - truth) < 1.1 * spread(people - truth)
    assert abs((corrected - truth).mean()) < abs((raw - truth).mean()) / 2, "the model grades too high"
    for value, run in zip(truth, runs, strict=True):
        assert scores[run]["corrected"]["low"] <= value <= scores[run]["corrected"]["high"]


def spread(errors: np.ndarray) -> float:
    return float(errors.std())
