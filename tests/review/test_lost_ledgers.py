"""A ledger that is deleted or replaced while people judge: only what is found again is acknowledged."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from goldbench.review.queue import QueueSettings
from goldbench.review.server import opened
from tests.review.conftest import Site, start_process
from tests.review.events import judge
from tests.review.review_set import write_set
from tests.review.test_http import Client, client_of

Sites = Callable[..., Site]


def rows(file: Path) -> int:
    with sqlite3.connect(file) as opened:
        return int(opened.execute("SELECT count(*) FROM goldbench_event").fetchone()[0])


def key(anna: Client, number: int, pair: str) -> tuple[int, str]:
    answer = anna.post("/api/event", {"client_id": f"client-{number:05}", "kind": "judge", "pair": pair, "grade": 2})
    return answer.status, str(answer.json.get("error", ""))


def removed(folder: Path) -> str:
    for file in folder.glob("review.sqlite*"):
        file.unlink()
    return "was deleted or moved away"


def replaced(folder: Path) -> str:
    Path(shutil.copy(folder / "review.sqlite", folder / "copy")).replace(folder / "review.sqlite")
    return "was replaced by another file"


@pytest.mark.parametrize("loss", [removed, replaced])
def test_no_key_is_acknowledged_once_the_ledger_is_lost(site: Sites, loss: Callable[[Path], str]) -> None:
    served = site(queries=2, passages=3)
    anna = client_of(served)
    pairs = [item["pair"] for item in anna.get("/api/next?n=4").json["items"]]
    assert key(anna, 1, pairs[0]) == (200, "")
    before = sorted(path.name for path in served.folder.iterdir())
    said = loss(served.folder)
    status, error = key(anna, 2, pairs[1])
    assert status == 503
    assert said in error
    assert anna.get("/api/next?n=1").status == 503
    assert key(anna, 2, pairs[1])[0] == 503
    assert {path.name for path in served.folder.iterdir()} <= {*before, "copy"}, "no ledger is made in its place"


def test_judging_goes_on_when_the_ledger_is_put_back(site: Sites, tmp_path: Path) -> None:
    served = site(queries=2, passages=3)
    anna = client_of(served)
    pairs = [item["pair"] for item in anna.get("/api/next?n=4").json["items"]]
    assert key(anna, 1, pairs[0])[0] == 200
    names = [path.name for path in served.folder.glob("review.sqlite*")]
    (tmp_path / "away").mkdir()
    for name in names:
        (served.folder / name).rename(tmp_path / "away" / name)
    assert key(anna, 2, pairs[1])[0] == 503
    for name in names:
        (tmp_path / "away" / name).rename(served.folder / name)
    assert key(anna, 2, pairs[1])[0] == 200
    assert [event.client_id for event in served.events()] == ["client-00001", "client-00002"]


def test_while_another_process_holds_the_ledger_keys_are_refused_soon(site: Sites) -> None:
    served = site(queries=2, passages=3)
    anna = client_of(served)
    pairs = [item["pair"] for item in anna.get("/api/next?n=4").json["items"]]
    with contextlib.closing(sqlite3.connect(served.folder / "review.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(6) as together:
            begun = time.monotonic()
            answers = [together.submit(key, anna, number, pairs[number % 2]) for number in range(6)]
            asked = anna.get("/api/next?n=1").status
            assert {answer.result()[0] for answer in answers} == {asked} == {503}
            assert time.monotonic() - begun < 20
    assert key(anna, 1, pairs[1])[0] == 200
    assert rows(served.folder / "review.sqlite") == 1


@pytest.mark.slow
def test_the_command_says_at_its_end_that_the_ledger_is_gone_and_counts_what_is_there(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", queries=2, passages=3)
    with opened(folder, None, QueueSettings(lanes=frozenset("A"), overlap=0)) as review:
        review.ledger.append(judge(2).model_copy(update={"data_sha": review.material.data_sha}))
    with sqlite3.connect(folder / "review.sqlite") as ledger:
        ledger.execute("UPDATE goldbench_event SET seq = 40")
    assert "holds 1 event." in _stopped(folder, lost=False)
    assert "was deleted or moved away" in _stopped(folder, lost=True)


def _stopped(folder: Path, *, lost: bool) -> str:
    """Return what the command prints when it is interrupted, perhaps after its ledger was deleted."""
    started = start_process(folder, "--annotator", "anna")
    assert Client(started.port).get("/").status == 401  # it answers, and so takes signals
    if lost:
        removed(folder)
    started.process.send_signal(signal.SIGINT)
    return started.process.communicate(timeout=100)[0]
