"""The rubric of a set: what the judge reads, and what an edit of it does to a graded set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldbench.pipeline.errors import OutputError
from goldbench.pipeline.goldset.publication import read_manifest
from goldbench.prompts.rubric import DEFAULT, Rubric
from tests.grade.graded_sets import KnownSet, grade, settings, write_set
from tests.model_server.fixture import ServerHandle

OURS = Rubric.of("- 3: the complete answer\n- 2: a recall notice\n- 1: the same machine\n- 0: the rest\n")


@pytest.fixture
def known(tmp_path: Path, model_server: ServerHandle) -> KnownSet:
    known = write_set(tmp_path / "set", subjects=4)
    model_server.script(judge={"truth": known.truth}, probabilities="openai")
    return known


def records(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]


def systems(server: ServerHandle) -> list[str]:
    return [request["body"]["messages"][0]["content"] for request in server.requests()]


@pytest.mark.parametrize("per_call", [1, 4])
def test_every_wording_of_the_judge_reads_the_rubric_of_the_set_and_every_judgment_names_it(
    known: KnownSet, model_server: ServerHandle, per_call: int
) -> None:
    (known.folder / "rubric.md").write_text(OURS.text, encoding="utf-8")
    grade(known.folder, settings(model_server, panel="all", passages_per_call=per_call))
    assert all(OURS.text in system and DEFAULT.text not in system for system in systems(model_server))
    rows = records(known.folder, "4-judgments.jsonl")
    assert len({row["assessor"] for row in rows}) == 3
    assert {row["rubric"] for row in rows} == {OURS.sha}
    grading = read_manifest(known.folder).grading
    assert grading is not None
    assert grading.rubric == OURS.sha


def test_without_a_rubric_of_its_own_a_set_is_judged_by_the_built_in_one(
    known: KnownSet, model_server: ServerHandle
) -> None:
    done = grade(known.folder, settings(model_server))
    assert all(DEFAULT.text in system for system in systems(model_server))
    assert done.grading.rubric == DEFAULT.sha


def test_a_judge_by_yes_or_no_reads_no_rubric_and_says_so(known: KnownSet, model_server: ServerHandle) -> None:
    (known.folder / "rubric.md").write_text(OURS.text, encoding="utf-8")
    done = grade(known.folder, settings(model_server, method="yes-no"))
    assert not [system for system in systems(model_server) if "recall notice" in system]
    assert done.grading.rubric is None
    assert not [row for row in records(known.folder, "4-judgments.jsonl") if "rubric" in row]


def test_an_edited_rubric_does_not_mix_grades_of_two_meanings(known: KnownSet, model_server: ServerHandle) -> None:
    grade(known.folder, settings(model_server))
    (known.folder / "rubric.md").write_text(OURS.text, encoding="utf-8")
    with pytest.raises(OutputError):
        grade(known.folder, settings(model_server))
    grade(known.folder, settings(model_server), replace=True)
    assert {row["rubric"] for row in records(known.folder, "4-judgments.jsonl")} == {OURS.sha}
