"""What the acceptance tests share: documents, the command, a browser. Nothing here imports goldbench."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import IMPORT_PATH, SETTINGS
from tests.model_server.fixture import ServerHandle

THINGS = ("pump", "valve", "filter", "boiler", "sensor", "cable", "ladder", "hatch", "crane", "engine", "rudder")
SITES = ("harbour", "cellar", "tower", "bridge", "quarry", "tunnel", "depot", "mill", "dock", "station", "farm")
ACTS = ("inspected", "greased", "painted", "replaced", "emptied", "labelled", "tightened", "cleaned", "measured")

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def write_sheets(folder: Path, count: int) -> Path:
    """Write documents of one passage each, no two alike."""
    draw = random.Random(5)
    folder.mkdir(parents=True)
    for number in range(count):
        sentences = [
            f"The {draw.choice(THINGS)} near the {draw.choice(SITES)} of sector {number} must be {draw.choice(ACTS)} "
            f"after {weeks} weeks."
            for weeks in range(3, 9)
        ]
        text = f"# Sheet {number}\n\n{' '.join(sentences)}\n"
        (folder / f"sheet-{number:02}.md").write_text(text, encoding="utf-8")
    return folder


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def qrels_of(folder: Path) -> dict[tuple[str, str], int]:
    """Return the grades of a set by query and passage, from its TREC file."""
    rows = [line.split() for line in (folder / "trec" / "qrels.txt").read_text(encoding="utf-8").splitlines()]
    return {(query, passage): int(grade) for query, _, passage, grade in rows}


def judge_of(folder: Path) -> dict[str, Any]:
    """Return settings of a judge that finds each query's answer in its source, and 2 of 10 other passages relevant."""
    chunks = json_lines(folder / "1-chunks.jsonl")
    texts = {row["chunk_id"]: f"{row['title']}\n\n{row['text']}" for row in chunks}  # judged below its title
    queries = json_lines(folder / "3-queries.jsonl")
    return {"truth": {query["text"]: {texts[query["chunk_id"]]: 3} for query in queries}, "up": 0.2}


def contents_of(folder: Path) -> dict[str, bytes]:
    """Return the files of a set that other tools read."""
    names = ("dataset.json", "trec/qrels.txt", "trec/topics.tsv", "beir/corpus.jsonl", "beir/queries.jsonl")
    return {name: (folder / name).read_bytes() for name in names}


@pytest.fixture
def command(goldbench: Command) -> Command:
    """Run a command that must succeed, in the test's folder."""

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        done = goldbench(*arguments, **environment)
        assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture
def model(model_server: ServerHandle) -> tuple[object, ...]:
    """The options that name the model server; one call at a time, so that the test knows what is in flight."""
    return ("--base-url", model_server.base_url, "--model", "m", "--concurrency", 1)


def start_command(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    """Start a command as a new process, with one stream for what it prints."""
    environment = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    return subprocess.Popen(
        [sys.executable, "-m", "goldbench", *map(str, arguments)],
        cwd=folder,
        env={**environment, "PYTHONPATH": IMPORT_PATH, "COLUMNS": "300"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate(timeout=60)


def kill_while_it_waits(
    folder: Path, server: ServerHandle, *arguments: object, answers: int, judge: object = None
) -> None:
    """Kill a command while it waits for an answer, after it got so many."""
    before = server.stats()
    server.script({"when": {"from": answers + 1}, "do": {"hang": True}}, judge=judge)
    process = start_command(folder, *arguments)
    while server.stats()["requests"] <= before["requests"] + answers:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    kill(process)
    assert server.stats()["answered"] == before["answered"] + answers
    server.script(judge=judge)


class ReviewPage:
    """The page of ``goldbench review`` before one person, who uses keys alone."""

    def __init__(self, page: Any, process: subprocess.Popen[str]) -> None:
        self.page = page
        self.process = process
        self.urls: list[str] = []
        self.responses: list[Any] = []
        page.on("request", lambda request: self.urls.append(request.url))
        page.on("response", lambda response: self.responses.append(response))  # noqa: PLW0108  not a built-in
        assert self.process.stdout is not None
        links = (re.search(r"http://\S+token=\S+", line) for line in self.process.stdout)
        page.goto(next(link[0] for link in links if link))
        self.wait_for_passage("")

    @property
    def passage(self) -> str:
        """The sheet whose passage is shown, or nothing."""
        match = re.search(r"of sector (\d+) must be", str(self.page.inner_text("body")))
        return match[1] if match else ""

    def bodies(self) -> str:
        """Return the data that the server has sent so far."""
        return "\n".join(response.text() for response in self.responses if "/api/" in response.url and response.ok)

    def wait_for_passage(self, before: str) -> None:
        """Wait for another passage than the one before, or for the end of the queue."""
        for _ in range(300):
            if self.passage != before or "Nothing is left" in self.page.inner_text("body"):
                break
            self.page.wait_for_timeout(100)
        self.page.wait_for_timeout(700)  # sooner, a key counts as half of a double press

    def judge(self, grade: int) -> str:
        """Judge the passage that is shown by a key, wait until the server has it, and return its sheet."""
        before = self.passage
        with self.page.expect_response(lambda response: response.request.method == "POST" and response.ok):
            self.page.keyboard.press(str(grade))
        self.wait_for_passage(before)
        return before


@pytest.fixture(scope="module")  # two open at once in one process are an error
def browser() -> Iterator[Any]:
    executable = os.environ.get("CHROMIUM_PATH") or shutil.which("chromium") or shutil.which("google-chrome")
    if executable is None and not os.environ.get("REQUIRE_BROWSER"):
        pytest.skip("no Chromium here; CHROMIUM_PATH says where one is")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=executable, args=options, chromium_sandbox=False)
        yield chromium
        chromium.close()


@pytest.fixture
def open_review(browser: Any, tmp_path: Path) -> Iterator[Callable[..., ReviewPage]]:
    """Open the page on the set in the test's folder; pages and servers end with the test."""
    processes: list[subprocess.Popen[str]] = []
    contexts: list[Any] = []

    def open_page(*options: object) -> ReviewPage:
        serve = ("review", "serve", "set", "--port", 0, "--annotator", "anna", "--overlap", 0, *options)
        processes.append(start_command(tmp_path, *serve))
        contexts.append(browser.new_context(viewport={"width": 1280, "height": 900}))
        return ReviewPage(contexts[-1].new_page(), processes[-1])

    yield open_page
    for context in contexts:
        context.close()
    for process in processes:
        kill(process)
