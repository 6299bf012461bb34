"""``validity`` in bench.toml: do simulated queries of two recipes rank the experiment's own systems alike?"""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from goldbench.bench.bench_file import load_bench
from goldbench.bench.trial import conduct
from goldbench.records.experiment import Experiment, SourceAgreement
from goldbench.report.experiment_text import figures_markdown, sources
from goldbench.score.runs import load_gold
from tests.measures.statistics.spoken import sentences

SYSTEMS = """
[systems.words]
kind = "bm25"
[systems.flat]
kind = "bm25"
b = 0
[systems.broken]
kind = "python"
function = "ours:broken"
"""
BROKEN = """
def broken(query, k):
    if query not in open("known.txt").read():
        raise ValueError
    return ["d0"]
"""


@pytest.fixture
def gold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    told = sentences(120, seed=1)
    corpus = {f"d{number}": " ".join(told[4 * number : 4 * number + 4]) for number in range(30)}
    queries = {f"q{number}": " ".join(corpus[f"d{number}"].split()[3:6]) for number in range(12)}
    relevant = {f"q{number}": [f"d{number}"] for number in range(12)}
    dataset = {"queries": queries, "corpus": corpus, "relevant_docs": relevant, "mode": "text"}
    (tmp_path / "dataset.json").write_text(json.dumps(dataset), encoding="utf-8")
    (tmp_path / "ours.py").write_text(BROKEN, encoding="utf-8")
    (tmp_path / "known.txt").write_text("\n".join(queries.values()), encoding="utf-8")
    return tmp_path / "dataset.json"


def experiment(gold: Path, text: str, progress: MagicMock | None = None) -> Experiment:
    (gold.parent / "bench.toml").write_text(text, encoding="utf-8")
    loaded = load_gold(gold)
    bench = load_bench(gold.parent / "bench.toml", level=loaded.level)
    progress, folder = progress or MagicMock(), gold.parent / "bench"
    found = conduct(bench, loaded, folder=folder, answers=folder / "answers.sqlite", progress=progress)
    assert found.experiment is not None
    return found.experiment


def test_two_recipes_are_compared_with_the_set_and_with_each_other(gold: Path) -> None:
    progress = MagicMock()
    found = experiment(gold, f"validity = 20\n{SYSTEMS}", progress)
    pairs = [(one.first, one.second) for one in found.sources]
    assert pairs == [("the gold set", "terms"), ("the gold set", "held-out"), ("terms", "held-out")]
    assert {one.systems for one in found.sources} == {2}  # the one that fails on other queries is left out
    left_out = [call.args[0] for call in progress.note.call_args_list if "left out of the check" in call.args[0]]
    assert [line.split(":")[0] for line in left_out] == ["broken", "broken"]
    assert all(-1 <= one.low <= one.tau <= one.high <= 1 for one in found.sources)
    assert "terms and held-out rank the 2 systems by ndcg@10 with tau" in figures_markdown(found)


def test_nothing_is_simulated_unless_the_file_asks_for_it(gold: Path) -> None:
    found = experiment(gold, SYSTEMS)
    assert found.sources == []
    assert "Validity" not in figures_markdown(found)


@pytest.mark.parametrize(
    ("tau", "low", "systems", "told"),
    [
        (0.05, -0.3, 8, "contradict"),
        (0.05, -0.3, 4, "tau needs at least 8"),
        (1.0, 1.0, 2, "tau needs at least 8"),
        (0.7, 0.0, 8, "too few"),
        (0.7, 0.5, 8, None),
    ],
)
def test_what_follows_is_said_before_the_figures(tau: float, low: float, systems: int, told: str | None) -> None:
    one = SourceAgreement(
        first="terms", second="held-out", measure="ndcg@10", systems=systems, tau=tau, low=low, high=0.9, lowest=0,
        highest=0.8,
    )  # fmt: skip
    lines = list(sources(MagicMock(sources=[one])))
    assert len(lines) == (1 if told is None else 2)
    assert told is None or told in lines[0]
    assert "with tau" in lines[-1]
