"""Looking after an answer store: what it holds, throwing answers away, taking them elsewhere and back."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import InputError, OutputError, UsageError
from pipeline.llm.batch_book import forget_answered
from pipeline.llm.tables import connect

_ANSWER = (
    "key", "stage", "prompt", "model", "outcome", "reply", "message", "input_tokens", "output_tokens", "cached_tokens",
    "usd", "created",
)  # fmt: skip
_VECTOR = ("key", "model", "vector", "created")
_FIELDS: dict[str, tuple[str, ...]] = {"answer": _ANSWER, "vector": _VECTOR}
_TABLES = {"answer": "answers", "vector": "vectors"}


@dataclass(frozen=True, slots=True)
class Holding:
    """Answers of one kind. ``outcome`` is ``answer``, or why the replies were rejected; ``usd`` None where unknown."""

    stage: str
    prompt: str
    model: str
    outcome: str
    answers: int
    input_tokens: int
    output_tokens: int
    usd: float | None


@dataclass(frozen=True, slots=True)
class StoreReport:
    """What a store holds: answers by kind, vectors by model, its size on disk."""

    holdings: tuple[Holding, ...]
    vectors: dict[str, int]
    bytes: int


def stats(path: Path) -> StoreReport:
    """Return what the store holds.

    Raises:
        InputError: there is no store, or it cannot be read.
    """
    with closing(connect(path, create=False)) as connection:
        rows = connection.execute(
            "SELECT stage, prompt, model, outcome, count(*), sum(input_tokens), sum(output_tokens), sum(usd) "
            "FROM answers GROUP BY stage, prompt, model, outcome ORDER BY stage, prompt, model, outcome"
        ).fetchall()
        vectors = connection.execute("SELECT model, count(*) FROM vectors GROUP BY model ORDER BY model").fetchall()
    return StoreReport(tuple(Holding(*row) for row in rows), dict(vectors), path.stat().st_size)


def prune(
    path: Path,
    *,
    stage: str | None = None,
    prompt: str | None = None,
    model: str | None = None,
    rejected: bool = False,
    before: float | None = None,
) -> int:
    """Throw away the answers that fit every condition and return how many there were.

    Vectors have a model and a time only, so conditions on anything else leave them alone.

    Args:
        path: the store.
        stage: only answers of this stage.
        prompt: only answers to this prompt file and version.
        model: only answers of this model.
        rejected: only replies that could not be used, so that they are asked for again.
        before: only answers kept before this time (seconds since 1970).

    Raises:
        UsageError: no condition is given.
    """
    given = {"stage = ?": stage, "prompt = ?": prompt, "model = ?": model, "created < ?": before}
    conditions = [condition for condition, value in given.items() if value is not None]
    values = [value for value in given.values() if value is not None]
    if rejected:
        conditions.append("outcome <> 'answer'")
    if not conditions:
        raise UsageError("prune needs a condition; to throw everything away, delete the file")
    with closing(connect(path, create=False)) as connection:
        try:
            forget_answered(connection)  # or a batch would give the same answer once more
            count = connection.execute(f"DELETE FROM answers WHERE {' AND '.join(conditions)}", values).rowcount  # noqa: S608 - the conditions are the constants above
            if not (stage or prompt or rejected):
                count += connection.execute(f"DELETE FROM vectors WHERE {' AND '.join(conditions)}", values).rowcount  # noqa: S608 - as above
            connection.execute("VACUUM")
        except sqlite3.Error as error:
            raise OutputError(f"{path}: the answer store cannot be written ({error})") from None
    return count


def export_answers(path: Path) -> Iterator[str]:
    """Yield every answer and vector as one line of JSON each, ordered by key: equal stores give equal lines."""
    with closing(connect(path, create=False)) as connection:
        for row in connection.execute(f"SELECT {', '.join(_ANSWER)} FROM answers ORDER BY key"):  # noqa: S608 - constants
            record = dict(zip(_ANSWER, row, strict=True))
            reply = record["reply"].decode("utf-8", "surrogatepass")
            yield json.dumps({"kind": "answer", **record, "key": record["key"].hex(), "reply": reply})
        for row in connection.execute(f"SELECT {', '.join(_VECTOR)} FROM vectors ORDER BY key"):  # noqa: S608 - constants
            record = dict(zip(_VECTOR, row, strict=True))
            vector = base64.b64encode(record["vector"]).decode("ascii")
            yield json.dumps({"kind": "vector", **record, "key": record["key"].hex(), "vector": vector})


def import_answers(path: Path, source: Path) -> int:
    """Add the answers of an exported file and return how many were new; what is there already stays as it is.

    Raises:
        InputError: a line is not what ``export_answers`` writes; nothing was added.
    """
    with closing(connect(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        added = 0
        try:
            with source.open(encoding="utf-8") as lines:
                for number, line in enumerate(lines, 1):
                    added += _add(connection, _record(source, number, line), source, number)
        except (OSError, UnicodeDecodeError) as error:
            connection.execute("ROLLBACK")
            raise InputError(source, f"cannot be read ({type(error).__name__})") from None
        except InputError:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
    return added


def _record(source: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    fields = _FIELDS.get(str(record.get("kind"))) if isinstance(record, dict) else None
    if isinstance(record, dict) and fields and set(record) == {"kind", *fields}:
        return record
    raise InputError(source, "is no line of an export of answers", line=number)


def _add(connection: sqlite3.Connection, record: dict[str, Any], source: Path, number: int) -> int:
    try:
        record["key"] = bytes.fromhex(record["key"])
        if record["kind"] == "answer":
            record["reply"] = record["reply"].encode("utf-8", "surrogatepass")
        else:
            record["vector"] = base64.b64decode(record["vector"], validate=True)
        fields = _FIELDS[record["kind"]]
        marks = ", ".join("?" * len(fields))
        insert = f"INSERT OR IGNORE INTO {_TABLES[record['kind']]} VALUES ({marks})"  # noqa: S608 - constants
        return connection.execute(insert, [record[name] for name in fields]).rowcount
    except (ValueError, TypeError, AttributeError, sqlite3.Error):
        raise InputError(source, "holds a value of the wrong kind", line=number) from None
