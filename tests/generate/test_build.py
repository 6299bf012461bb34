"""The whole way, as a user runs it: a process, a folder of files, a gold set."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from goldbench.config import Config
from goldbench.formats.jsonl import RecordFile
from goldbench.generate.drawn_queries import DrawnQueries
from goldbench.generate.steps import assemble
from goldbench.goldset.dataset import GoldContents, read_dataset, write_gold
from goldbench.records.corpus import Chunk, Span
from goldbench.records.query import Query
from tests.conftest import IMPORT_PATH, Goldbench, posix
from tests.model_server.fixture import ServerHandle

PARAGRAPHS = {
    "pump": "The circulation pump of model {n} starts when the tank falls below {t} litres and stops two minutes after "
    "the float switch opens again. A worn impeller makes a rattling noise and should be changed together with its "
    "shaft seal, because the seal never survives the removal of the impeller. Engineers keep seal number {n}-{t}.",
    "filter": "Sand filters of series {n} are washed backwards every {t} hours so that fine clay cannot settle in the "
    "lower bed. If the pressure gauge shows more than the limit after washing, the upper layer of gravel has to be "
    "replaced and the wash repeated twice before the plant delivers drinking water to the village of station {n}.",
    "valve": "Motor valves in street {n} close slowly, over {t} seconds, since a sudden stop of the water column would "
    "burst older pipes of cast iron. During a power cut a spring closes them; the spring must be wound by hand, with "
    "the crank kept behind the door of cabinet {n}, as soon as the mains return and the lamp shows green again.",
}


def corpus(folder: Path, count: int = 12, first: int = 0) -> Path:
    for number in range(first, first + count):
        name, text = list(PARAGRAPHS.items())[number % 3]
        path = folder / f"part-{number % 4}" / f"{name}-{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        body = text.format(n=number, t=7 * number + 11)
        path.write_text(f"# {name.title()} {number}\n\n{body}\n", encoding="utf-8")
    return folder


def artifacts(folder: Path) -> dict[str, bytes]:
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("[!.]*") if path.is_file()}
    del files["manifest.json"]
    return files


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_build_without_key_or_network_gives_a_set_that_validates(goldbench: Goldbench, tmp_path: Path) -> None:
    corpus(tmp_path / "docs")
    done = goldbench("build", "docs", "--out", "run", "--queries", 8)
    assert done.returncode == 0, done.stderr
    assert "simulated" in done.stderr
    data = json.loads((tmp_path / "run" / "dataset.json").read_text(encoding="utf-8"))
    assert len(data["queries"]) == 8
    assert len(data["corpus"]) == 12
    assert data["metadata"]["evidence_level"] == "smoke"
    assert goldbench("validate", "run").returncode == 0


def test_the_same_documents_elsewhere_in_another_order_give_the_same_bytes(
    goldbench: Goldbench, tmp_path: Path
) -> None:
    corpus(tmp_path / "docs")
    shutil.copytree(tmp_path / "docs", tmp_path / "elsewhere" / "moved")
    for path in sorted((tmp_path / "elsewhere").rglob("*.md"), reverse=True):
        path.rename(path.with_suffix(".tmp"))
        path.with_suffix(".tmp").rename(path)
    assert goldbench("build", "docs", "--out", "one", "--queries", 8).returncode == 0
    assert goldbench("build", "elsewhere/moved", "--out", "two", "--queries", 8, PYTHONHASHSEED="7").returncode == 0
    assert artifacts(tmp_path / "one") == artifacts(tmp_path / "two")


def test_the_order_in_which_answers_arrive_changes_no_byte(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    corpus(tmp_path / "docs")
    for run, low in (("one", 0), ("two", 50)):
        model_server.script(latency_ms={"uniform": [low, 300]}, seed=low)
        url = ("--base-url", model_server.base_url, "--model", "m", "--answers", f"{run}.sqlite")
        done = goldbench("build", "docs", "--out", run, "--queries", 10, *url)
        assert done.returncode == 0, done.stderr
    assert artifacts(tmp_path / "one") == artifacts(tmp_path / "two")


def test_a_target_that_cannot_be_met_says_what_fell_to_which_rule(goldbench: Goldbench, tmp_path: Path) -> None:
    corpus(tmp_path / "docs")
    (tmp_path / "docs" / "stub.md").write_text("Only a stub.")
    done = goldbench("build", "docs", "--out", "run", "--queries", 40)
    assert done.returncode == 3
    assert "of 40 queries" in done.stderr
    assert "too-short 1" in done.stderr
    assert goldbench("validate", "run").returncode == 0


def test_documents_without_an_eligible_chunk_are_told_as_such(goldbench_inside: Goldbench, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "short.txt").write_text("Too short a text.", encoding="utf-8")
    done = goldbench_inside("build", "docs", "--out", "run", "--generator", "simulated")
    assert done.returncode == 3
    assert "0 queries: no chunk is eligible. " in done.stdout + done.stderr
    assert "Next:" not in done.stdout


def test_a_target_above_what_the_documents_give_is_met_by_more_of_them(
    goldbench_inside: Goldbench, tmp_path: Path
) -> None:
    corpus(tmp_path / "docs", 3)
    model = ("--model", "m", "--base-url", "http://127.0.0.1:9", "--generator", "simulated")
    done = goldbench_inside("build", "docs", "--out", "run", "--queries", 10, *model)
    assert done.returncode == 3
    assert "3 of 10 queries: every eligible chunk was drawn. Add documents, or ask for " in done.stdout + done.stderr
    assert "model m not asked for them" in done.stderr


def test_one_bad_file_is_skipped_and_named_and_strict_makes_it_fatal(goldbench: Goldbench, tmp_path: Path) -> None:
    corpus(tmp_path / "docs")
    (tmp_path / "docs" / "broken.pdf").write_bytes(b"%PDF-1.7 nothing more")
    done = goldbench("build", "docs", "--out", "run", "--queries", 8)
    assert done.returncode == 3
    assert (done.stdout + done.stderr).count("broken.pdf") == 1
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert [failure["stage"] for failure in manifest["failures"]] == ["load"]
    strict = goldbench("build", "docs", "--out", "strict", "--queries", 8, "--strict")
    assert strict.returncode == 2
    assert not (tmp_path / "strict").exists()


def test_bad_usage_is_one_line_and_leaves_nothing(goldbench_inside: Goldbench, tmp_path: Path) -> None:
    corpus(tmp_path / "docs", 3)
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.toml").write_text("[chunk]\nsise = 1\n[generate]\nqueriez = 2\n")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("precious")
    cases: list[tuple[tuple[object, ...], set[int], str]] = [
        (("build", "nowhere", "--out", "run"), {2}, "nowhere"),
        (("build", "empty", "--out", "run"), {2}, "empty"),
        (("build", "docs", "--out", "run", "--chunk-size", 100, "--chunk-overlap", 100), {2}, "overlap"),
        (("build", "docs", "--out", "run", "--chunk-size", 0), {2}, "--chunk-size"),
        (("build", "docs", "--out", "run", "--queries", 0), {2}, "queries"),
        (("build", "docs", "--out", "run", "--per-chunk", 9), {2}, "--per-chunk"),
        (("build", "docs", "--out", "run", "--config", "bad.toml"), {2}, "queriez"),
        (("build", "docs", "--out", "run", "--config", "nowhere.toml"), {2}, "file not found"),
        (("build", "docs", "--out", "run", "--generator", "magic"), {2}, "generator"),
        (("build", "docs", "--out", "run", "--language", "klingon"), {2}, "language"),
        (("build", "docs", "--out", "thesis"), {2}, "thesis"),
        (("build", "docs", "--out", "thesis/chapter.tex"), {2}, "chapter.tex"),
        (("build", "docs"), {2}, "--out"),
        (("validate", "nowhere"), {2}, "nowhere"),
        (("chunk", "nowhere"), {2}, "nowhere"),
        (("build", "docs", "--out", "run", "--generator", "model"), {2}, "model"),
    ]
    for arguments, codes, says in cases:
        done = goldbench_inside(*arguments)
        assert done.returncode in codes, (arguments, done.stderr)
        told = [line for line in done.stderr.splitlines() if not line.startswith(("skipped", "Queries are"))]
        assert len(told) == 1, (arguments, done.stderr)
        assert says in done.stderr, (arguments, done.stderr)
        assert not (tmp_path / "run").exists(), arguments
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["chapter.tex"]


def test_a_folder_with_another_run_is_refused_unless_told_to_replace_it(goldbench: Goldbench, tmp_path: Path) -> None:
    corpus(tmp_path / "docs")
    assert goldbench("build", "docs", "--out", "run", "--queries", 5).returncode == 0
    before = artifacts(tmp_path / "run")
    refused = goldbench("build", "docs", "--out", "run", "--queries", 6)
    assert refused.returncode == 2
    assert "other settings" in refused.stderr
    corpus(tmp_path / "other", 9, first=100)
    assert "other documents" in goldbench("build", "other", "--out", "run", "--queries", 5).stderr
    assert artifacts(tmp_path / "run") == before
    assert goldbench("retrieve", "run", "-o", "run/runs/mine.trec.gz").returncode == 0
    assert goldbench("bench", "run", "--system", "bm25").returncode == 0
    state = json.loads((tmp_path / "run" / "manifest.json").read_text(encoding="utf-8"))["content_sha256"][:12]
    for queries, left in ((5, ["bench", "runs"]), (6, [f"bench-{state}", f"runs-{state}"])):
        done = goldbench("build", "docs", "--out", "run", "--queries", queries, "--replace")
        assert done.returncode == 0, done.stderr
        folders = {path.name for path in (tmp_path / "run").iterdir() if path.is_dir()}
        assert sorted(folders - {"beir", "trec"}) == left, "results on other queries are no results on these"
    assert (tmp_path / "run" / f"runs-{state}" / "mine.trec.gz").read_bytes().startswith(b"\x1f\x8b")
    assert goldbench("validate", "run").returncode == 0


@pytest.mark.slow
def test_a_run_inside_the_documents_folder_is_not_read_as_documents(goldbench: Goldbench, tmp_path: Path) -> None:
    corpus(tmp_path / "docs")
    first = goldbench("build", "docs", "--out", "docs/gold", "--queries", 5)
    assert first.returncode == 0, first.stderr
    before = artifacts(tmp_path / "docs" / "gold")
    again = goldbench("build", "docs", "--out", "docs/gold", "--queries", 5)
    assert again.returncode == 0, again.stderr
    assert "1 goldbench run" in again.stderr
    assert artifacts(tmp_path / "docs" / "gold") == before
    itself = goldbench("build", "docs/gold", "--out", "other")
    assert (itself.returncode, itself.stdout) == (2, "")
    assert (
        itself.stderr
        == "goldbench: docs/gold: is the folder of a goldbench run; give the documents it was built from\n"
    )


def test_validate_sees_every_kind_of_damage(goldbench_inside: Goldbench, tmp_path: Path) -> None:
    corpus(tmp_path / "docs")
    assert goldbench_inside("build", "docs", "--out", "run", "--queries", 5).returncode == 0
    for name in ("dataset.json", "1-chunks.jsonl", "0-documents.jsonl", "beir/qrels/test.tsv", "trec/qrels.txt"):
        path = tmp_path / "run" / name
        whole = path.read_bytes()
        for damage in (whole[: len(whole) // 2], whole.replace(b"pump", b"pimp", 1)):
            path.write_bytes(damage)
            done = goldbench_inside("validate", "run") if damage != whole else None
            assert done is None or done.returncode in {1, 2}, (name, done.stdout)  # 2: a file cannot be read at all
            assert done is None or "Traceback" not in done.stderr
        path.write_bytes(whole)
    assert goldbench_inside("validate", "run").returncode == 0


@posix
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    corpus(tmp_path / "docs", 40)
    command = f"ulimit -f 8; exec '{sys.executable}' -m goldbench build docs --out run --queries 5"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env={"PYTHONPATH": IMPORT_PATH, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "is larger than a file may be here (ulimit -f" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_reviewed_set_that_is_built_again_keeps_what_people_decided(
    goldbench_inside: Goldbench, tmp_path: Path
) -> None:
    corpus(tmp_path / "docs")
    assert goldbench_inside("build", "docs", "--out", "run", "--queries", 5).returncode == 0
    judged = json.loads((tmp_path / "run" / "dataset.json").read_text(encoding="utf-8"))["relevant_docs"]
    rows = [f"{query_id},{chunk_ids[0]},anna,3" for query_id, chunk_ids in judged.items()]
    (tmp_path / "people.csv").write_text("query_id,chunk_id,annotator,grade\n" + "\n".join(rows) + "\n")
    assert goldbench_inside("review", "import", "run", "people.csv", "--format", "csv").returncode == 0
    done = goldbench_inside("review", "apply", "run")
    assert done.returncode == 0, done.stderr
    before = artifacts(tmp_path / "run")
    again = goldbench_inside("build", "docs", "--out", "run", "--queries", 5)
    assert again.returncode == 0, again.stderr
    assert artifacts(tmp_path / "run") == before
    ledger = (tmp_path / "run" / "review.sqlite").rename(tmp_path / "elsewhere.sqlite")
    again = goldbench_inside("build", "docs", "--out", "run", "--queries", 5)
    assert again.returncode == 2
    assert "holds what people decided in a review, and their ledger is not in the folder" in again.stderr
    assert "--ledger" in again.stderr
    again = goldbench_inside("build", "docs", "--out", "run", "--queries", 5, "--ledger", tmp_path / "elsewhere.sqlite")
    assert again.returncode == 0, again.stderr
    ledger.rename(tmp_path / "run" / "review.sqlite")
    assert artifacts(tmp_path / "run") == before
    assert goldbench_inside("build", "docs", "--out", "run", "--queries", 5, "--replace", "--yes").returncode == 0
    assert not list((tmp_path / "run").glob("unreviewed/*"))
    assert goldbench_inside("review", "apply", "run").returncode == 0
    assert artifacts(tmp_path / "run") == before


def test_chunk_prints_chunks_and_nothing_else(goldbench: Goldbench, tmp_path: Path) -> None:
    corpus(tmp_path / "docs", 3)
    done = goldbench("chunk", "docs")
    assert done.returncode == 0
    assert [json.loads(line)["chunk_id"] for line in done.stdout.splitlines()]
    assert goldbench("chunk", "docs", "--out", "chunks.jsonl").returncode == 0
    assert (tmp_path / "chunks.jsonl").read_text(encoding="utf-8") == done.stdout
    assert "left out" not in done.stderr
    (tmp_path / "docs" / "page.html").write_text("<p>The pu\u200bmp starts by itself.</p>", encoding="utf-8")
    assert "left out 1 control or hidden character\n" in goldbench("chunk", "docs").stderr


def test_doctor_says_what_is_configured_and_what_can_be_reached(
    goldbench_inside: Goldbench, model_server: ServerHandle
) -> None:
    model_server.script(models=["small", "large"])
    plain = goldbench_inside("doctor")
    assert plain.returncode == 0
    assert "no model (simulated" in plain.stdout
    good = goldbench_inside(
        "doctor", "--base-url", model_server.base_url, "--model", "small", OPENAI_API_KEY="sk-canary"
    )
    assert good.returncode == 0
    assert "small" in good.stdout
    assert "canary" not in good.stdout + good.stderr
    wrong = goldbench_inside("doctor", "--base-url", model_server.base_url, "--model", "huge")
    assert wrong.returncode == 1
    assert "does not offer huge" in wrong.stdout
    gone = goldbench_inside("doctor", "--base-url", "http://127.0.0.1:9/v1", "--model", "small")
    assert gone.returncode == 1


def test_a_server_that_offers_one_model_needs_no_name(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    corpus(tmp_path / "docs")
    model_server.script(models=["only"])
    done = goldbench("build", "docs", "--out", "run", "--queries", 4, "--base-url", model_server.base_url)
    assert done.returncode == 0, done.stderr
    assert "written by only" in done.stderr
    model_server.script(models=["one", "two"])
    refused = goldbench("build", "docs", "--out", "two", "--queries", 4, "--base-url", model_server.base_url)
    assert refused.returncode == 2
    assert "one, two" in refused.stderr


def test_a_passage_with_the_same_answer_is_labelled_and_marked(tmp_path: Path) -> None:
    texts = (
        "Harvard Stadium is located in Allston. It is old.",
        "The old Harvard Stadium, located in Allston, is big.",
    )
    chunks = RecordFile.write(
        tmp_path / "chunks.jsonl",
        Chunk,
        [Chunk(chunk_id=f"c{n}", span=Span(doc_id=f"d{n}", start=0, end=len(t)), text=t) for n, t in enumerate(texts)],
    )
    asked = "Where is Harvard Stadium located?"
    query = Query(query_id="q", text=asked, answer="Allston", chunk_id="c0", generator="m", language="en")
    written: list[GoldContents] = []
    run: Any = SimpleNamespace(
        renewal=None,
        earlier=None,
        drawn=DrawnQueries(queries=[query], positions=[(0,)]),
        chunks=chunks,
        selection=SimpleNamespace(cluster_of=lambda position: (position,)),
        config=Config(),
        generator=SimpleNamespace(name="m", evidence_level="model", model="m", caveat=None, notice=None),
        draft=SimpleNamespace(write_gold=written.append),
        selected=lambda: None,
    )
    asyncio.run(assemble(run))
    write_gold(tmp_path, written[0])
    gold = read_dataset(tmp_path / "dataset.json")
    assert gold.derived == {"q": ["c1"]}
    assert gold.relevance_scores == {"q": {"c0": 3, "c1": 2}}
    assert "members" not in gold.metadata
