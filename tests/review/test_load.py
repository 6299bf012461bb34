"""Several people at once: judgments through HTTP, none lost or doubled, the overlap exact."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from goldbench.records.review_event import EventKind
from goldbench.review.assignment import Assigner
from goldbench.review.ledger import open_ledger
from goldbench.review.queue import QueueItem, QueueSettings, make_queue
from goldbench.review.reviewable_set import load_reviewable
from goldbench.review.state import State, fold
from tests.review.conftest import Site
from tests.review.events import event
from tests.review.review_set import write_set
from tests.review.test_http import Client, client_of

pytestmark = pytest.mark.slow

PEOPLE = tuple(f"person-{number}" for number in range(4))
DRAWN = QueueSettings(lanes=frozenset("A"), calibration=9999, overlap=0.2)


def at_once(act: Callable[[str], None]) -> None:
    """Let everybody act in a thread of their own."""
    with ThreadPoolExecutor(len(PEOPLE)) as people:
        list(people.map(act, PEOPLE))


def assert_judged_as_wanted(state: State, items: tuple[QueueItem, ...]) -> None:
    assert {item.pair: len(state.judged_by(item.pair)) for item in items} == {item.pair: item.wanted for item in items}


def judge_all(client: Client, name: str, sent: list[str]) -> None:
    """Judge as fast as the server answers, sending every seventh judgment twice, until nothing is given any more."""
    idle = 0
    while idle < 3:
        waiting = client.get("/api/next?n=3").json["items"]
        idle = 0 if waiting else idle + 1
        time.sleep(0 if waiting else 0.2)
        for item in waiting:
            number = len(sent)
            body: dict[str, Any] = {"client_id": f"{name}-{number:05}", "kind": "judge", "grade": number % 4}
            for _ in range(2 if number % 7 == 0 else 1):
                while (status := client.post("/api/event", body | {"pair": item["pair"]}).status) == 429:
                    time.sleep(0.3)
                assert status == 200
            sent.append(body["client_id"])


def test_four_people_at_one_server(site: Callable[..., Site]) -> None:
    served = site(annotators=PEOPLE, queries=10, passages=10, chunks=False, queue=DRAWN, repeats=0)
    sent: dict[str, list[str]] = {name: [] for name in PEOPLE}
    at_once(lambda name: judge_all(client_of(served, name), name, sent[name]))
    events = served.events()
    assert Counter(one.client_id for one in events) == Counter(one for ids in sent.values() for one in ids)
    assert {one.kind for one in events} == {EventKind.JUDGE}
    assert_judged_as_wanted(fold(events), served.queue)
    assert sum(item.wanted == 2 for item in served.queue) == 20


def test_four_servers_on_one_file_never_go_beyond_what_is_wanted(tmp_path: Path) -> None:
    material = load_reviewable(write_set(tmp_path / "set", queries=6, passages=10, chunks=False))
    items = make_queue(material.pool, material.judgments, settings=DRAWN)
    path = tmp_path / "shared.sqlite"

    def judge_all_as(name: str) -> None:
        with open_ledger(path, data_sha=material.data_sha) as own:
            desk = Assigner(own, items, repeats=0)
            while handed := desk.claim(name, 1):
                desk.record(event("judge", name, *handed[0].item.pair, grade=1, data_sha=material.data_sha))

    at_once(judge_all_as)
    with open_ledger(path, data_sha=material.data_sha) as ledger:
        assert_judged_as_wanted(fold(ledger.events()), items)
