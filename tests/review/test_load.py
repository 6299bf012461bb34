"""Eight people at once: 600 judgments through HTTP, none lost or doubled, the overlap exact."""

from __future__ import annotations

import http.client
import json
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from goldbench.records.review_event import EventKind
from goldbench.review.assignment import Assigner
from goldbench.review.ledger import open_ledger
from goldbench.review.queue import Queue, QueueSettings
from goldbench.review.reviewable_set import load_reviewable
from goldbench.review.state import fold
from tests.review.conftest import start_process
from tests.review.postgres import postgres
from tests.review.review_set import write_set

pytestmark = [pytest.mark.slow, pytest.mark.timeout(500)]

PEOPLE = [f"person-{i}" for i in range(8)]
OPTIONS = ["--lanes", "A", "--calibration", "9999", "--overlap", "0.2", "--repeats", "0"]
DRAWN = QueueSettings(lanes=frozenset("A"), calibration=9999, overlap=0.2)


class Worker:
    """A person who judges as fast as the server lets him, and sends every seventh judgment twice."""

    def __init__(self, name: str, link: str) -> None:
        self.name, self.sent, self.problems = name, [], []
        self._host = link.split("/")[2]
        self._connection = http.client.HTTPConnection(self._host, timeout=60)
        answer = self._ask("GET", "/" + link.split("/", 3)[3])
        self._cookie = answer[1]["Set-Cookie"].partition(";")[0]

    def run(self) -> None:
        try:
            waiting, idle = [], 0
            while idle < 3:
                if not waiting:
                    waiting = json.loads(self._ask("GET", "/api/next?n=3")[2])["items"]
                    idle = 0 if waiting else idle + 1
                    time.sleep(0.2 if idle else 0)
                    continue
                waiting += self._judge(waiting.pop(0), waiting)
        except BaseException as error:  # noqa: BLE001  told by the test
            self.problems.append(repr(error))

    def close(self) -> None:
        self._connection.close()

    def _judge(self, item: dict[str, Any], waiting: list[dict[str, Any]]) -> list[dict[str, Any]]:
        number = len(self.sent)
        event = {"client_id": f"{self.name}-{number}", "kind": "judge", "pair": item["pair"], "grade": number % 4}
        more = {"want": max(0, 3 - len(waiting)), "have": [one["pair"] for one in waiting]}
        for _ in range(2 if number % 7 == 0 else 1):
            while True:
                status, _, body = self._ask("POST", "/api/event", {**event, **more})
                if status != 429:
                    break
                time.sleep(0.3)
            if status != 200:
                self.problems.append(f"{status}: {body[:200]!r}")
                return []
            more = {}
            found = json.loads(body).get("items", [])
            waiting += found
        self.sent.append(event["client_id"])
        return []

    def _ask(self, method: str, path: str, body: object = None) -> tuple[int, Any, bytes]:
        headers = {"Host": self._host}
        if hasattr(self, "_cookie"):
            headers["Cookie"] = self._cookie
        if method == "POST":
            headers |= {"Origin": f"http://{self._host}", "Content-Type": "application/json"}
        self._connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = self._connection.getresponse()
        return answer.status, answer.headers, answer.read()


def _judge_at_once(folder: Path, address: str | None) -> tuple[list[Worker], float]:
    """Let everybody judge until nothing is left, and return what they know they sent."""
    named = [option for name in PEOPLE for option in ("--annotator", name)]
    served = start_process(folder, *OPTIONS, *named, *(["--ledger", address] if address else []))
    workers: list[Worker] = []
    try:
        workers = [Worker(name, served.links[name]) for name in PEOPLE]
        threads = [threading.Thread(target=worker.run) for worker in workers]
        started = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return workers, time.monotonic() - started
    finally:
        for worker in workers:
            worker.close()
        served.process.kill()
        served.process.wait()
        served.process.stdout.close()


def _check(folder: Path, address: str | None, workers: list[Worker], seconds: float, *, at_least: int) -> None:
    material = load_reviewable(folder)
    items = Queue(material.pool, material.judgments, settings=DRAWN).items
    with open_ledger(address or folder / "review.sqlite", data_sha=material.data_sha, create=False) as ledger:
        events = ledger.events()
    assert [problem for worker in workers for problem in worker.problems] == []
    sent = [client_id for worker in workers for client_id in worker.sent]
    print(f"{len(sent)} judgments in {seconds:.1f} s")
    assert len(sent) >= at_least
    assert Counter(event.client_id for event in events) == Counter(sent)
    assert [event.seq for event in events] == sorted(event.seq or 0 for event in events)
    state = fold(events)
    assert {item.pair: len(state.judged_by(item.pair)) for item in items} == {item.pair: item.wanted for item in items}
    assert sum(item.wanted == 2 for item in items) == len(items) // 5
    assert {event.kind for event in events} == {EventKind.JUDGE}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: what is asked here is what eight people do, not how fast a disk is."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else tmp_path) as place:
        yield Path(place)


def test_eight_people_on_sqlite(tmp_path: Path, memory: Path) -> None:
    folder = write_set(tmp_path / "set", queries=20, passages=25, chunks=False)
    address = str(memory / "review.sqlite")
    workers, seconds = _judge_at_once(folder, address)
    _check(folder, address, workers, seconds, at_least=600)


def test_eight_people_on_postgresql(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", queries=20, passages=25, chunks=False)
    with postgres() as address:
        workers, seconds = _judge_at_once(folder, address)
        _check(folder, address, workers, seconds, at_least=600)


def test_two_servers_on_one_postgresql_never_go_beyond_what_is_wanted(tmp_path: Path) -> None:
    material = load_reviewable(write_set(tmp_path / "set", queries=12, passages=10, chunks=False))
    items = Queue(material.pool, material.judgments, settings=DRAWN).items
    problems: list[str] = []

    def person(name: str, address: str) -> None:
        try:
            with open_ledger(address, data_sha=material.data_sha) as own:
                desk = Assigner(own, items)
                for _ in range(3):
                    _work_as(desk, name, material.data_sha)
        except BaseException as error:  # noqa: BLE001  told by the test
            problems.append(repr(error))

    with postgres() as address:
        threads = [threading.Thread(target=person, args=(name, address)) for name in PEOPLE]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with open_ledger(address, data_sha=material.data_sha) as ledger:
            state = fold(ledger.events())
    assert problems == []
    assert {item.pair: len(state.judged_by(item.pair)) for item in items} == {item.pair: item.wanted for item in items}


def _work_as(desk: Assigner, name: str, data_sha: str) -> None:
    from tests.review.events import event

    while handed := desk.claim(name, 1):
        pair = handed[0].item.pair
        desk.record(event("judge", name, *pair, grade=1, data_sha=data_sha, repeat=handed[0].repeat))
