"""Means by weight: queries that users asked often count as often, checked against numpy and a plain bootstrap."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goldbench import GoldSet
from goldbench.errors import InputError, UsageError
from goldbench.goldset.dataset import read_dataset, write_gold
from goldbench.measures.names import parse_measure
from goldbench.measures.statistics.floats import effective_size
from goldbench.measures.statistics.intervals import bootstrap_intervals, weighted_intervals
from goldbench.score.runs import load_gold, load_run, score_run, weighted
from tests.conftest import Goldbench
from tests.goldset.test_gold import gold_set

NUMBER = 30
FREQUENCY = {f"q{number}": max(1, 900 // (number + 1) ** 2) for number in range(NUMBER)}
TRAFFIC = {query_id: 1.5 * count for query_id, count in FREQUENCY.items()}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A set of users' queries; the run beside it answers them the better the oftener they were asked."""
    graded = {query_id: {f"c{position}": 3} for position, query_id in enumerate(FREQUENCY)}
    gold = gold_set({one: f"text of {one}" for one in graded}, {f"c{n}": f"text {n}" for n in range(NUMBER)}, graded)
    queries = [
        query.model_copy(update={"frequency": FREQUENCY[query.query_id], "traffic": TRAFFIC[query.query_id]})
        for query in gold.queries
    ]
    write_gold(tmp_path / "set", dataclasses.replace(gold, queries=queries))
    draw = random.Random(4)
    run = {
        query_id: {f"c{draw.randrange(NUMBER)}": draw.random() + 0.6 * at / NUMBER, f"c{at}": 0.8}
        for at, query_id in enumerate(FREQUENCY)
    }
    (tmp_path / "run.json").write_text(json.dumps(run))
    return tmp_path


def scored(path: Path, *measures: str) -> Any:
    return GoldSet.load(path / "set").evaluate(path / "run.json", " ".join(measures), weight="frequency")


def test_a_weighted_mean_is_that_of_numpy(place: Path) -> None:
    found = scored(place, "mrr@10", "hit@1")
    weights = [FREQUENCY[query_id] for query_id in found.query_ids]
    for measure in found:
        values = [found.by_query[query_id][measure] for query_id in found.query_ids]
        assert found[measure] == pytest.approx(np.average(values, weights=weights), abs=1e-12)
        assert found[measure] != pytest.approx(np.mean(values), abs=1e-3)
        low, high = found.intervals[measure]
        assert low < found[measure] < high
    assert "weighted by frequency, how often users asked each query" in str(found)


def test_the_intervals_are_those_of_a_plain_bootstrap_of_the_ratio() -> None:
    draws = np.random.default_rng(7)
    scores, weights = draws.random((400, 1, 1)), draws.integers(1, 6, 400).astype(float)
    found = weighted_intervals(scores, weights, resamples=10_000, seed=0)
    drawn = [draws.integers(0, 400, 400) for _ in range(4_000)]
    means = [np.average(scores[rows, 0, 0], weights=weights[rows]) for rows in drawn]
    low, high = np.quantile(means, [0.025, 0.975])
    assert found.mean_low[0, 0] == pytest.approx(low, abs=0.004)
    assert found.mean_high[0, 0] == pytest.approx(high, abs=0.004)


def test_equal_weights_change_nothing() -> None:
    scores = np.random.default_rng(3).random((50, 2, 3))
    plain = bootstrap_intervals(scores, [], resamples=2_000, seed=1)
    same = weighted_intervals(scores, np.full(50, 7.0), resamples=2_000, seed=1)
    assert same.mean_low == pytest.approx(plain.mean_low, abs=1e-9)
    assert same.mean_high == pytest.approx(plain.mean_high, abs=1e-9)
    assert effective_size(np.full(50, 7.0)) == pytest.approx(50)
    assert effective_size(np.array([1e12, 1, 1])) == pytest.approx(1)


def test_a_measure_that_is_not_defined_for_a_query_leaves_its_weight_out(place: Path) -> None:
    result = scored(place, "mrr@10").result
    values = [float("nan"), *result.values["mrr@10"][1:]]
    partial = dataclasses.replace(result, values={"mrr@10": values})
    assert partial.mean("mrr@10") == pytest.approx(np.average(values[1:], weights=partial.weights[1:]))


def test_frequency_stands_in_every_copy_of_the_set(place: Path) -> None:
    gold = GoldSet.load(place / "set")
    assert (gold.frequency, gold.traffic) == (FREQUENCY, TRAFFIC)
    data = read_dataset(place / "set" / "dataset.json")
    assert (data.frequency, data.traffic) == (FREQUENCY, TRAFFIC)
    lines = (place / "set" / "beir" / "queries.jsonl").read_text("utf-8").splitlines()
    notes = {row["_id"]: row["metadata"] for row in map(json.loads, lines)}
    assert {key: (note["frequency"], note["traffic"]) for key, note in notes.items()} == {
        key: (FREQUENCY[key], TRAFFIC[key]) for key in FREQUENCY
    }


def test_the_command_weighs_and_says_so(place: Path, goldbench_inside: Goldbench) -> None:
    told = scored(place, "mrr@10")
    plain = goldbench_inside("score", "set", "--run", "run.json", "--measure", "mrr@10", "--format", "json")
    assert "weight" not in plain.stdout
    asked = ("score", "set", "--run", "run.json", "--measure", "mrr@10", "--weight")
    found = json.loads(goldbench_inside(*asked, "frequency", "--format", "json").stdout)
    assert found["weight"] == "frequency"
    run = found["runs"]["run"]
    assert run["means"]["mrr@10"] == pytest.approx(told["mrr@10"])
    assert run["weighted"]["by"] == "frequency"
    assert run["weighted"]["intervals"]["mrr@10"] == pytest.approx(told.intervals["mrr@10"])
    assert run["weighted"]["unweighted"] == json.loads(plain.stdout)["runs"]["run"]["means"]
    assert 1 < run["weighted"]["effective_queries"] < NUMBER
    shown = goldbench_inside(*asked, "traffic")
    assert "Weighted means:" in shown.stdout
    assert "run: means are weighted by traffic, the searches of the log" in shown.stderr
    assert f"{told['mrr@10']:.4f}" in shown.stdout  # traffic is in proportion to frequency here


@pytest.mark.parametrize("option", [("--html", "page.html"), ("--calibrated",)])
def test_what_counts_every_query_once_refuses_weights(
    place: Path, goldbench_inside: Goldbench, option: tuple[str, ...]
) -> None:
    done = goldbench_inside("score", "set", "--run", "run.json", "--weight", "frequency", *option)
    assert done.returncode == 2
    assert done.stderr.startswith(f"goldbench: --weight: {option[0]} counts every query once; leave out one of the two")
    assert not (place / "page.html").exists()


def test_a_set_without_frequencies_has_no_weighted_means(place: Path) -> None:
    data = json.loads((place / "set" / "dataset.json").read_text("utf-8"))
    del data["frequency"]["q3"]
    (place / "some.json").write_text(json.dumps(data), "utf-8")
    some = load_gold(place / "some.json")
    result = score_run(some, load_run(place / "run.json"), [parse_measure("mrr@10")])
    with pytest.raises(InputError, match=r"1 of 30 queries have no frequency, .*: leave the weight out"):
        weighted(some, result, "frequency")
    assert weighted(some, result, None) is result
    with pytest.raises(UsageError, match=r"weight: .*one of frequency, traffic"):
        GoldSet.load(place / "set").evaluate(place / "run.json", weight="clicks")  # type: ignore[call-overload]
