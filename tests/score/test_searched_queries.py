"""What retrievers search with for conversations: the last turn, its stand-alone form, or all turns; it is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldbench import GoldSet, InputError, UsageError
from tests.conftest import Goldbench

SET: dict[str, Any] = {
    "queries": {"q1": "And who repaired it?", "q2": "Where is the green lamp?"},
    "corpus": {
        "pump": "The circulation pump was repaired by Ann.",
        "tank": "The tank was painted and repaired by Bob, and who knows it?",
        "lamp": "A green lamp hangs above the door.",
    },
    "relevant_docs": {"q1": ["pump"], "q2": ["lamp"]},
    "mode": "text",
    "unanswerable": {"u1": "And its colour?"},
    "history": {
        "q1": [{"question": "Which pump rattles?", "answer": "The circulation pump."}],
        "u1": [{"question": "Who built the tank?"}],
    },
    "standalone": {"q1": "Who repaired the circulation pump?", "u1": "Which colour has the tank?"},
    "metadata": {"members": ["unanswerable", "history", "standalone"]},
}
SEARCHED = {
    "last": ["And who repaired it?", "Where is the green lamp?", "And its colour?"],
    "standalone": ["Who repaired the circulation pump?", "Where is the green lamp?", "Which colour has the tank?"],
    "joined": [
        "Which pump rattles?\nThe circulation pump.\nAnd who repaired it?",
        "Where is the green lamp?",
        "Who built the tank?\nAnd its colour?",
    ],
}
TOLD = {
    "last": "the last turn alone, as it was asked",
    "standalone": "the stand-alone form of the last turn",
    "joined": "all turns",
}


def write(folder: Path, **changes: Any) -> Path:
    (folder / "dataset.json").write_text(json.dumps({**SET, **changes}))
    return folder


@pytest.mark.parametrize("conversation", SEARCHED)
def test_a_retriever_in_python_is_asked_in_the_form_that_is_chosen(tmp_path: Path, conversation: Any) -> None:
    asked = []

    def search(query: str, k: int) -> list[str]:
        asked.append(query)
        return ["pump"]

    found = GoldSet.load(write(tmp_path)).evaluate(search, "hit@1", conversation=conversation, progress=False)
    assert asked == SEARCHED[conversation]
    (told,) = [line for line in found.remarks if "conversation" in line]
    assert told == f"search: 2 conversations searched by {TOLD[conversation]} (conversation = {conversation})."


def test_the_form_that_is_chosen_is_what_commands_search_for_and_tell(
    tmp_path: Path, goldbench_inside: Goldbench
) -> None:
    write(tmp_path)
    best = {}
    for conversation in SEARCHED:
        done = goldbench_inside("retrieve", "dataset.json", "-o", "run.trec", "--k", 1, "--conversation", conversation)
        assert f"2 conversations searched by {TOLD[conversation]}" in done.stderr
        lines = (tmp_path / "run.trec").read_text().splitlines()
        best[conversation] = {line.split()[0]: line.split()[2] for line in lines}
    assert best["last"]["q1"] == "tank"
    assert best["standalone"] == {"q1": "pump", "q2": "lamp", "u1": "tank"}
    assert best["joined"]["q1"] == "pump"


def test_a_conversation_without_the_form_that_is_chosen_is_refused(tmp_path: Path) -> None:
    gold = GoldSet.load(write(tmp_path, standalone={"u1": "Which colour has the tank?"}))
    with pytest.raises(InputError, match="'q1' has earlier turns but no stand-alone form; search with last or joined"):
        gold.evaluate(lambda query, k: [], "hit@1", conversation="standalone", progress=False)
    with pytest.raises(UsageError, match="conversation: not a valid value: 'first'; give one of last, standalone, joi"):
        gold.evaluate(lambda query, k: [], conversation="first", progress=False)  # type: ignore[call-overload]
    broken = GoldSet.load(write(tmp_path, history={"q1": [{"answer": "no question"}]}))
    with pytest.raises(InputError, match="history of query 'q1'"):
        broken.evaluate(lambda query, k: [], conversation="joined", progress=False)


def test_a_copy_of_a_data_set_under_another_name_keeps_its_members(tmp_path: Path, goldbench_inside: Goldbench) -> None:
    write(tmp_path, relevant_docs={"q1": ["pump", "tank"], "q2": ["lamp"]}, needs={"q1": ["pump", "tank"]},
          metadata={"members": ["needs", "unanswerable"], "notice": "made by hand"})  # fmt: skip
    (tmp_path / "dataset.json").rename(tmp_path / "mine.v2.json")
    (tmp_path / "run.json").write_text(json.dumps({"q1": {"pump": 2, "lamp": 1}, "q2": {"lamp": 1}, "u1": {"lamp": 1}}))
    done = goldbench_inside(
        "score", "mine.v2.json", "--run", "run.json", "--measure", "all@2,hit@1", "--format", "json"
    )
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)["runs"]["run"]
    assert run["means"]["all@2"] == 0.0
    assert run["means"]["hit@1"] == 1.0
    assert "made by hand" in done.stderr
    assert GoldSet.load(tmp_path / "mine.v2.json").queries == SET["queries"]
