"""A set before and after a change: which queries are the same, and what gates and histories say about the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldbench.goldset.content_digest import read_content
from goldbench.goldset.folder import GoldFolder
from tests.conftest import Goldbench
from tests.grade.graded_sets import write_set


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


def gold(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
    return loaded


def put_in_place(folder: Path, *replaced: tuple[str, str]) -> None:
    """Put the set in place again with texts of its files replaced, as a command does."""
    home = GoldFolder(folder)
    with home.rewriting() as place:
        for name in ("dataset.json", "trec/qrels.txt"):
            text = home.file(name).read_text(encoding="utf-8")
            for old, new in replaced:
                text = text.replace(old, new)
            place.file(name).parent.mkdir(exist_ok=True)
            place.file(name).write_text(text, encoding="utf-8")
        made = place.file("dataset.json")
        stale, fresh = json.loads(made.read_text(encoding="utf-8"))["metadata"]["content_sha256"], read_content(made)
        made.write_text(made.read_text(encoding="utf-8").replace(stale, fresh.sha256), encoding="utf-8")
        place.finish(home.manifest())


@pytest.fixture
def folder(goldbench: Goldbench, tmp_path: Path) -> Path:
    """A set with the baseline, the history and the values of a run on it."""
    path = write_set(tmp_path / "run").folder
    put_in_place(path)
    rows = [
        f"{query_id} Q0 {passage} 0 {len(query_id + passage) * (position + 3) % 7} words"
        for query_id in gold(path)["queries"]
        for position, passage in enumerate(gold(path)["corpus"])
    ]
    (tmp_path / "words.trec").write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = goldbench("gate", "run", "--run", "words.trec", "--baseline", "baseline.json", "--init")
    assert done.returncode == 0, done.stderr
    goldbench("monitor", "run", "--run", "words.trec", "--history", "history.jsonl")
    return path


def change(folder: Path) -> tuple[str, str]:
    """Give one query another grade and another query other words, and return their ids."""
    found = gold(folder)
    relabelled, reworded = list(found["queries"])[:2]
    grades = found["relevance_scores"][relabelled]
    more = {**grades, next(one for one in found["corpus"] if one not in grades): 1}
    line = '"{}": {}'
    words = found["queries"][reworded]
    put_in_place(
        folder,
        (line.format(relabelled, json.dumps(grades)), line.format(relabelled, json.dumps(more))),
        (line.format(reworded, json.dumps(words)), line.format(reworded, '"Which else?"')),
    )
    return relabelled, reworded


def test_a_baseline_of_another_version_is_refused_and_its_common_queries_are_compared_on_request(
    goldbench: Goldbench, folder: Path, tmp_path: Path
) -> None:
    gate = ("gate", "run", "--run", "words.trec", "--baseline", "baseline.json")
    assert goldbench(*gate).returncode == 0
    change(folder)
    refused = goldbench(*gate)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "--common-queries" in refused.stderr
    across = goldbench(*gate, "--common-queries")
    assert across.returncode == 0, across.stderr
    assert "Note: 6 of 8 queries are as in the baseline, which had 8; only they are compared with it." in across.stdout
    baseline = json.loads((tmp_path / "baseline.json").read_text(encoding="utf-8"))
    assert len(baseline["query_sha256"]) == len(baseline["query_ids"]) == 8


def test_a_run_from_before_a_passage_changed_is_told(goldbench: Goldbench, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("pump", "valve", "rotor"):
        text = f"The {name} of the station is cleaned with warm water every morning before the crew starts it. "
        (docs / f"{name}.txt").write_text(text * 2 + f"A worn {name} is sent to the depot of the northern district.")
    build = ("build", "docs", "--out", "set", "--queries", 3, "--generator", "simulated")
    assert goldbench(*build).returncode == 0
    assert goldbench("retrieve", "set", "--system", "bm25", "-o", "old.trec").returncode == 0
    scored = (
        ("score", "set", "--run", "old.trec"),
        ("compare", "set", "--run", "old.trec", "--run", "same=old.trec"),
        ("gate", "set", "--run", "old.trec", "--min", "ndcg@10=0"),
        ("monitor", "set", "--run", "old.trec", "--history", "old.jsonl"),
        ("open", "set", "--run", "old.trec", "--html", "page.html"),
    )
    assert "old: 1 of 3 passages" not in goldbench(*scored[0]).stderr
    with (docs / "pump.txt").open("a") as file:
        file.write(" The depot is closed in winter.")
    assert goldbench("refresh", "set").returncode == 0
    home = GoldFolder(tmp_path / "set")
    with home.rewriting() as draft:
        draft.finish(home.manifest().model_copy(update={"renewed": None}))  # as in a set that is built anew
    for command in scored:
        told = goldbench(*command)
        assert told.returncode == 0, told.stderr
        assert "old: 1 of 3 passages in the run is not in the set" in told.stderr


def test_a_history_marks_other_content(goldbench: Goldbench, folder: Path) -> None:
    monitor = ("monitor", "run", "--run", "words.trec", "--history", "history.jsonl")
    before = gold(folder)["metadata"]["content_sha256"][:12]
    assert before not in goldbench(*monitor).stdout
    change(folder)
    after = gold(folder)["metadata"]["content_sha256"][:12]
    (note,) = (line for line in goldbench(*monitor).stdout.splitlines() if before in line)
    assert after in note


@pytest.mark.usefixtures("folder")
def test_a_cutoff_that_takes_in_the_whole_corpus_is_told(goldbench: Goldbench, tmp_path: Path) -> None:
    size = len(gold(tmp_path / "run")["corpus"])
    deep = goldbench("score", "run", "--run", "words.trec", "--measure", f"hit@{size},r@{size - 1},ndcg@{size}")
    assert f"The corpus has {size} passages: hit@{size} cannot tell systems apart that" in deep.stderr
    short = goldbench("score", "run", "--run", "words.trec", "--measure", f"hit@{size - 1}")
    assert "The corpus has" not in short.stderr
