"""Sets that are built: exact spans, recorded answers, kills, caps, edits, keys and connections."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import (
    Command,
    contents_of,
    json_lines,
    judge_of,
    kill_while_it_waits,
    qrels_of,
    write_sheets,
)
from tests.conftest import IMPORT_PATH, ROOT, SETTINGS
from tests.model_server.fixture import ServerHandle

RECORDED = Path(__file__).parent / "recorded"
"""Documents, the answers of the model server about them, and the set; WRITE_RECORDED=1 makes them again."""

KEY = "sk-CANARYcanary0123456789"


def copy_example(collections: Path, docs: Path) -> None:
    for name in ("legal", "support", "zh"):
        shutil.copytree(ROOT / "data" / "example" / "documents" / name, docs / name)


def copy_novel(collections: Path, docs: Path) -> None:
    docs.mkdir()
    (docs / "novel.txt").write_bytes((collections / "war_and_peace" / "2600-0.txt").read_bytes()[:200_000])


def copy_chinese(collections: Path, docs: Path) -> None:
    docs.mkdir()
    lines = (collections / "xquad_zh" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()[:60]
    (docs / "corpus.jsonl").write_text("\n".join(lines), encoding="utf-8")


@pytest.mark.parametrize("copy_corpus", [copy_example, copy_novel, copy_chinese])
def test_spans_are_exact(
    command: Command, tmp_path: Path, collections: Path, copy_corpus: Callable[[Path, Path], None]
) -> None:
    copy_corpus(collections, tmp_path / "docs")
    command("build", "docs", "--out", "set", "--generator", "simulated", "--queries", 20, "--chunk-size", 300)
    texts = {row["doc_id"]: row["text"] for row in json_lines(tmp_path / "set" / "0-documents.jsonl")}
    chunks = {row["chunk_id"]: row for row in json_lines(tmp_path / "set" / "1-chunks.jsonl")}
    relevant = qrels_of(tmp_path / "set")
    for chunk in chunks.values():
        span = chunk["span"]
        assert texts[span["doc_id"]][span["start"] : span["end"]] == chunk["text"]
    queries = json_lines(tmp_path / "set" / "3-queries.jsonl")
    assert len(queries) == 20
    for query in queries:
        source = chunks[query["chunk_id"]]["span"]
        assert relevant[query["query_id"], query["chunk_id"]] > 0
        assert query["evidence"]
        for quote in query["evidence"]:
            assert texts[quote["doc_id"]][quote["start"] : quote["end"]] == quote["quote"]
            assert source["doc_id"] == quote["doc_id"]
            assert source["start"] <= quote["start"] < quote["end"] <= source["end"]


def test_recorded_answers_give_the_same_set(command: Command, tmp_path: Path, model_server: ServerHandle) -> None:
    build = ("build", "docs", "--out", "set", "--queries", 6, "--model", "m", "--answers", "answers.sqlite")
    if os.environ.get("WRITE_RECORDED"):
        write_sheets(tmp_path / "docs", 8)
        command(*build, "--base-url", model_server.base_url)
        RECORDED.mkdir(exist_ok=True)
        shutil.copy(tmp_path / "answers.sqlite", RECORDED)
        for name, data in contents_of(tmp_path / "set").items():
            (RECORDED / name.replace("/", "-")).write_bytes(data)
        pytest.skip("written")
    write_sheets(tmp_path / "docs", 8)
    shutil.copy(RECORDED / "answers.sqlite", tmp_path)
    command(*build, "--base-url", "http://127.0.0.1:9/v1", "--replay")
    for name, data in contents_of(tmp_path / "set").items():
        assert data == (RECORDED / name.replace("/", "-")).read_bytes(), name
    assert model_server.stats()["requests"] == 0


def test_a_build_and_a_grading_that_are_killed_lose_nothing_and_pay_nothing_twice(
    command: Command, tmp_path: Path, model_server: ServerHandle, model: tuple[object, ...]
) -> None:
    write_sheets(tmp_path / "docs", 8)
    build = ("build", "docs", "--queries", 6, *model)
    grade = ("--depth", 2, "--canaries", 0, "--method", "written", "--force", *model)
    command(*build, "--out", "whole", "--answers", "whole.sqlite")
    judge = judge_of(tmp_path / "whole")
    model_server.script(judge=judge)
    command("grade", "whole", *grade, "--answers", "whole.sqlite")
    needed = model_server.stats()["answered"]
    model_server.reset()
    for answers in (2, 1):
        kill_while_it_waits(tmp_path, model_server, *build, "--out", "set", answers=answers)
        assert not (tmp_path / "set").exists()
    command(*build, "--out", "set")
    ungraded = contents_of(tmp_path / "set")
    for answers in (3, 1):
        kill_while_it_waits(tmp_path, model_server, "grade", "set", *grade, answers=answers, judge=judge)
        assert contents_of(tmp_path / "set") == ungraded
    command("grade", "set", *grade)
    assert contents_of(tmp_path / "set") == contents_of(tmp_path / "whole") != ungraded
    assert model_server.stats()["answered"] == needed
    assert model_server.stats()["paid_twice"] == 0


FAULTS: tuple[dict[str, Any], ...] = (
    {"when": {"every": 7}, "do": {"status": 429, "headers": {"retry-after-ms": "10"}}},
    {"when": {"every": 5}, "do": {"status": 500}},
    {"when": {"every": 4}, "do": {"connection": "refuse"}},
)


@pytest.mark.parametrize("cap", ["--max-requests", "--max-tokens", "--max-usd"])
def test_a_cap_holds_while_the_server_fails(
    goldbench: Command, tmp_path: Path, model_server: ServerHandle, cap: str
) -> None:
    write_sheets(tmp_path / "docs", 30)
    model_server.script(*FAULTS, latency_ms=10)
    most = {"--max-requests": 25, "--max-tokens": 30_000, "--max-usd": 0.1}[cap]
    (tmp_path / "goldbench.toml").write_text("[model]\nusd_per_million_input = 2\nusd_per_million_output = 10\n")
    server = ("--base-url", model_server.base_url, "--model", "m", "--concurrency", 8, "--config", "goldbench.toml")
    done = goldbench("build", "docs", "--out", "set", "--queries", 28, *server, cap, most)
    assert done.returncode == 3, done.stderr
    stats = model_server.stats()
    assert {"429", "500", "refuse"} <= set(stats["statuses"])
    spent = {
        "--max-requests": stats["requests"],
        "--max-tokens": stats["input_tokens"] + stats["output_tokens"],
        "--max-usd": (2 * stats["input_tokens"] + 10 * stats["output_tokens"]) / 1e6,
    }[cap]
    assert most / 3 < spent <= most
    assert 0 < len(json_lines(tmp_path / "set" / "3-queries.jsonl")) < 28


def test_28_of_30_queries_and_all_unaffected_grades_survive_an_edit(
    command: Command, tmp_path: Path, model_server: ServerHandle, model: tuple[object, ...]
) -> None:
    write_sheets(tmp_path / "docs", 32)
    command("build", "docs", "--out", "set", "--queries", 30, *model)
    model_server.script(judge=judge_of(tmp_path / "set"))
    command("grade", "set", "--depth", 2, "--canaries", 0, "--method", "written", "--force", *model)
    grades = qrels_of(tmp_path / "set")
    queries = {row["query_id"]: row for row in json_lines(tmp_path / "set" / "3-queries.jsonl")}
    passages = {row["chunk_id"]: row["text"] for row in json_lines(tmp_path / "set" / "1-chunks.jsonl")}
    changed = [queries[query_id] for query_id in sorted(queries)[:2]]
    for query in changed:
        (path,) = (path for path in (tmp_path / "docs").iterdir() if query["quote"] in path.read_text("utf-8"))
        path.write_text(path.read_text("utf-8").replace(query["quote"], "Nobody has to do anything here."), "utf-8")
    with (tmp_path / "docs" / "sheet-30.md").open("a", encoding="utf-8") as file:
        file.write("\nA sentence at the end.\n")
    model_server.reset()
    command("refresh", "set", *model)
    kept = {row["query_id"] for row in json_lines(tmp_path / "set" / "3-queries.jsonl")} & queries.keys()
    assert kept == queries.keys() - {query["query_id"] for query in changed}
    now = qrels_of(tmp_path / "set")
    texts = {row["chunk_id"]: row["text"] for row in json_lines(tmp_path / "set" / "1-chunks.jsonl")}
    by_text = {(query_id, texts[chunk_id]): grade for (query_id, chunk_id), grade in now.items()}
    unaffected = {
        (query_id, passages[chunk_id]): grade
        for (query_id, chunk_id), grade in grades.items()
        if query_id in kept and passages[chunk_id] in texts.values()
    }
    assert len(unaffected) > 28
    assert {pair: by_text.get(pair) for pair in unaffected} == unaffected
    assert model_server.stats()["answered"] <= 6


WATCH = """
import json, os, socket, sys

