"""The pytest plugin, in runs of pytest of its own: readable failures, baselines, and nothing where it is not used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import SETTINGS

TESTS = """
import pytest

QUERIES = {text: query_id for query_id, text in __import__("json").load(open("set/dataset.json"))["queries"].items()}

def half(query, k):
    number = int(QUERIES[query].removeprefix("q"))
    return [f"d{number}"] if number % 2 else ["d0"]

def quarter(query, k):
    return half(query, k) if int(QUERIES[query].removeprefix("q")) % 4 < 2 else []

def nothing(query, k):
    return []

def test_reached(gold):
    assert gold.evaluate(half)["ndcg@10"] >= 0.5
    assert gold.evaluate(half)["NDCG@10"] == pytest.approx(0.5, abs=0.03)

def test_too_low(gold):
    assert gold.evaluate(half, "ndcg@10")["ndcg@10"] >= 0.6

def test_reversed(gold):
    assert 0.6 < gold.evaluate({"half": half}, "recall@5")["half"]["r@5"]

def test_nothing(gold):
    assert gold.evaluate(nothing, "hit@1")["hit@1"] > 0

def test_baseline(gold):
    gold.evaluate(half).assert_no_drop("kept/baseline.json", max_drop=["10%", "r@10=1%"])

def test_drop(gold):
    gold.evaluate(quarter).assert_no_drop("kept/baseline.json", max_drop="10%")

def test_other_measures(gold):
    gold.evaluate(half, "p@3").assert_no_drop("kept/baseline.json")

@pytest.mark.goldbench("missing")
def test_no_such_set(gold):
    pass

@pytest.mark.goldbench("one", "two")
def test_two_sets(gold):
    pass

@pytest.mark.goldbench(None)
def test_nothing_named(gold):
    pass

def test_of_others():
    assert [1, 2] == [1, 3]
"""
HOSTILE = "is it\x1b[31m <b>\u202e red?\n\nyes " + "long " * 1000


def checkout(folder: Path) -> Path:
    """A folder with a set and the tests above; odd queries find their passage."""
    texts = {
        f"q{number}": HOSTILE if number == 2 else f"What is thing {number}?" for number in sorted(range(40), key=str)
    }
    gold = {
        "queries": texts,
        "corpus": {f"d{number}": f"Thing {number} is a thing." for number in range(40)},
        "relevant_docs": {f"q{number}": [f"d{number}"] for number in range(40)},
        "metadata": {"evidence_level": "human"},
    }
    (folder / "set").mkdir()
    (folder / "set" / "dataset.json").write_text(json.dumps(gold), encoding="utf-8")
    (folder / "test_search.py").write_text(TESTS, encoding="utf-8")
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in {*SETTINGS, "CI", "PYTEST_ADDOPTS"}}
    quick = [
        part
        for name in ("asyncio", "xdist", "langsmith", "hypothesispytest", "randomly")
        for part in ("-p", f"no:{name}")
    ]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--strict-markers", *quick, *arguments],
        cwd=folder,
        env={**kept, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def part(said: str, test: str) -> list[str]:
    """The lines that pytest marks as the error of a test."""
    after = said.split(f" {test} _")[1].split("\n____", maxsplit=1)[0]
    return [line[1:].strip() for line in after.splitlines() if line.startswith("E ")]


@pytest.mark.slow
def test_failures_name_figure_interval_bound_and_queries_and_baselines_are_kept(tmp_path: Path) -> None:
    folder = checkout(tmp_path)
    first = run(folder, "--goldbench-set", "set", "-k", "test_baseline", "--goldbench-write-baselines")
    assert first.returncode == 0, first.stdout
    said = run(folder, "--goldbench-set", "set").stdout
    assert "6 failed, 2 passed" in said, said
    low = part(said, "test_too_low")
    assert low[0].startswith("assert ndcg@10 0.5250 [0.")
    assert low[0].endswith("] >= 0.6")
    assert low[1:4] == ["half, 40 queries", "Lowest queries:", "q10  0.0000  What is thing 10?"]
    assert low[6:] == [f"Open a query: goldbench open {folder}/set --query q10"]
    assert part(said, "test_reversed")[0].startswith("assert 0.6 < r@5 0.5250 [")
    assert part(said, "test_nothing")[2] == "Every query has the same value."
    assert "which evaluate() did not measure" in "".join(part(said, "test_other_measures"))
    assert "At index 1 diff: 2 != 3" in "".join(part(said, "test_of_others"))
    drop = part(said, "test_drop")
    assert drop[0] == "Failed: FAILED  ndcg@10 0.2750, baseline 0.5250, required at least 0.4725, p (Holm) 0.0072"
    assert "- q11  1.0000 → 0.0000  What is thing 11?" in drop
    assert "missing: not found; give the folder of a gold set" in said.split("setup of test_no_such_set")[1]
    assert "takes one folder" in said.split("setup of test_two_sets")[1]
    assert "takes one folder" in said.split("setup of test_nothing_named")[1]


@pytest.mark.slow
def test_a_set_of_the_configuration_and_more_queries_with_vv_each_on_one_line(tmp_path: Path) -> None:
    folder = checkout(tmp_path)
    (folder / "pytest.ini").write_text("[pytest]\ngoldbench_set = set\n", encoding="utf-8")
    said = run(folder, "-vv", "-k", "too_low or test_baseline").stdout
    low = part(said, "test_too_low")
    assert len([line for line in low if "  0.0000  " in line]) == 10
    (hostile,) = (line for line in low if line.startswith("q2 "))
    strange = "\N{REPLACEMENT CHARACTER}"
    assert hostile.startswith(f"q2  0.0000  is it{strange}[31m <b>{strange} red? yes long")
    assert len(hostile) < 100
    assert "not found; write it with pytest --goldbench-write-baselines" in said


@pytest.mark.slow
def test_without_a_set_the_fixture_says_how_to_give_one(tmp_path: Path) -> None:
    said = run(checkout(tmp_path), "-k", "reached").stdout
    assert "gold: no gold set given; write @pytest.mark.goldbench('FOLDER')" in said


def test_at_the_start_of_pytest_only_the_plugin_is_imported() -> None:
    code = (
        "import pytest, sys; known = set(sys.modules); import goldbench.api.pytest_plugin;"
        "print(*sorted(set(sys.modules) - known))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["goldbench", "goldbench.api", "goldbench.api.pytest_plugin"]
