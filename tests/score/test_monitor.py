"""``goldbench monitor``, as a command that runs every night."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldbench.formats.runs.history import read_history
from tests.conftest import Goldbench
from tests.score.deciding_files import write_gold, write_run

RECORD = ("monitor", "gold.qrels", "--history", "history.jsonl", "--measure", "mrr@10")


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_gold(tmp_path)
    write_run(tmp_path, "good.trec", skill=0.9)
    write_run(tmp_path, "bad.trec", skill=0.2)
    return tmp_path


def test_every_run_adds_a_line_and_is_compared_with_the_last_and_the_first(goldbench: Goldbench, files: Path) -> None:
    for number, run in enumerate(("good", "bad", "bad"), start=1):
        done = goldbench(*RECORD, "--run", f"s={run}.trec", "--at", f"2026-01-0{number}", "--label", f"commit {number}")
        assert done.returncode == 0, done.stderr
    entries = read_history(files / "history.jsonl")
    assert [entry.at for entry in entries] == [f"2026-01-0{number}T00:00:00+00:00" for number in (1, 2, 3)]
    assert [entry.label for entry in entries] == ["commit 1", "commit 2", "commit 3"]
    row = done.stdout.splitlines()[1].split()
    fell = entries[2].means["mrr@10"].mean - entries[0].means["mrr@10"].mean
    assert row[0] == "mrr@10"
    assert row[-2:] == ["+0.0000", f"{fell:+.4f}"]


def test_a_baseline_of_the_gate_may_be_what_is_compared_with(goldbench: Goldbench, files: Path) -> None:
    goldbench("gate", "gold.qrels", "--run", "bad.trec", "--baseline", "b.json", "--init", "--measure", "mrr@10")
    done = goldbench(*RECORD, "--run", "good.trec", "--baseline", "b.json")
    assert done.stdout.splitlines()[1].split()[-1].startswith("+0.")
    missing = goldbench(*RECORD, "--run", "good.trec", "--baseline", "none.json")
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)
    assert len(read_history(files / "history.jsonl")) == 1


def test_an_alert_ends_with_1_and_is_kept(goldbench: Goldbench, files: Path) -> None:
    done = goldbench(*RECORD, "--run", "bad.trec", "--alert-below", "recall@10=0.99")
    assert done.returncode == 1
    assert "ALERT  bad: r@10" in done.stdout
    assert read_history(files / "history.jsonl")[0].alerts[0].startswith("bad: r@10")


@pytest.mark.usefixtures("files")
def test_other_judgments_than_last_time_are_told(goldbench: Goldbench, files: Path) -> None:
    goldbench(*RECORD, "--run", "good.trec")
    write_gold(files, queries=50)
    assert "the judgments differ from those of the last entry" in goldbench(*RECORD, "--run", "good.trec").stdout


def test_a_history_is_drawn_as_one_page(goldbench: Goldbench, files: Path) -> None:
    for day in (1, 2):
        goldbench(*RECORD, "--run", "good.trec", "--run", "bad.trec", "--at", f"2026-01-0{day}", "--label", "<script>x")
    done = goldbench("monitor", "plot", "history.jsonl", "--out", "page.html")
    assert done.returncode == 0, done.stderr
    page = (files / "page.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;x" in page
    assert "<script>x" not in page
    first = (files / "page.html").read_bytes()
    goldbench("monitor", "plot", "history.jsonl", "--out", "page.html")
    assert (files / "page.html").read_bytes() == first


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((*RECORD, "--run", "good.trec", "--at", "yesterday"), 2, "--at"),
        (("monitor", "gold.qrels", "--history", "gold.qrels", "--run", "good.trec"), 2, "gold.qrels, line 1"),
        (("monitor", "gold.qrels", "--run", "good.trec"), 2, "--history"),
    ],
)
def test_what_a_monitor_cannot_do_is_one_line(
    goldbench: Goldbench, files: Path, arguments, code: int, said: str
) -> None:
    done = goldbench(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    assert not (files / "history.jsonl").exists()


def test_a_page_of_a_run_is_what_the_history_opens(goldbench: Goldbench, files: Path) -> None:
    done = goldbench(*RECORD, "--run", "good.trec", "--html", "pages/one.html")
    assert done.returncode == 0, done.stderr
    goldbench(*RECORD, "--run", "bad.trec")
    entries = read_history(files / "history.jsonl")
    assert [(entry.run, entry.page) for entry in entries] == [("good.trec", "pages/one.html"), ("bad.trec", None)]
    assert ">good<" in (files / "pages" / "one.html").read_text(encoding="utf-8")
    goldbench("monitor", "plot", "history.jsonl", "--out", "pages/all.html")
    page = (files / "pages" / "all.html").read_text(encoding="utf-8")
    assert 'href="./../pages/one.html"' in page
    assert 'href="./../bad.trec"' in page
    refused = goldbench(*RECORD, "--run", "good.trec", "--html", "good.trec")
    assert refused.returncode == 2
    assert "is one of the inputs" in refused.stderr