def watch(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        address = arguments[1][:2]
    elif event == "socket.getaddrinfo":
        address = arguments[:2]
    else:
        return
    with open(os.environ["CONNECTIONS"], "a") as file:
        print(json.dumps([part.decode() if isinstance(part, bytes) else str(part) for part in address]), file=file)

sys.addaudithook(watch)
"""


def test_no_key_is_in_any_output_and_no_connection_is_made_that_nobody_asked_for(
    tmp_path: Path, model_server: ServerHandle
) -> None:
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch" / "sitecustomize.py").write_text(WATCH)
    connections = tmp_path / "connections.jsonl"
    connections.touch()
    environment = {
        **{name: value for name, value in os.environ.items() if name not in SETTINGS},
        "PYTHONPATH": f"{tmp_path / 'watch'}{os.pathsep}{IMPORT_PATH}",
        "CONNECTIONS": str(connections),
        "OPENAI_API_KEY": KEY,
        "GOLDBENCH_DEBUG": "1",
    }

    def run(*arguments: object) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "goldbench", *map(str, arguments)],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        return done.stdout + done.stderr

    write_sheets(tmp_path / "docs", 8)
    printed = [
        run("build", "docs", "--out", "set", "--queries", 4, "--generator", "simulated"),
        run("retrieve", "set", "-o", "bm25.trec"),
        run("score", "set", "--run", "bm25=bm25.trec", "--html", "page.html"),
        run("card", "set"),
        run("grade", "set"),
        run("refresh", "set"),
    ]
    assert (tmp_path / "set" / "card.json").exists()
    assert (tmp_path / "page.html").exists()
    assert connections.read_text(encoding="utf-8") == ""

    error = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": KEY, "type": KEY}}
    echo = {"x-key": KEY, "www-authenticate": f'Bearer realm="{KEY}"'}
    skip = {"skip_reason": f"the key is {KEY}", "candidates": []}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": json.dumps(skip)}}
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    reply = {"model": KEY, "id": KEY, "system_fingerprint": KEY, "choices": [choice], "usage": usage}
    answers: list[dict[str, Any]] = [
        {"status": 500, "body": error, "headers": echo},
        {"status": 200, "body": f"<html>{KEY}</html>"},
        {"status": 200, "body": reply, "headers": echo},
        {"content": f"{KEY} {{not json"},
        {"status": 400, "body": f"cannot use {KEY}"},
        {"status": 401, "body": error, "headers": echo},
    ]
    redirect = {"status": 308, "headers": {"location": f"https://{KEY}.example/{KEY}"}}
    server = ("--base-url", model_server.base_url, "--model", "m", "--concurrency", 1, "-v")
    rules = [{"when": {"nth": [2 * number]}, "do": answer} for number, answer in enumerate(answers, 1)]
    model_server.script(*rules, api_key=KEY)
    printed += [run("build", "docs", "--out", "by-model", "--queries", 8, *server) for _ in range(3)]
    assert {"200", "500", "400", "401"} <= set(model_server.stats()["statuses"])
    model_server.script({"do": answers[-1]}, api_key=KEY)
    requests = model_server.stats()["requests"]
    printed.append(run("grade", "set", *server))
    assert model_server.stats()["requests"] > requests
    model_server.script({"do": redirect}, api_key=KEY)
    printed.append(run("build", "docs", "--out", "elsewhere", "--queries", 7, "--answers", "new.sqlite", *server))
    assert "308" in model_server.stats()["statuses"]
    addresses = [json.loads(line) for line in connections.read_text(encoding="utf-8").splitlines()]
    printed.append(run("doctor", "--try", *server[:4]))  # it looks for other servers on this machine
    assert {tuple(address) for address in addresses} == {("127.0.0.1", model_server.base_url.split(":")[2][:-3])}
    assert KEY.lower() not in "".join(printed).lower()
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
    assert not [request for request in model_server.requests() if KEY in json.dumps(request["body"])]
