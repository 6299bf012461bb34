"""People and files that mean no good, and people who only click a great deal."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from goldbench.formats.annotations.judgment_table import safe, unsafe
from goldbench.prompts.rubric import DEFAULT
from goldbench.records.review_event import EventKind, Lane
from goldbench.review.assignment import LEASE_S, MAX_LEASES, Assigner
from goldbench.review.exports import Format, export
from goldbench.review.imports import import_file
from goldbench.review.ledger import open_ledger
from goldbench.review.payload import mark_words
from goldbench.review.people import load_reviewed
from goldbench.review.queue import Item
from goldbench.review.state import fold
from tests.review.conftest import Site
from tests.review.events import DATA
from tests.review.made_set import event as made_event
from tests.review.made_set import ledger_of, make_set, queue_of
from tests.review.made_set import only as only_of
from tests.review.test_http import client_of, judgment

Sites = Callable[..., Site]


def test_who_looked_at_many_passages_is_still_given_the_next(tmp_path: Path) -> None:
    items = [Item("q1", f"c{i}", Lane.ERRORS) for i in range(MAX_LEASES + 10)]
    with open_ledger(tmp_path / "l.sqlite", data_sha=DATA) as ledger:
        desk = Assigner(ledger, items)
        for item in items[:MAX_LEASES]:
            desk.open("anna", item.pair)
        assert [one.item for one in desk.claim("anna", 3)] == items[:3]


def test_leases_that_ran_out_are_no_burden(tmp_path: Path) -> None:
    items = [Item(f"q{i}", "c", Lane.ERRORS) for i in range(MAX_LEASES + 10)]
    now = [0.0]
    with open_ledger(tmp_path / "l.sqlite", data_sha=DATA) as ledger:
        desk = Assigner(ledger, items, clock=lambda: now[0])
        for item in items[10:]:
            desk.open("anna", item.pair)
        now[0] = LEASE_S + 1
        assert len(desk.claim("anna", 3)) == 3


@pytest.mark.parametrize("text", ["", "|---|---|", "[[[[[[", "\u202e \x00", "🙂"])
def test_a_passage_without_a_word_has_no_marks(text: str) -> None:
    assert mark_words("Which wheel turns?", text, "en") == []


def test_an_undo_by_the_name_of_another_act_is_refused(site: Sites) -> None:
    served = site(annotators=("anna", "bob"), queries=2, passages=3)
    anna, bob = client_of(served), client_of(served, "bob")
    one = judgment(anna)
    assert anna.post("/api/event", one).status == 200
    for person in (anna, bob):
        assert person.post("/api/event", {"client_id": one["client_id"], "kind": "undo"}).status == 409
    assert [each.kind for each in served.events()] == [EventKind.JUDGE]


def test_only_what_is_disputed_is_adjudicated(site: Sites) -> None:
    served = site(queries=2, passages=3)
    anna = client_of(served)
    item = anna.get("/api/next?n=1").json["items"][0]
    body = {"client_id": "third-eye-1", "kind": "adjudicate", "pair": item["pair"], "grade": 3}
    assert anna.post("/api/event", body).status == 409
    assert served.events() == []


@pytest.mark.parametrize(
    "body",
    [
        b'{"client_id":"client-00001","kind":"judge","\\ud800":1}',
        b'{"client_id":"client-00001","kind":"judge","have":["\\ud800"]}',
        b'{"client_id":"client-00001","kind":"\\ud800"}',
        b'{"client_id":"client-00001","kind":"judge","grade":1e999}',
        b'{"client_id":"client-00001","kind":"judge","grade":NaN}',
        b'{"client_id":"client-00001","kind":"judge","grade":true}',
        b'{"client_id":"client-00001\\n","kind":"judge"}',
        b"[" * 100_000,
        b'{"ms":' + b"9" * 5000 + b"}",
        b'{"client_id":"client-00001","kind":"note","pair":"\\u0000"}',
        b'{"client_id":"client-00001","kind":"undo","undoes":"\\ud800"}',
    ],
)
def test_hostile_bodies_are_refused_in_one_line(site: Sites, body: bytes) -> None:
    anna = client_of(site(queries=1, passages=2))
    answer = anna.post("/api/event", body)
    assert answer.status == (410 if b'"pair"' in body else 400)
    assert "\n" not in answer.json["error"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/next?n=%C2%B2",
        "/api/next?n=%D9%A1%D9%A2",
        "/api/item?pair=%ED%A0%80",
        "/api/next?n=1&have=" + "a," * 20000,
        "/?token=%ED%A0%80",
        "/?token=",
        "/api/query?query=%00",
        "/static/..%2fapp.py",
        "/static/%00",
    ],
)
def test_hostile_addresses_are_no_internal_error(site: Sites, path: str) -> None:
    anna = client_of(site(queries=1, passages=2))
    assert anna.get(path).status < 500


@pytest.mark.parametrize("form", ["native", "csv", "argilla", "label-studio"])
def test_a_grade_kept_in_sight_of_the_models_stays_blind_there_and_back(tmp_path: Path, form: Format) -> None:
    made = make_set(tmp_path / "gold", queries=4, pool=5)
    material, ledger = ledger_of(made.folder)
    item = only_of(queue_of(material, calibration=4, complete=1), Lane.ERRORS)[0]
    with ledger:
        for revealed in (False, True):
            values = {"chunk_id": item.chunk_id, "lane": Lane.ERRORS, "grade": 2, "revealed": revealed}
            ledger.append(made_event(material, EventKind.JUDGE, item.query_id, **values))
        other = only_of(queue_of(material, calibration=4, complete=1), Lane.ERRORS)[1]
        values = {"chunk_id": other.chunk_id, "lane": Lane.ERRORS, "grade": 2, "revealed": True, "note": "a\rb\n\"'=1"}
        ledger.append(made_event(material, EventKind.JUDGE, other.query_id, **values))
    reviewed = load_reviewed(made.folder, None)
    before = reviewed.state.reviews()
    assert sorted(one.blind for one in before) == [False, True]
    out = tmp_path / "out"
    export(reviewed, form, out)
    material, fresh = ledger_of(made.folder, tmp_path / "new.sqlite")
    with fresh:
        import_file(out, form, material=material, ledger=fresh, at="2026-02-02T00:00:00+00:00")
        assert fold(fresh.events()).reviews() == before
        assert import_file(out, form, material=material, ledger=fresh, at="2026-02-03T00:00:00+00:00").new == 0


@pytest.mark.parametrize("cell", ["\n=1", "＝1", "＋1", "－1", "＠SUM(1)", "'＝1", "\r=1", "\t=1"])
def test_every_beginning_of_a_formula_is_made_harmless(cell: str) -> None:
    assert safe(cell) == f"'{cell}"
    assert unsafe(safe(cell)) == cell


def test_a_conflict_in_a_file_of_events_is_told_with_its_line(tmp_path: Path) -> None:
    from goldbench.errors import InputError

    made = make_set(tmp_path / "gold", queries=4, pool=5)
    material, ledger = ledger_of(made.folder)
    item = queue_of(material, calibration=4, complete=1)[0]
    head = {"format": "goldbench-review", "version": 1, "data_sha": material.data_sha, "rubric_sha": DEFAULT.sha}
    events = [
        made_event(material, EventKind.JUDGE, item.query_id, chunk_id=item.chunk_id, grade=g).model_copy(
            update={"client_id": "the-same-name"}
        )
        for g in (1, 2)
    ]
    file = tmp_path / "e.jsonl"
    file.write_text("\n".join([json.dumps(head), *(one.model_dump_json(exclude={"seq"}) for one in events)]) + "\n")
    with ledger:
        with pytest.raises(InputError, match=r"line 3|:3"):
            import_file(file, "native", material=material, ledger=ledger, at="2026-02-02T00:00:00+00:00")
        assert ledger.events() == []
    orphan = events[0].model_copy(
        update={"client_id": "undo-nothing", "kind": EventKind.UNDO, "undoes": "not-there", "grade": None}
    )
    file.write_text("\n".join([json.dumps(head), orphan.model_dump_json(exclude={"seq"})]) + "\n")
    with ledger_of(made.folder)[1] as again, pytest.raises(InputError, match=r"line 2|:2"):
        import_file(file, "native", material=material, ledger=again, at="2026-02-02T00:00:00+00:00")


def test_an_answer_does_not_wait_for_the_acknowledgement_of_its_head(site: Sites) -> None:
    served = site(queries=1, passages=2)
    anna = client_of(served)
    connection = http.client.HTTPConnection("127.0.0.1", anna.port, timeout=60)
    times = []
    for _ in range(40):
        started = time.perf_counter()
        connection.request("GET", "/static/review.css", headers={"Host": f"127.0.0.1:{anna.port}"})
        connection.getresponse().read()
        times.append(time.perf_counter() - started)
    connection.close()
    assert sorted(times)[10] < 0.03
