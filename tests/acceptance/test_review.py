"""People judge by keyboard, blind, on a page without barriers; a killed server loses no decision."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.acceptance.conftest import Command, ReviewPage, json_lines, judge_of, kill, write_sheets
from tests.model_server.fixture import ServerHandle

JUDGE = "secret-judge"
OpenReview = Callable[..., ReviewPage]


@pytest.fixture
def graded(command: Command, tmp_path: Path, model_server: ServerHandle) -> Path:
    write_sheets(tmp_path / "docs", 8)
    server = ("--base-url", model_server.base_url, "--model")
    command("build", "docs", "--out", "set", "--generator", "simulated", "--queries", 3)
    model_server.script(judge=judge_of(tmp_path / "set"))
    command("grade", "set", "--depth", 1, "--canaries", 0, "--method", "written", "--force", *server, JUDGE)
    return tmp_path / "set"


def judgments(command: Command, folder: Path) -> list[tuple[str, int]]:
    """Return sheet and grade of people's judgments, sorted."""
    command("review", "export", "set", "--format", "csv", "--out", "people.csv")
    sheets = {row["chunk_id"]: row["title"].split()[-1] for row in json_lines(folder / "1-chunks.jsonl")}
    with (folder.parent / "people.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(row["annotator"] == "anna" and row["blind"] == "yes" for row in rows)
    return sorted((sheets[row["chunk_id"]], int(row["grade"])) for row in rows)


@pytest.mark.timeout(600)
def test_passages_are_judged_by_keyboard_and_blind_on_a_page_without_barriers_and_survive_a_kill(
    command: Command, graded: Path, open_review: OpenReview
) -> None:
    pairs = len(json_lines(graded / "4-pool.jsonl"))
    assert pairs >= 4
    review = open_review("--lanes", "A", "--repeats", 0)
    assert [item["id"] for item in Axe().run(review.page).response["violations"]] == []
    mine = [(review.judge(grade), grade) for grade in (3, 0)]
    seen = review.bodies() + review.page.content()
    kill(review.process)
    assert judgments(command, graded) == sorted(mine)

    review = open_review("--lanes", "A", "--repeats", 0)
    mine += [(review.judge(number % 4), number % 4) for number in range(pairs - 2)]
    assert review.passage == ""
    assert judgments(command, graded) == sorted(mine), "every pair is judged once"
    seen += review.bodies()
    for secret in (JUDGE, "bm25", "ngrams", "inclusion", '"rank', "assessor"):
        assert secret not in seen, secret
    assert all(url.startswith(("http://127.0.0.1:", "data:,")) for url in review.urls)
