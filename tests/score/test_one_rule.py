"""One rule for names of runs, verdicts that fit the tests, and runs that miss what is judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goldbench.measures.statistics.fitness import Basis, FitnessLevel, Reason, fitness
from tests.cli.sample_set import write_sample
from tests.conftest import Goldbench


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    write_sample(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", ["score", "compare", "gate", "monitor"])
def test_a_name_that_steers_a_terminal_is_refused_everywhere(
    sample: Path, goldbench_inside: Goldbench, command: str
) -> None:
    more = {"compare": ("--run", "b=b.trec"), "gate": ("--min", "r@5=0.1"), "monitor": ("--history", "h.jsonl")}
    done = goldbench_inside(command, "gold", "--run", "a\x1b[31m=a.trec", *more.get(command, ()))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "characters that cannot be shown" in done.stderr


def test_nothing_is_ranked_by_runs_that_the_test_does_not_tell_apart() -> None:
    columns = [[0.5 + 0.1 * (place % 5) for place in range(40)], [0.45 + 0.1 * (number % 5) for number in range(40)]]
    assert fitness(columns, Basis("human", "people")).level is FitnessLevel.RANKS
    found = fitness(columns, Basis("human", "people"), separated=0)
    assert (found.level, found.reason) == (FitnessLevel.REGRESSIONS, Reason.TEST)


def test_an_unusable_set_names_no_winner(sample: Path, goldbench_inside: Goldbench) -> None:
    lines = (sample / "a.trec").read_text(encoding="utf-8").splitlines()
    strange = [
        " ".join([q, q0, f"x{position}", *rest]) for position, (q, q0, _, *rest) in enumerate(map(str.split, lines))
    ]
    (sample / "strange.trec").write_text("\n".join(strange) + "\n", encoding="utf-8")
    human = json.loads((sample / "gold" / "dataset.json").read_text(encoding="utf-8"))
    human["metadata"] = {"evidence_level": "human"}
    (sample / "gold" / "dataset.json").write_text(json.dumps(human), encoding="utf-8")
    said = goldbench_inside("compare", "gold", "--run", "a.trec", "--run", "strange.trec", "-v").stdout
    assert said.startswith("Verdict: unusable: no result of strange is judged")
    assert "best" not in said
    assert "better" not in said


def test_right_ids_that_miss_the_one_judged_passage_are_no_unusable_set(
    sample: Path, goldbench_inside: Goldbench
) -> None:
    gold = json.loads((sample / "gold" / "dataset.json").read_text(encoding="utf-8"))
    missed = [
        f"{query} Q0 {next(one for one in gold['corpus'] if one not in relevant)} 1 1.0 t"
        for query, relevant in gold["relevant_docs"].items()
    ]
    (sample / "missed.trec").write_text("\n".join(missed) + "\n", encoding="utf-8")
    done = goldbench_inside("score", "gold", "--run", "missed.trec")
    assert "unusable" not in done.stdout
    assert "same ids" not in done.stderr
