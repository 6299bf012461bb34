"""Every command and Python say the same verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import goldbench
from tests.cli.sample_set import write_sample
from tests.conftest import Goldbench

RUNS = ("--run", "a=a.trec", "--run", "b=b.trec")
QUICK = ("--permutations", "100", "--resamples", "100")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A simulated set, and runs."""
    write_sample(tmp_path)
    return tmp_path


def test_every_command_and_python_say_the_same_verdict(files: Path, goldbench_inside: Goldbench) -> None:
    scored = goldbench_inside("score", "gold", *RUNS, "--format", "json")
    assert scored.returncode == 0, scored.stderr
    verdict = json.loads(scored.stdout)["verdict"]
    assert verdict["level"] == "smoke"
    compared = goldbench_inside("compare", "gold", *RUNS, *QUICK, "--format", "json")
    assert json.loads(compared.stdout)["verdict"] == verdict
    gold, runs = goldbench.GoldSet.load(files / "gold"), {name: str(files / f"{name}.trec") for name in "ab"}
    several = gold.evaluate(runs, ["ndcg@10"])
    in_python = [
        several.verdict,
        several["a"].verdict,
        gold.compare(runs, ["ndcg@10"], permutations=100, resamples=100).verdict,
        goldbench.evaluate(files / "gold" / "dataset.json", runs["a"], ["ndcg@10"]).verdict,
    ]
    assert {one.sentence for one in in_python if one is not None} == {verdict["sentence"]}
    assert goldbench_inside("score", "gold", *RUNS, "--html", "page.html").returncode == 0
    assert verdict["sentence"] in (files / "page.html").read_text("utf-8")
