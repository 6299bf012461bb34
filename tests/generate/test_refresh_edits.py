"""Random edits of documents, then ``goldbench refresh``: held against a plain search, and repeated without effect."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Goldbench
from tests.document_edits import edited
from tests.generate.test_build import artifacts

EXAMPLE = ROOT / "data" / "example" / "documents"
CHUNKS = ("--chunk-size", "300", "--chunk-overlap", "30")


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


def write(folder: Path, texts: dict[str, str]) -> None:
    """Make a folder hold these files and no others."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def read(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def labels(run: Path) -> dict[tuple[str, str], int]:
    rows = (line.split() for line in (run / "trec" / "qrels.txt").read_text(encoding="utf-8").splitlines())
    return {(query_id, chunk_id): int(grade) for query_id, _, chunk_id, grade in rows}


def check_refreshed(before: Path, after: Path) -> tuple[int, int]:
    """Compare a set with the one before the edits; return how many queries were kept and how many retired."""
    documents = {row["doc_id"]: str(row["text"]) for row in lines(after / "0-documents.jsonl")}
    texts = {row["chunk_id"]: " ".join(str(row["text"]).split()) for row in lines(after / "1-chunks.jsonl")}
    spans = {row["chunk_id"]: row["span"] for row in lines(after / "1-chunks.jsonl")}
    old_texts = {row["chunk_id"]: " ".join(str(row["text"]).split()) for row in lines(before / "1-chunks.jsonl")}
    now = {row["query_id"]: row for row in lines(after / "3-queries.jsonl")}
    held = {row["query_id"]: row for row in lines(before / "3-queries.jsonl")}
    retired = retired_from(after)[len(retired_from(before)) :]
    assert held.keys() == (now.keys() & held.keys()) | set(retired)
    for query_id, query in held.items():
        quotes = [one["quote"] for one in query["evidence"]]
        stands = all(sum(text.count(quote) for text in documents.values()) == 1 for quote in quotes)
        assert query_id in now or not stands, query
        if query_id in now:
            assert now[query_id]["text"] == query["text"]
            assert [one["quote"].split() for one in now[query_id]["evidence"]] == [quote.split() for quote in quotes]
    judged = {(query_id, old_texts[chunk_id], grade) for (query_id, chunk_id), grade in labels(before).items()}
    for (query_id, chunk_id), grade in labels(after).items():
        if query_id in held and (query_id, texts[chunk_id], grade) not in judged:
            place = spans[chunk_id]
            assert any(
                one["doc_id"] == place["doc_id"] and one["start"] < place["end"] and place["start"] < one["end"]
                for one in now[query_id]["evidence"]
            ) or any(" ".join(one["quote"].split()) in texts[chunk_id] for one in now[query_id]["evidence"])
    return len(now.keys() & held.keys()), len(retired)


def retired_from(run: Path) -> list[str]:
    """Return the ids of the queries that left a set, in all its refreshes."""
    rows = lines(run / "3-retired.jsonl") if (run / "3-retired.jsonl").is_file() else []
    return [row["query"]["query_id"] for row in rows]


def changed_a_little(texts: dict[str, str]) -> dict[str, str]:
    """Return files of which one is edited, one renamed, one removed, one halved and one new."""
    first, second, third, fourth, *rest = sorted(texts)
    return {
        first: texts[first].replace(" the ", " that ", 3),
        f"z-{second}": texts[second],
        fourth: texts[fourth][: len(texts[fourth]) // 2],
        "new.md": texts[third] + "\n\nA line that no other file has stands below what was copied here.\n",
        **{name: texts[name] for name in rest},
    }


def damaged(run: Path, how: str) -> None:
    """Change a set so that less of it can be copied by the next refresh."""
    traits, told = run / "1-chunks.traits", run / "manifest.json"
    if how == "other version":
        told.write_text(json.dumps({**json.loads(told.read_bytes()), "goldbench": "0.0.1"}), encoding="utf-8")
    elif how == "no traits":
        traits.unlink()
    elif how == "cut traits":
        traits.write_bytes(traits.read_bytes()[:-1])
    else:
        (run / "beir" / "corpus.jsonl").write_bytes(b"{}\n")


def test_what_a_refresh_copies_is_what_it_would_have_made(goldbench: Goldbench, tmp_path: Path) -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(EXAMPLE.rglob("*.md"))}
    write(tmp_path / "docs", texts)
    goldbench("build", "docs", "--out", "first", "--generator", "simulated", "--queries", 40, *CHUNKS)
    write(tmp_path / "docs", changed_a_little(texts))
    shutil.copytree(tmp_path / "first", tmp_path / "copied")
    assert goldbench("refresh", "copied").returncode == 0
    chunks = lines(tmp_path / "copied" / "1-chunks.jsonl")
    assert (tmp_path / "copied" / "1-chunks.traits").stat().st_size == 89 * len(chunks)
    for how in ("other version", "no traits", "cut traits", "changed copy"):
        shutil.copytree(tmp_path / "first", tmp_path / how)
        damaged(tmp_path / how, how)
        assert goldbench("refresh", how).returncode == 0
        assert artifacts(tmp_path / how) == artifacts(tmp_path / "copied"), how


