"""From documents to a score that changed: build, retrieve, open, the worst query, a judgment, apply, score."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.workbench.conftest import Visitor

DOCUMENTS = ROOT / "data" / "example" / "documents"


def goldbench(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "goldbench", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def opened() -> Iterator[Callable[..., str]]:
    """Start ``goldbench open`` and give its link; it is interrupted at the end, and says so."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> str:
        process = subprocess.Popen(
            [sys.executable, "-m", "goldbench", "open", *arguments, "--port", "0", "--annotator", "anna"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
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
        said, _ = process.communicate(timeout=30)
        assert said.rstrip().endswith("Stopped.")


def ndcg(gold: Path, run: Path) -> float:
    found = json.loads(
        goldbench("score", str(gold), "--run", f"ngrams={run}", "--measure", "ndcg@10", "--format", "json")
    )
    return float(found["runs"]["ngrams"]["means"]["ndcg@10"])


@pytest.mark.slow
def test_from_documents_to_a_score_that_changed(
    tmp_path: Path, opened: Callable[..., str], visitor: Callable[..., Visitor]
) -> None:
    documents, gold = tmp_path / "documents", tmp_path / "gold"
    documents.mkdir()
    for name in ("manual/installation.md", "manual/soil-probes.md", "manual/safety.md", "service/valve-repair.md"):
        (documents / Path(name).name).write_bytes((DOCUMENTS / name).read_bytes())
    goldbench("build", str(documents), "--out", str(gold), "--generator", "simulated", "--queries", "12")
    run = gold / "runs" / "ngrams.trec"
    goldbench("retrieve", str(gold), "--system", "ngrams", "-o", str(run))
    goldbench("bench", str(gold), "--system", "bm25", "--system", "ngrams")
    before = ndcg(gold, run)

    worst = "#sort=worst&where=set&first=ngrams"
    anna = visitor(f"{opened(str(gold))}{worst}")
    systems = anna.page.eval_on_selector_all("#first option", "all => all.map(one => one.value)")
    assert systems == ["ngrams", "bm25"]  # the experiment's run of ngrams has the same results
    anna.page.locator("#list a").first.click()
    row = anna.page.locator(".system .results > li", has=anna.page.locator(".badge.unjudged")).first
    row.locator("details.judge summary").click()
    chunk_id = row.get_attribute("data-id")
    row.locator("button[data-grade='3']").click()
    anna.page.locator("#live", has_text="Grade 3 saved.").wait_for()
    query_id = anna.page.evaluate("new URLSearchParams(location.hash.slice(1)).get('query')")

    assert ndcg(gold, run) == before  # nothing changes before it is applied
    goldbench("review", "apply", str(gold))
    assert f"{query_id} 0 {chunk_id} 3" in (gold / "trec" / "qrels.txt").read_text().splitlines()
    assert ndcg(gold, run) != before


@pytest.mark.slow
def test_a_query_is_opened_by_its_id_and_a_wrong_id_is_told(
    tmp_path: Path, opened: Callable[..., str], visitor: Callable[..., Visitor]
) -> None:
    from tests.workbench.workbench_set import ARABIC, write_workbench_set

    gold = write_workbench_set(tmp_path / "set")
    link = opened(str(gold), "--query", "q-ar")
    assert link.endswith("#query=q-ar")
    assert visitor(link).text("#asks") == ARABIC
    done = subprocess.run(
        [sys.executable, "-m", "goldbench", "open", str(gold), "--query", "q-as"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 2
    assert "not a query of" in done.stderr
    assert "did you mean" in done.stderr
    assert "q-ar" in done.stderr
