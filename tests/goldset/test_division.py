"""``goldbench split``: exact shares, nothing known on both sides, whole sets that appear together or not at all."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from goldbench.goldset.integrity import validate
from goldbench.text.similarity import jaccard, shingles
from tests import forked_commands
from tests.conftest import ROOT, Goldbench, posix

EXAMPLE = ROOT / "data" / "example" / "documents" / "manual"


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("split") / "run"
    forked_commands.run("build", EXAMPLE, "--out", folder, "--queries", 30)
    return folder


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def gold(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
    return loaded


def content(folder: Path) -> dict[str, bytes]:
    found = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not name.endswith("manifest.json")}


def test_parts_have_their_exact_numbers_and_together_hold_the_set(
    goldbench: Goldbench, built: Path, tmp_path: Path
) -> None:
    done = goldbench("split", built, "--shares", "dev=0.3,test=0.7", "--out", "parts")
    assert done.returncode == 0, done.stderr
    dev, test = gold(tmp_path / "parts" / "dev"), gold(tmp_path / "parts" / "test")
    whole = gold(built)
    assert (len(dev["queries"]), len(test["queries"])) == (9, 21)
    for member in ("queries", "relevant_docs", "relevance_scores"):
        assert {**dev[member], **test[member]} == whole[member]
        assert not dev[member].keys() & test[member].keys()
    assert dev["corpus"].keys() == test["corpus"].keys() == whole["corpus"].keys()
    assert dev["metadata"]["split"] == {
        "part": "dev", "by": "query", "seed": 0, "shares": {"dev": "3/10", "test": "7/10"},
    }  # fmt: skip
    for name in ("dev", "test"):
        assert validate(tmp_path / "parts" / name).problems == ()
    again = goldbench("split", built, "--shares", "dev=0.3,test=0.7", "--out", "again")
    assert again.returncode == 0
    assert content(tmp_path / "parts") == content(tmp_path / "again")
    goldbench("split", built, "--shares", "dev=0.3,test=0.7", "--out", "other", "--seed", 1)
    assert gold(tmp_path / "other" / "dev")["queries"].keys() != dev["queries"].keys()


def sides(parts: Path) -> list[set[str]]:
    """Return the passages that the queries of each part ask about."""
    return [{query["chunk_id"] for query in lines(parts / name / "3-queries.jsonl")} for name in ("dev", "test")]


def test_no_near_duplicate_of_a_passage_and_by_source_no_document_is_on_both_sides(
    goldbench: Goldbench, built: Path, tmp_path: Path
) -> None:
    chunks = {chunk["chunk_id"]: chunk for chunk in lines(built / "1-chunks.jsonl")}
    goldbench("split", built, "--shares", "dev=0.5,test=0.5", "--out", "parts")
    dev, test = ([set(shingles(chunks[one]["text"]).tolist()) for one in side] for side in sides(tmp_path / "parts"))
    for first, second in itertools.product(dev, test):
        assert jaccard(len(first & second), len(first), len(second)) < 0.8
    goldbench("split", built, "--shares", "dev=0.4,test=0.6", "--by", "source", "--out", "sources")
    dev, test = ({chunks[one]["span"]["doc_id"] for one in side} for side in sides(tmp_path / "sources"))
    assert dev
    assert not dev & test


def test_linked_queries_stay_together_and_records_follow_them(
    goldbench: Goldbench, built: Path, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    shutil.copytree(built, linked)
    rows = lines(linked / "3-queries.jsonl")
    ids = [row["query_id"] for row in rows]
    rows[1] |= {"original": ids[0], "noise": "typing"}
    rows[3] |= {"history": [{"question": rows[2]["text"].upper()}], "standalone": "A last turn of its own"}
    rows[5] |= {"needs": [rows[5]["chunk_id"], rows[4]["chunk_id"]]}
    write_lines(linked / "3-queries.jsonl", rows)
    unanswerable = [{"query_id": f"u{n}", "chunk_id": rows[n]["chunk_id"], "text": f"Unknown thing {n} of {n} there?",
                     "generator": "made"} for n in range(6)]  # fmt: skip
    write_lines(linked / "3-unanswerable.jsonl", unanswerable)
    pool = [{"query_id": one, "chunk_id": row["chunk_id"]} for one, row in zip(ids, rows, strict=True)]
    write_lines(linked / "4-pool.jsonl", pool)
    write_lines(linked / "4-judgments.jsonl", [{**row, "relevance": 3, "assessor": "m"} for row in pool[:20]])
    assert goldbench("split", linked, "--shares", "a=0.3,b=0.3,c=0.4", "--out", "parts").returncode == 0
    part = {}
    for name in "abc":
        place = tmp_path / "parts" / name
        here = [row["query_id"] for row in lines(place / "3-queries.jsonl")]
        assert [row["query_id"] for row in lines(place / "4-pool.jsonl")] == here
        assert {row["query_id"] for row in lines(place / "4-judgments.jsonl")} == set(ids[:20]) & set(here)
        asked = lines(place / "3-unanswerable.jsonl") if (place / "3-unanswerable.jsonl").exists() else []
        part |= dict.fromkeys([*here, *(row["query_id"] for row in asked)], name)
    assert part.keys() == {*ids, *(f"u{n}" for n in range(6))}
    for one, other in ((0, 1), (2, 3), (4, 5)):
        assert part[ids[one]] == part[ids[other]]
    assert all(part[f"u{n}"] == part[ids[n]] for n in range(6)), "written beside the same passage"


def test_verdicts_of_people_go_along_and_the_ledger_is_named(goldbench: Goldbench, built: Path, tmp_path: Path) -> None:
    reviewed = tmp_path / "reviewed"
    shutil.copytree(built, reviewed)
    data = gold(reviewed)
    data["metadata"]["review"] = {
        "data_sha": "0" * 64,
        "judgments": {"people": 4, "model": 26},
        "queries": {query_id: {"verdict": "accepted", "by": "anna"} for query_id in data["queries"]},
    }
    (reviewed / "dataset.json").write_text(json.dumps(data), encoding="utf-8")
    (reviewed / "review.sqlite").write_bytes(b"a ledger")
    done = goldbench("split", reviewed, "--shares", "dev=0.3,test=0.7", "--out", "parts")
    assert done.returncode == 0, done.stderr
    assert "Not copied: " in done.stderr
    for name in ("dev", "test"):
        part = gold(tmp_path / "parts" / name)
        review = part["metadata"]["review"]
        assert review["queries"].keys() == part["queries"].keys()
        assert "judgments" not in review, "counts of the whole set"
        assert not list((tmp_path / "parts" / name).rglob("review.sqlite"))
        assert validate(tmp_path / "parts" / name).problems == ()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--shares", "dev=0.3,test=0.6"], 2, "with the sum 1, not 0.9"),
        (["--shares", "../dev=0.3,test=0.7"], 2, "not a name with its share"),
        (["--shares", "dev=0.001,test=0.999"], 2, "part dev would have no query"),
        (["--shares", "dev=0.3,test=0.7", "--out", "taken"], 2, "exists already; give another --out"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    goldbench: Goldbench, built: Path, tmp_path: Path, arguments: list[str], code: int, says: str
) -> None:
    (tmp_path / "taken").mkdir()
    done = goldbench("split", built, "--out", "parts", *arguments)
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


@posix
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_at_any_moment_the_parts_are_all_there_or_none(built: Path, tmp_path: Path) -> None:
    out, before = tmp_path / "parts", content(built)
    words = ["split", str(built), "--shares", "dev=0.3,test=0.7", "--out", str(out)]
    command = [sys.executable, "-m", "goldbench", *words]
    killed = 0
    for moment in (0.1, 0.4, 0.7, 1.0):
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moment)
        killed += process.poll() is None
        process.kill()
        process.wait()
        if out.exists():
            assert [validate(out / name).problems for name in ("dev", "test")] == [(), ()]
            shutil.rmtree(out)
    assert killed
    assert content(built) == before
    assert subprocess.run(command, cwd=ROOT, check=False, capture_output=True).returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"parts", ".parts.lock"}, "something was left beside the parts"