def rewritten(run: Path, name: str, data: bytes) -> None:
    """Write a file of a set as if goldbench had written it so."""
    (run / name).write_bytes(data)
    told = json.loads((run / "manifest.json").read_bytes())
    told["files"][name] = hashlib.sha256(data).hexdigest()
    (run / "manifest.json").write_text(json.dumps(told), encoding="utf-8")


@pytest.mark.slow
def test_what_was_edited_by_hand_is_not_copied(goldbench: Goldbench, tmp_path: Path) -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(EXAMPLE.rglob("*.md"))}
    write(tmp_path / "docs", texts)
    goldbench("build", "docs", "--out", "first", "--generator", "simulated", "--queries", 30, *CHUNKS)
    write(tmp_path / "docs", changed_a_little(texts))
    first = {path.name: path.read_bytes() for path in (tmp_path / "first").glob("*.*")}
    shutil.copytree(tmp_path / "first", tmp_path / "copied")
    assert goldbench("refresh", "copied").returncode == 0
    compact = json.dumps(json.loads(first["dataset.json"])).encode()
    bare = b"\xff" * len(first["1-chunks.traits"])
    for name, data in (
        ("dataset.json", compact),
        ("beir/corpus.jsonl", b""),
        ("1-chunks.traits", bytes([200]) * len(bare)),
        ("1-chunks.traits", bare),
    ):
        shutil.copytree(tmp_path / "first", tmp_path / "run", dirs_exist_ok=True)
        rewritten(tmp_path / "run", name, data)
        done = goldbench("refresh", "run")
        assert done.returncode == 0, done.stderr
        told = artifacts(tmp_path / "run")
        assert {one: told[one] for one in ("dataset.json", "beir/corpus.jsonl", "1-chunks.traits")} == {
            one: artifacts(tmp_path / "copied")[one] for one in ("dataset.json", "beir/corpus.jsonl", "1-chunks.traits")
        }, name
        shutil.rmtree(tmp_path / "run")
    chunks = first["1-chunks.jsonl"]
    for name, data in (
        ("1-chunks.jsonl", b"not json\n" + chunks),
        ("1-chunks.jsonl", b"[]\n" + chunks),
        ("1-chunks.jsonl", chunks.replace(b'{"chunk_id":"', b'{"chunk_id":"\xff', 1)),
        ("0-documents.jsonl", b"{}\n" + first["0-documents.jsonl"]),
    ):
        shutil.copytree(tmp_path / "first", tmp_path / "run", dirs_exist_ok=True)
        rewritten(tmp_path / "run", name, data)
        done = goldbench("refresh", "run")
        assert done.returncode in {0, 2, 3}, done.stderr
        assert "internal error" not in done.stderr
        shutil.rmtree(tmp_path / "run")
    for old, new in ((b'title = "join"', b'title = "none"'), (b"size = 300", b"size = 200"), (b"seed = ", b"seed = 1")):
        shutil.copytree(tmp_path / "first", tmp_path / "run")
        config = tmp_path / "run" / "0-config.toml"
        assert old in config.read_bytes()
        config.write_bytes(config.read_bytes().replace(old, new))
        goldbench("refresh", "run")
        checked = goldbench("validate", "run")
        assert checked.returncode == 0, checked.stdout + checked.stderr
        assert all(
            len(str(row["text"])) <= 300 - 100 * (b"size" in old) for row in lines(tmp_path / "run/1-chunks.jsonl")
        )
        shutil.rmtree(tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_after_random_edits_of_the_example_the_queries_that_stand_are_kept(
    goldbench: Goldbench, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(EXAMPLE.rglob("*.md"))}
    write(tmp_path / "docs", texts)
    refreshed_three_times(goldbench, tmp_path, chance, 60, ("--queries", "60", *CHUNKS))


@pytest.mark.slow
def test_after_random_edits_of_a_long_book_the_queries_that_stand_are_kept(
    goldbench: Goldbench, tmp_path: Path, collections: Path
) -> None:
    text = (collections / "war_and_peace" / "2600-0.txt").read_text(encoding="utf-8").replace("\r\n", "\n")
    parts = text.split("CHAPTER ")
    write(tmp_path / "docs", {f"{n}.txt": "CHAPTER ".join(parts[n * 24 : n * 24 + 24]) for n in range(31)})
    refreshed_three_times(goldbench, tmp_path, random.Random(5), 100, ("--queries", "200"))


def refreshed_three_times(
    goldbench: Goldbench, place: Path, chance: random.Random, edits: int, options: tuple[str, ...]
) -> None:
    """Build, then edit and refresh three times; each time a second refresh changes nothing."""
    done = goldbench("build", "docs", "--out", "run0", "--generator", "simulated", *options)
    assert done.returncode == 0, done.stderr
    for turn in range(3):
        write(place / "docs", edited(read(place / "docs"), chance, edits))
        before, after = place / f"run{turn}", place / f"run{turn + 1}"
        shutil.copytree(before, after)
        shutil.copytree(before, place / "anew", dirs_exist_ok=True)
        damaged(place / "anew", "other version")
        done = goldbench("refresh", after.name)
        assert done.returncode == 0, done.stderr
        kept, retired = check_refreshed(before, after)
        assert kept > retired
        goldbench("refresh", "anew")
        assert artifacts(place / "anew") == artifacts(after)
        shutil.rmtree(place / "anew")
        checked = goldbench("validate", after.name)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        first = artifacts(after)
        assert goldbench("refresh", after.name).returncode == 0
        assert artifacts(after) == first
