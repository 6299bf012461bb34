"""From documents to a score that changed: init, build, bench, the worst query, a judgment, apply, score, as typed."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import IMPORT_PATH, ROOT, Goldbench
from tests.workbench.conftest import Visitor

DOCUMENTS = ROOT / "data" / "example" / "documents"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Start ``goldbench open`` in the test's folder and give its link; it is interrupted at the end, and says so."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> str:
        process = subprocess.Popen(
            [sys.executable, "-m", "goldbench", "open", *arguments, "--port", "0", "--annotator", "anna"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONPATH": IMPORT_PATH},
            stdin=subprocess.DEVNULL,
            cwd=tmp_path,
        )
        running.append(process)
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.match(r"anna: (http://\S+token=\S+)", line):
                return found[1]
        raise AssertionError(f"the server ended: {process.wait()}")

    yield start
    for process in running:
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=100)
        assert said.rstrip().endswith("Stopped.")


def commands_in(printed: str) -> list[list[str]]:
    """Return the commands at the end of what init printed, as a shell reads them."""
    lines = [line.strip() for line in printed.splitlines()]
    return [shlex.split(line) for line in lines[lines.index("Run these three commands:") + 1 :] if line]


@pytest.mark.slow
def test_from_documents_to_a_score_that_changed(
    tmp_path: Path, goldbench: Goldbench, opened: Callable[..., str], visitor: Callable[..., Visitor]
) -> None:
    def typed(*words: object, **environment: str) -> str:
        done = goldbench(*words, **environment)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def values(run: Path) -> dict[str, float]:
        """Return nDCG@10 of every query, as score writes it."""
        typed("score", gold, "--run", f"one={run}", "--measure", "ndcg@10", "--per-query", "values.json")
        found = json.loads((tmp_path / "values.json").read_text(encoding="utf-8"))["one"]
        return {query_id: one["ndcg@10"] for query_id, one in found.items()}

    documents = tmp_path / "my docs"
    documents.mkdir()
    for name in ("manual/installation.md", "manual/soil-probes.md", "manual/safety.md", "service/valve-repair.md"):
        (documents / Path(name).name).write_bytes((DOCUMENTS / name).read_bytes())
    printed = typed("init", "my docs", "--retriever", "ngrams", "--language", "en", "--queries", 12, COLUMNS="80")
    assert "0 requests, no cost" in printed
    build, bench, card = commands_in(printed)
    assert [command[:2] for command in (build, bench, card)] == [["goldbench", n] for n in ("build", "bench", "card")]
    typed(*build[1:])
    measured = typed(*bench[1:])
    assert "Verdict: " in typed(*card[1:])

    worst = re.search(r"^Worst for (\w+) by ndcg@10: ([\w-]+).*\((goldbench open .*)\)$", measured, re.MULTILINE)
    assert worst, measured
    system, query_id, command = worst[1], worst[2], shlex.split(worst[3])
    gold = tmp_path / command[2]
    run = gold / "bench" / "runs" / f"{system}.trec"
    before = values(run)
    assert before[query_id] == min(before.values())

    anna = visitor(opened(*command[2:]))
    assert anna.page.evaluate("new URLSearchParams(location.hash.slice(1)).get('query')") == query_id
    ranked = [line.split()[2] for line in run.read_text(encoding="utf-8").splitlines() if line.split()[0] == query_id]
    rows = anna.page.locator(".system .results > li", has=anna.page.locator(".badge.unjudged"))
    unjudged = rows.evaluate_all("all => all.map(one => one.dataset.id)")
    chunk_id = next(one for one in ranked[:10] if one in unjudged)
    row = anna.page.locator(f".system .results > li[data-id='{chunk_id}']").first
    row.locator("details.judge summary").click()
    row.locator("button[data-grade='3']").click()
    anna.page.locator("#live", has_text="Grade 3 saved.").wait_for()

    assert values(run) == before  # nothing changes before it is applied
    typed("review", "apply", command[2])
    assert f"{query_id} 0 {chunk_id} 3" in (gold / "trec" / "qrels.txt").read_text().splitlines()
    after = values(run)
    assert [one for one in before if after[one] != before[one]] == [query_id]
    assert f"{sum(after.values()) / len(after):.4f}" in typed("score", command[2], "--run", run)
