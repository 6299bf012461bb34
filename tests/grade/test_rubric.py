"""The rubric of a set: what the judge reads, and what an edit of it does to a graded set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldbench.errors import OutputError
from goldbench.goldset.publication import read_manifest
from goldbench.prompts.rubric import DEFAULT, Rubric
from goldbench.records.review_event import EventKind
from tests.conftest import Goldbench
from tests.grade.graded_sets import KnownSet, grade, settings, write_set
from tests.model_server.fixture import ServerHandle
from tests.review.made_set import event, ledger_of

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


def test_every_wording_of_the_judge_reads_the_rubric_of_the_set_and_every_judgment_names_it(
    known: KnownSet, model_server: ServerHandle
) -> None:
    (known.folder / "rubric.md").write_text(OURS.text, encoding="utf-8")
    grade(known.folder, settings(model_server, panel="all"))
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


def passages_of(requests: list[dict[str, Any]]) -> set[str]:
    return {
        body["messages"][-1]["content"].split("<<<PASSAGE")[1].split("\n", 1)[1].split("\n<<<END")[0]
        for body in (request["body"] for request in requests)
    }


def test_after_an_edit_only_pairs_are_asked_about_that_people_judged_otherwise_and_agreement_is_told(
    known: KnownSet, model_server: ServerHandle, goldbench_inside: Goldbench, tmp_path: Path
) -> None:
    helpful = {query: next(text for text, grade in texts.items() if grade == 2) for query, texts in known.truth.items()}
    wrong = [*helpful][:2]
    misread = {query: {**texts, helpful[query]: 0} if query in wrong else texts for query, texts in known.truth.items()}
    url = ("--base-url", model_server.base_url, "--model", "m")
    model_server.script(judge={"truth": misread})
    done = goldbench_inside("grade", "set", *url, "--method", "written")
    assert done.returncode == 0, done.stderr
    assert goldbench_inside("grade", "set", *url, "--again").returncode != 0, "nobody has judged yet"
    before = {(row["query_id"], row["chunk_id"], row["assessor"]): row for row in judged(known.folder)}
    material, ledger = ledger_of(known.folder)
    with ledger:
        ledger.append_all(
            event(
                material, EventKind.JUDGE, query, chunk_id=chunk, grade=grade, client_id=f"people-{number}-{position}"
            )
            for number, (query, chunks) in enumerate(known.ids.items())
            for position, (chunk, grade) in enumerate(chunks.items())
        )
    (known.folder / "rubric.md").write_text(OURS.text, encoding="utf-8")
    model_server.script(judge={"truth": known.truth})
    asked = len(model_server.requests())
    done = goldbench_inside("grade", "set", *url, "--method", "written", "--again")
    assert done.returncode == 0, done.stderr
    assert passages_of(model_server.requests()[asked:]) == {helpful[query] for query in wrong}
    after = {(row["query_id"], row["chunk_id"], row["assessor"]): row for row in judged(known.folder)}
    changed = {key for key in after if after[key] != before.get(key)}
    assert len({key[:2] for key in changed}) == len(wrong)
    assert {after[key]["rubric"] for key in changed} == {OURS.sha}
    report = json.loads(goldbench_inside("review", "report", "set", "--format", "json").stdout)
    change = report["rubric_change"]
    assert (change["before"], change["after"], change["asked"]) == (DEFAULT.sha, OURS.sha, len(wrong))
    assert change["agreed_after"] == change["compared"] == change["agreed_before"] + len(wrong)
    assert OURS.sha in goldbench_inside("review", "report", "set").stdout
    grade(known.folder, settings(model_server, depth=10), again=True)
    grading = read_manifest(known.folder).grading
    assert grading is not None
    assert grading.rubric_change is not None, "a top-up leaves the record"


def judged(folder: Path) -> list[dict[str, Any]]:
    return [row for row in records(folder, "4-judgments.jsonl") if "canary" not in row and "shared_from" not in row]
