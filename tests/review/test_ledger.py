"""The ledger: append-only, idempotent, of one data set."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from goldbench.errors import InputError
from goldbench.review.ledger import Ledger, LedgerConflict, open_ledger
from tests.review.events import DATA, event, judge


def test_what_was_stored_comes_back_in_order(ledger: Ledger) -> None:
    sent = [
        judge(2, note="ä \U0001f600"),
        event("later", chunk="c2"),
        judge(0, "bob", inclusion=0.25, lane="A", ms=900),
    ]
    stored = [ledger.append(one) for one in sent]
    assert [one.seq for one in stored] == [1, 2, 3]
    assert [one.model_copy(update={"seq": None}) for one in ledger.events()] == sent
    assert ledger.events(after=2) == stored[2:]


def test_an_event_sent_twice_is_stored_once(ledger: Ledger) -> None:
    one = judge(2)
    assert ledger.append(one) == ledger.append(one)
    assert len(ledger.events()) == 1


def test_a_known_client_id_with_another_content_is_refused(ledger: Ledger) -> None:
    one = judge(2)
    ledger.append(one)
    with pytest.raises(LedgerConflict, match="another event with client_id"):
        ledger.append(judge(3, client_id=one.client_id))
    assert [each.grade for each in ledger.events()] == [2]


def test_all_or_nothing(ledger: Ledger) -> None:
    with pytest.raises(LedgerConflict):
        ledger.append_all([judge(1), event("undo", undoes="client-unknown")])
    assert ledger.events() == []


def test_a_ledger_is_opened_with_any_set_and_takes_events_about_that_set_alone(ledger: Ledger, tmp_path: Path) -> None:
    ledger.append(judge(1))
    with open_ledger(tmp_path / "review.sqlite", data_sha="e" * 64) as other:
        assert len(other.events()) == 1
    with pytest.raises(InputError, match="another data set"):
        ledger.append(judge(1).model_copy(update={"data_sha": "e" * 64}))


def test_a_file_that_is_no_ledger_is_left_alone(tmp_path: Path) -> None:
    text, other = tmp_path / "text", tmp_path / "other.sqlite"
    text.write_text("no database at all, but longer than a header of one would be" * 20)
    with pytest.raises(InputError, match="not a ledger"):
        open_ledger(text, data_sha=DATA)
    assert text.read_text().startswith("no database")
    sqlite3.connect(other).execute("CREATE TABLE mine (x)").connection.close()
    with pytest.raises(InputError, match="another program"):
        open_ledger(other, data_sha=DATA)


def test_a_missing_ledger_is_not_made_where_it_is_only_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nobody has judged"):
        open_ledger(tmp_path / "none.sqlite", data_sha=DATA, create=False)
    assert not (tmp_path / "none.sqlite").exists()


def test_what_no_database_can_hold_is_replaced(ledger: Ledger) -> None:
    ledger.append(judge(1, note="a\x00b"))
    assert ledger.events()[0].note == "a\ufffdb"


def test_every_commit_reaches_the_disk(ledger: Ledger) -> None:
    assert ledger.execute("PRAGMA synchronous") == [(2,)]
    assert ledger.execute("PRAGMA journal_mode") == [("wal",)]
