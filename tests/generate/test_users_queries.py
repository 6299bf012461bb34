"""Users' queries of a log: personal data left out and counted, the rest drawn by head, torso and tail."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldbench.errors import InputError
from goldbench.formats.query_logs import Log, read_log
from goldbench.generate.users_queries import draw_users_queries
from goldbench.report.build_text import users_queries_lines


def log_of(path: Path, *rows: tuple[str, int]) -> Log:
    path.write_text("query,count\n" + "".join(f"{text},{count}\n" for text, count in rows), "utf-8")
    return read_log(path)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return log_of(
        tmp_path / "log.csv",
        ("Pump starts", 40),
        ("pump  STARTS?", 10),
        ("seal", 30),
        ("lamp", 2),
        ("call 0170 1234567", 7),
        ("anna@example.org", 3),
        ("is Anna Berg in", 1),
        ("???", 5),
        *((f"valve {number}", 1) for number in range(8)),
    )


def test_queries_are_as_first_written_with_their_frequency_and_without_personal_data(log: Log) -> None:
    users_queries = draw_users_queries(log, 100, names=["Anna Berg"])
    assert {query.text: query.frequency for query in users_queries.queries} == {
        "Pump starts": 50, "seal": 30, "lamp": 2, **{f"valve {number}": 1 for number in range(8)}
    }  # fmt: skip
    assert dict(users_queries.personal) == {"mail": 1, "name": 1, "number": 1}
    assert (users_queries.personal_searches, users_queries.searches, users_queries.distinct) == (11, 101, 14)
    assert dict(users_queries.skipped) == {"no-words": 1}
    assert sum(one.traffic for one in users_queries.queries) == pytest.approx(90)


def test_what_is_told_names_no_query(log: Log) -> None:
    told = "\n".join(users_queries_lines(draw_users_queries(log, 5, names=["Anna Berg"], seed=1)))
    assert "log: 101 searches, 14 queries; skipped: no-words 1" in told
    assert "personal data: 3 queries left out by rule (mail 1, name 1, number 1), asked 11 times" in told
    assert "drawn: head 1 of 1 query (56 % of the searches)" in told.replace("56%", "56 %")
    assert not any(text in told.lower() for text in ("anna", "0170", "pump", "valve"))


def test_a_log_of_personal_data_alone_gives_nothing(tmp_path: Path) -> None:
    log = log_of(tmp_path / "log.csv", ("anna@example.org", 3), ("123456", 1))
    with pytest.raises(InputError, match=r"log\.csv: every query holds personal data, so none is left"):
        draw_users_queries(log, 5)
