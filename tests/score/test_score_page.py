"""``goldbench score --html``, as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lxml import html

from goldbench.records.scorecard import Scorecard
from goldbench.report.scorecard_text import leaderboard_rows
from tests.conftest import Goldbench
from tests.report.hostile import IMAGE, SCRIPT
from tests.score.deciding_files import write_gold, write_run

RUNS = ("--run", "good=good.trec", "--run", "bad=bad.trec")


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_gold(tmp_path)
    write_run(tmp_path, "good.trec", skill=0.9)
    write_run(tmp_path, "bad.trec", skill=0.2)
    return tmp_path


def test_a_page_comes_with_its_scorecard_and_says_the_same(goldbench: Goldbench, files: Path) -> None:
    done = goldbench("score", "gold.qrels", *RUNS, "--html", "report.html")
    assert done.returncode == 0, done.stderr
    card = Scorecard.model_validate_json((files / "scorecard.json").read_bytes())
    rows = html.fromstring((files / "report.html").read_bytes()).xpath("(//table)[1]//tr")
    shown = [[cell.text_content() for cell in row] for row in rows]
    assert shown == [list(row) for row in leaderboard_rows(card)]
    assert [system.system for system in card.systems] == ["good", "bad"]


@pytest.mark.usefixtures("files")
def test_the_page_compares_as_the_command_does(goldbench: Goldbench, files: Path) -> None:
    goldbench("score", "gold.qrels", *RUNS, "--html", "report.html", "--measure", "mrr@10")
    compared = goldbench("compare", "gold.qrels", *RUNS, "--measure", "mrr@10", "--format", "json").stdout
    assert json.loads((files / "scorecard.json").read_text(encoding="utf-8")) == json.loads(compared)


def test_hostile_ids_queries_and_passages_stay_text(goldbench: Goldbench, files: Path) -> None:
    hostile = "<script>window.broken=1</script>"
    gold = {
        "queries": {f"q-{hostile}": f"{SCRIPT} what?", "q2": IMAGE},
        "corpus": {f"d-{hostile}": f"{SCRIPT}{IMAGE}", "d2": "plain"},
        "relevant_docs": {f"q-{hostile}": [f"d-{hostile}"], "q2": ["d2"]},
    }
    (files / "dataset.json").write_text(json.dumps(gold), encoding="utf-8")
    run = {f"q-{hostile}": {f"d-{hostile}": 2.0, "d2": 1.0}, "q2": {"d2": 1.0, "unjudged<b>": 0.5}}
    (files / "run.json").write_text(json.dumps(run), encoding="utf-8")
    done = goldbench("score", "dataset.json", "--run", "<b>x</b>=run.json", "--html", "report.html")
    assert done.returncode == 0, done.stderr
    text = (files / "report.html").read_text(encoding="utf-8")
    assert SCRIPT not in text
    assert "<img" not in text.split("</head>")[1]


@pytest.mark.usefixtures("files")
def test_standard_input_is_read_once_and_so_makes_no_page(goldbench: Goldbench) -> None:
    done = goldbench("score", "gold.qrels", "--run", "A=-", "--html", "report.html")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
