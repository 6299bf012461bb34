"""``goldbench merge``: what was split comes back, conflicts are named, and nothing is averaged."""

from __future__ import annotations

import functools
import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from goldbench.pipeline.goldset.integrity import validate
from goldbench.pipeline.goldset.merged_folder import merge_sets
from goldbench.pipeline.goldset.union import Side, unite
from tests import forked_commands
from tests.conftest import ROOT, Goldbench, posix
from tests.goldset.test_difference import write_beir
from tests.goldset.test_division import content
from tests.grade.graded_sets import write_set
from tests.killed_commands import Nursery, moments
from tests.model_server.fixture import ServerHandle
from tests.report.hostile import SCRIPT

EXAMPLE = ROOT / "data" / "example" / "documents" / "manual"
Row = tuple[str, str, int]


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("merge") / "run"
    forked_commands.run("build", EXAMPLE, "--out", folder, "--queries", 20)
    return folder


def gold(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
    return loaded


MakeSet = Callable[[str, dict[str, str], dict[str, str], list[Row]], Path]


@pytest.fixture
def made(goldbench: Goldbench, tmp_path: Path) -> MakeSet:
    def make(name: str, corpus: dict[str, str], queries: dict[str, str], qrels: list[Row]) -> Path:
        write_beir(tmp_path / f"{name}-beir", corpus, queries, qrels)
        done = goldbench("import", "beir", f"{name}-beir", "--out", name)
        assert done.returncode == 0, done.stderr
        return tmp_path / name

    return make


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("by", ["query", "source"])
def test_what_was_split_comes_back(goldbench: Goldbench, built: Path, tmp_path: Path, seed: int, by: str) -> None:
    done = goldbench("split", built, "--shares", "a=0.4,b=0.6", "--by", by, "--seed", seed, "--out", "parts")
    assert done.returncode in {0, 3}, done.stderr
    merged = goldbench("merge", "parts/b", "parts/a", "--out", "back")
    assert merged.returncode == 0, merged.stderr
    was, now = gold(built), gold(tmp_path / "back")
    for member in ("queries", "corpus", "relevant_docs", "relevance_scores"):
        assert was[member] == now[member]
    assert {name for name in was if was[name]} == {name for name in now if now[name]}
    assert validate(tmp_path / "back").problems == ()
    same = goldbench("diff", built, "back", "--exit-code")
    assert same.returncode == 0, same.stdout
    assert goldbench("merge", built, built, "--out", "itself").returncode == 0
    assert gold(tmp_path / "itself")["relevance_scores"] == was["relevance_scores"]


def test_a_graded_set_is_divided_and_comes_back_with_its_judgments(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    known = write_set(tmp_path / "set", subjects=4)
    model_server.script(judge={"truth": known.truth})
    model = ("--base-url", model_server.base_url, "--model", "m")
    graded = goldbench("grade", "set", *model)
    assert graded.returncode == 0, graded.stderr
    assert goldbench("split", "set", "--shares", "a=0.5,b=0.5", "--out", "parts").returncode == 0
    merged = goldbench("merge", "parts/a", "parts/b", "--out", "back")
    assert merged.returncode == 0, merged.stderr
    for name in ("4-pool.jsonl", "4-judgments.jsonl", "4-source-checks.jsonl"):
        parts = [(tmp_path / "parts" / one / name).read_text(encoding="utf-8").splitlines() for one in "ab"]
        assert all(parts)
        was, now = ((tmp_path / one / name).read_text(encoding="utf-8").splitlines() for one in ("set", "back"))
        assert sorted(was) == sorted(now) == sorted(parts[0] + parts[1])
    assert gold(tmp_path / "set")["relevance_scores"] == gold(tmp_path / "back")["relevance_scores"]
    for place in ("parts/a", "parts/b", "back"):
        assert validate(tmp_path / place).problems == ()
    again = goldbench("grade", "parts/a", *model, "--dry-run")
    assert again.returncode == 0, again.stderr


def test_the_same_texts_are_taken_once_whatever_their_ids(goldbench: Goldbench, made: MakeSet, tmp_path: Path) -> None:
    made("a", {"c1": "Pumps move water.", "c2": "Valves close."}, {"q1": "What moves?"}, [("q1", "c1", 3)])
    made(
        "b",
        {"x7": "Pumps move water.", "x8": "Lamps shine."},
        {"z": "What moves?", "q9": "What shines?"},
        [("z", "x7", 3), ("z", "x8", 1), ("q9", "x8", 3), ("q9", "x7", 0)],
    )
    done = goldbench("merge", "a", "b", "--out", "c")
    assert done.returncode == 0, done.stderr
    found = gold(tmp_path / "c")
    assert found["corpus"] == {"c1": "Pumps move water.", "c2": "Valves close.", "x8": "Lamps shine."}
    assert found["queries"] == {"q1": "What moves?", "q9": "What shines?"}
    assert found["relevance_scores"] == {"q1": {"c1": 3, "x8": 1}, "q9": {"c1": 0, "x8": 3}}
    assert validate(tmp_path / "c").problems == ()


def test_conflicts_are_named_and_only_a_preference_settles_them(
    goldbench: Goldbench, made: MakeSet, tmp_path: Path
) -> None:
    corpus = {"c1": "Pumps move water.", "c2": "Valves close."}
    made("a", corpus, {"q1": "What moves?", "q2": f"What closes? {SCRIPT}"}, [("q1", "c1", 3), ("q2", "c2", 3)])
    changed = {"c1": "Pumps move water.", "c2": "Valves open."}
    made(
        "b",
        changed,
        {"q1": "What moves?", "q2": "What opens?", "q3": "Which valves?"},
        [("q1", "c1", 2), ("q2", "c2", 3), ("q3", "c2", 2)],
    )
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    refused = goldbench("merge", "a", "b", "--out", "c")
    assert refused.returncode == 1
    assert "3 conflicts; nothing was written; give --prefer first or --prefer second" in refused.stderr
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    listed = json.loads(goldbench("merge", "a", "b", "--out", "c", "--json").stdout)
    assert listed["written"] is False
    assert [one["kind"] for one in listed["conflicts"]] == ["document", "wording", "grade"]
    assert listed["conflicts"][2] == {
        "kind": "grade", "a": ["q1", "c1"], "b": ["q1", "c1"], "a_says": "3", "b_says": "2",
    }  # fmt: skip
    for prefer, grade, text, wording in (
        ("first", 3, "Valves close.", f"What closes? {SCRIPT}"),
        ("second", 2, "Valves open.", "What opens?"),
    ):
        done = goldbench("merge", "a", "b", "--out", f"c-{prefer}", "--prefer", prefer)
        assert done.returncode == 0, done.stderr
        found = gold(tmp_path / f"c-{prefer}")
        assert "conflict, grade: q1 | c1 | A: 3 | B: 2" in done.stderr
        assert "left out: the preferred set words them differently." in done.stderr
        assert found["relevance_scores"]["q1"] == {"c1": grade}
        assert found["corpus"]["c2"] == text
        assert found["queries"]["q2"] == wording
        assert found["metadata"]["merge"]["prefer"] == prefer
        assert found["metadata"]["merge"]["conflicts"] == {"document": 1, "grade": 1, "wording": 1}
        assert validate(tmp_path / f"c-{prefer}").problems == ()
    kept, lost = gold(tmp_path / "c-second"), gold(tmp_path / "c-first")
    assert "q3" in kept["queries"]
    assert "q3" not in lost["queries"], "its only passage is another text now"
    report = json.loads((tmp_path / "c-first" / "manifest.json").read_text())["stages"][-1]
    assert report["rules"] == {"passage-lost": 1, "same-query": 1, "wording": 1}


def change(folder: Path, name: str, change: Callable[[list[dict[str, Any]]], object]) -> None:
    path = folder / name
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    change(rows)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _append(rows: list[dict[str, Any]], row: dict[str, Any]) -> None:
    rows.append(row)


def test_special_queries_come_back_with_what_they_refer_to(goldbench: Goldbench, built: Path, tmp_path: Path) -> None:
    special = tmp_path / "special"
    shutil.copytree(built, special)
    data = gold(special)
    ids = list(data["queries"])

    def make_special(rows: list[dict[str, Any]]) -> None:
        rows[1] |= {"original": ids[0], "noise": "typing"}
        rows[3] |= {"history": [{"question": rows[2]["text"], "answer": "Yes."}], "standalone": "A turn of its own?"}
        rows[5] |= {"needs": [rows[5]["chunk_id"], rows[4]["chunk_id"]], "answer": "Both."}
        data["relevance_scores"][ids[5]][rows[4]["chunk_id"]] = 3
        data["relevant_docs"][ids[5]] = sorted(data["relevance_scores"][ids[5]])

    change(special, "3-queries.jsonl", make_special)
    source = json.loads((special / "3-queries.jsonl").read_text(encoding="utf-8").splitlines()[7])["chunk_id"]
    lost = {"query_id": "u1", "chunk_id": source, "text": "Who painted it?", "generator": "made"}
    change(special, "3-unanswerable.jsonl", lambda rows: rows.append(lost))
    data["metadata"]["selection"] = {"systems": ["bm25"], "set_aside": 2, "notice": "Selected by rank."}
    (special / "dataset.json").write_text(json.dumps(data), encoding="utf-8")
    (special / "trec" / "qrels.txt").unlink()
    goldbench("split", special, "--shares", "a=0.5,b=0.5", "--out", "parts")
    merged = goldbench("merge", "parts/b", "parts/a", "--out", "back")
    assert merged.returncode == 0, merged.stderr
    back = gold(tmp_path / "back")
    assert back["needs"].keys() == {ids[5]}
    assert back["originals"] == {ids[1]: ids[0]}
    assert back["history"] == {ids[3]: [{"question": data["queries"][ids[2]], "answer": "Yes."}]}
    assert back["standalone"] == {ids[3]: "A turn of its own?"}
    assert back["unanswerable"] == {"u1": "Who painted it?"}
    assert back["answers"][ids[5]]["text"] == "Both."
    assert back["metadata"]["selection"]["notice"] == "Selected by rank."
    assert back["relevance_scores"] == data["relevance_scores"]
    assert validate(tmp_path / "back").problems == ()
    same = goldbench("diff", special, "back", "--exit-code")
    assert same.returncode == 0, same.stdout


def test_answers_and_held_out_words_that_contradict_each_other_are_conflicts(
    goldbench: Goldbench, built: Path, tmp_path: Path
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for place in (one, other):
        shutil.copytree(built, place)

    def answer(text: str) -> Callable[[list[dict[str, Any]]], None]:
        return lambda rows: rows[0].update(answer=text)

    change(one, "3-queries.jsonl", answer("Two."))
    change(other, "3-queries.jsonl", answer("Three."))
    listed = json.loads(goldbench("merge", one, other, "--out", "c", "--json").stdout)["conflicts"]
    assert [(found["kind"], found["a_says"], found["b_says"]) for found in listed] == [("answer", "Two.", "Three.")]
    assert goldbench("merge", one, other, "--out", "c", "--prefer", "second").returncode == 0
    assert next(iter(gold(tmp_path / "c")["answers"].values()))["text"] == "Three."

    def hold_out(rows: list[dict[str, Any]]) -> None:
        held = next(row for row in rows if row["evidence"] and not row.get("masked"))
        rows.append({**held, "query_id": "new", "text": "Another wording of its own?", "masked": held["evidence"]})

    shutil.copytree(built, tmp_path / "third")
    change(tmp_path / "third", "3-queries.jsonl", hold_out)
    data, last = gold(tmp_path / "third"), json.loads(
        (tmp_path / "third" / "3-queries.jsonl").read_text(encoding="utf-8").splitlines()[-1]
    )  # fmt: skip
    data["queries"]["new"] = last["text"]
    data["relevant_docs"]["new"], data["relevance_scores"]["new"] = [last["chunk_id"]], {last["chunk_id"]: 3}
    (tmp_path / "third" / "dataset.json").write_text(json.dumps(data), encoding="utf-8")
    refused = goldbench("merge", built, "third", "--out", "d")
    assert refused.returncode == 1
    assert "conflict, held-out: " in refused.stderr


def test_documents_cut_in_two_ways_are_refused(goldbench: Goldbench, built: Path, tmp_path: Path) -> None:
    goldbench("rechunk", built, "--chunk-size", 400, "--out", "small")
    done = goldbench("merge", built, "small", "--out", "c")
    assert done.returncode == 2
    assert "rechunk one of the sets first" in done.stderr
    assert not (tmp_path / "c").exists()


def test_ledgers_stay_and_are_named_and_a_folder_is_never_written_over(
    goldbench: Goldbench, made: MakeSet, tmp_path: Path
) -> None:
    made("a", {"c1": "Pumps move water."}, {"q1": "What moves?"}, [("q1", "c1", 3)])
    made("b", {"c2": "Lamps shine."}, {"q2": "What shines?"}, [("q2", "c2", 3)])
    for name in "ab":
        (tmp_path / name / "review.sqlite").write_bytes(name.encode())
    done = goldbench("merge", "a", "b", "--out", "c")
    assert done.stderr.count("Not copied: ") == 2
    assert [(tmp_path / name / "review.sqlite").read_bytes() for name in "ab"] == [b"a", b"b"]
    assert not (tmp_path / "c" / "review.sqlite").exists()
    again = goldbench("merge", "a", "b", "--out", "c")
    assert again.returncode == 2
    assert "c: exists already; give another --out, or remove it first" in again.stderr
    assert goldbench("merge", "a", "a-beir", "--out", "d").returncode == 2


def test_a_label_that_somebody_read_stands_over_one_that_nobody_read(
    goldbench: Goldbench, made: MakeSet, tmp_path: Path
) -> None:
    corpus = {"c1": "Pumps move water.", "c2": "Water is moved by pumps."}
    one = made("a", corpus, {"q1": "What moves?"}, [("q1", "c1", 3), ("q1", "c2", 2)])
    data = gold(one)
    (one / "dataset.json").write_text(json.dumps({**data, "derived": {"q1": ["c2"]}}), encoding="utf-8")
    made("b", corpus, {"q1": "What moves?"}, [("q1", "c1", 3), ("q1", "c2", 0)])
    for first, second in (("a", "b"), ("b", "a")):
        done = goldbench("merge", first, second, "--out", f"{first}{second}")
        assert done.returncode == 0, done.stderr
        found = gold(tmp_path / f"{first}{second}")
        assert found["relevance_scores"]["q1"] == {"c1": 3, "c2": 0}
        assert not found.get("derived")


@posix
@pytest.mark.slow
@pytest.mark.timeout(580)
def test_killed_at_thirty_moments_the_merged_set_is_whole_or_missing(
    goldbench: Goldbench, built: Path, tmp_path: Path
) -> None:
    parts, work = tmp_path / "parts", tmp_path / "work"
    out, command = work / "merged", ("merge", parts / "a", parts / "b", "--out", work / "merged")
    assert goldbench("split", built, "--shares", "a=0.5,b=0.5", "--out", parts).returncode in {0, 3}
    before, seen = content(parts), set()
    with Nursery(tmp_path / "nursery", tmp_path, work) as nursery:
        count = nursery.count(*command)
        whole = content(out)
        for moment in moments(count):
            shutil.rmtree(work)
            assert nursery.run(*command, operation=moment).code == -signal.SIGKILL
            seen.add(out.exists())
            if out.exists():
                assert content(out) == whole
                shutil.rmtree(out)
            assert nursery.run(*command).code == 0
            assert content(out) == whole
            assert {path.name for path in work.iterdir()} == {"merged", ".merged.lock"}, (
                "something was left beside the set"
            )
    assert content(parts) == before
    assert False in seen


def test_of_a_query_with_an_answer_in_one_set_only_nothing_is_kept_of_the_other_side(
    goldbench: Goldbench, made: MakeSet, tmp_path: Path
) -> None:
    corpus = {"c1": "Pumps move water.", "c2": "Lamps shine."}
    made("a", corpus, {"q1": "What moves?"}, [("q1", "c1", 3)])
    made("b", corpus, {"q9": "Who painted it?", "q1": "What moves?"}, [("q9", "c1", 3), ("q1", "c1", 3)])
    without = {"query_id": "u1", "chunk_id": "c1", "text": "Who painted it?", "generator": "made"}
    change(tmp_path / "a", "3-unanswerable.jsonl", lambda rows: rows.append(without))
    sides = Side.read(tmp_path / "a"), Side.read(tmp_path / "b")
    found = unite(*sides)
    assert [one.kind for one in found.conflicts] == ["answerable"]
    assert found.ids.queries == {"q1": "q1"}
    assert found.left_out == {"q9": "answerable"}


def test_queries_without_an_answer_that_join_more_documents_are_counted(
    goldbench: Goldbench, made: MakeSet, tmp_path: Path
) -> None:
    corpus = {"c1": "Pumps move water.", "c2": "Lamps shine."}
    made("large", corpus, {"q1": "What moves?"}, [("q1", "c1", 3)])
    made("small", {"c1": corpus["c1"]}, {"q1": "What moves?"}, [("q1", "c1", 3)])
    for name in ("large", "small"):
        row = {"query_id": name, "chunk_id": "c1", "text": f"Who painted the {name} one?", "generator": "made"}
        change(tmp_path / name, "3-unanswerable.jsonl", functools.partial(_append, row=row))
    for first, second in (("large", "small"), ("small", "large")):
        found = merge_sets(tmp_path / first, tmp_path / second, tmp_path / f"{first}-first")
        assert found.untested == 1, "only the small set lacks a document"
    assert merge_sets(tmp_path / "large", tmp_path / "large", tmp_path / "twice").untested == 0
