"""What ``goldbench diff`` takes from ledgers: grades and verdicts that people settled, with the ledger as it was."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from goldbench.errors import InputError
from goldbench.records.review_event import EventKind
from goldbench.review.ledger import open_ledger
from goldbench.review.reviewable_set import load_reviewable
from goldbench.review.settled_decisions import settled_decisions
from tests.conftest import Goldbench
from tests.review.made_set import event, make_set


def test_decisions_added_and_changed_are_counted_and_the_ledger_stays(
    goldbench_inside: Goldbench, tmp_path: Path
) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    make_set(before, queries=4, pool=3)
    material = load_reviewable(before)
    pool = [(one.query_id, one.chunk_id) for one in material.pool]
    with open_ledger(before / "review.sqlite", data_sha=material.data_sha) as ledger:
        for query_id, chunk_id in pool[:3]:
            ledger.append(event(material, EventKind.JUDGE, query_id, chunk_id=chunk_id, grade=3))
    shutil.copytree(before, after)
    with open_ledger(after / "review.sqlite", data_sha=material.data_sha) as ledger:
        ledger.append(event(material, EventKind.JUDGE, pool[0][0], chunk_id=pool[0][1], grade=0))
        ledger.append(event(material, EventKind.JUDGE, pool[4][0], chunk_id=pool[4][1], grade=2))
        ledger.append(event(material, EventKind.ACCEPT_QUERY, pool[4][0]))
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = goldbench_inside("diff", before, after, "--json", "--exit-code")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    grades, verdicts = (found["sections"][name] for name in ("people's grades", "people's verdicts"))
    assert [one["change"] for one in grades["changed"]] == ["3 → 0"]
    assert [one["change"] for one in grades["added"]] == ["2"]
    assert [one["change"] for one in verdicts["added"]] == ["accepted"]
    assert "Ledger of A: 3 events, 3 pairs graded by people." in found["notes"]
    assert "Ledger of B: 6 events, 4 pairs graded by people." in found["notes"]
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files, "a file was changed"


def test_no_ledger_is_none_and_a_damaged_one_is_an_error(tmp_path: Path) -> None:
    assert settled_decisions(tmp_path) is None
    (tmp_path / "review.sqlite").write_bytes(b"not a database at all" * 100)
    with pytest.raises(InputError, match="is not a ledger, or is damaged"):
        settled_decisions(tmp_path)
