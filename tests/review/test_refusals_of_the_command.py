"""What the command refuses, in one line, before anything is opened."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from goldbench.errors import InputError
from goldbench.review.queue import QueueSettings
from goldbench.review.reviewable_set import load_reviewable
from goldbench.review.server import opened
from tests.conftest import Goldbench
from tests.review.review_set import write_set


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--host", "0.0.0.0"], "--allow-network"),
        (["--lanes", "AX"], "--lanes"),
        (["--annotator", "a", "--annotator", "a"], "twice"),
        (["--annotator", " "], "1 to 64"),
        (["--annotator", "a", "--lead", " "], "--lead: give a name"),
    ],
)
def test_a_wrong_call_is_refused(goldbench_inside: Goldbench, tmp_path: Path, options: list[str], says: str) -> None:
    folder = write_set(tmp_path / "set", queries=1, passages=1)
    done = goldbench_inside("review", folder, "--port", 0, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert not (folder / "review.key").exists()


def test_a_taken_port_is_told(goldbench_inside: Goldbench, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", queries=1, passages=1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = goldbench_inside("review", folder, "--port", taken.getsockname()[1], "--annotator", "anna")
    assert done.returncode == 2
    assert "give another port" in done.stderr


def test_a_set_stays_the_same_set_when_its_queries_are_edited(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", queries=2, passages=2)
    before = load_reviewable(folder).data_sha
    dataset = json.loads((folder / "dataset.json").read_text())
    dataset["queries"]["q000"] = "Another wording?"
    (folder / "dataset.json").write_text(json.dumps(dataset))
    assert load_reviewable(folder).data_sha != before
    dataset["metadata"]["review"] = {"data_sha": before}
    (folder / "dataset.json").write_text(json.dumps(dataset))
    assert load_reviewable(folder).data_sha == before


def test_a_folder_that_cannot_be_judged_is_told(tmp_path: Path) -> None:
    empty, broken = tmp_path / "empty", write_set(tmp_path / "set", queries=1, passages=1)
    empty.mkdir()
    (broken / "4-pool.jsonl").write_text('{"query_id": "q000", "chunk_id": "gone"}\n')
    for folder in (tmp_path / "none", empty, broken):
        with pytest.raises(InputError, match=str(folder)), opened(folder, None, QueueSettings()):
            pass


def test_a_beir_folder_is_told_how_it_becomes_a_set(goldbench_inside: Goldbench, tmp_path: Path) -> None:
    (tmp_path / "beir" / "qrels").mkdir(parents=True)
    (tmp_path / "beir" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n", encoding="utf-8")
    (tmp_path / "beir" / "queries.jsonl").write_text('{"_id": "q", "text": "pump?"}\n', encoding="utf-8")
    (tmp_path / "beir" / "corpus.jsonl").write_text('{"_id": "d", "text": "pump"}\n', encoding="utf-8")
    for command in ("review", "open"):
        done = goldbench_inside(command, tmp_path / "beir", "--port", 0)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "goldbench import beir FOLDER --out DIR" in done.stderr
