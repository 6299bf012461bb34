"""Exporting the answers of a store as lines of JSON, and importing them."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, InstanceOf, ValidationError

from goldbench.pipeline.errors import InputError, OutputError, UsageError, no_such_folder, plain_file
from goldbench.pipeline.llm.store import KEPT_REJECTIONS
from goldbench.pipeline.llm.store_tables import opened_store
from goldbench.pipeline.text.display import shell_command

_MOST_TOKENS = 2**53
"""The limit of a token count; JSON numbers beyond it are not exact everywhere."""


def _outcome(value: str) -> str:
    if value != "answer" and value not in KEPT_REJECTIONS:
        raise ValueError("not a known outcome")
    return value


def _vector(value: str) -> str:
    content = base64.b64decode(value, validate=True)
    if not content or len(content) % 4 or not np.isfinite(np.frombuffer(content, dtype="<f4")).all():
        raise ValueError("not a vector of finite float32 numbers")
    return value


_Key = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Count = Annotated[int, Field(ge=0, lt=_MOST_TOKENS)]
_Moment = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Line(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _AnswerLine(_Line):
    """An answer; the fields are the columns of its table, in their order."""

    kind: Literal["answer"]
    key: _Key
    stage: str
    prompt: str
    model: str
    outcome: Annotated[str, AfterValidator(_outcome)]
    reply: InstanceOf[str]
    """A plain ``str`` field refuses the lone surrogates that a reply may hold."""
    message: str
    input_tokens: _Count
    output_tokens: _Count
    cached_tokens: _Count
    usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    created: _Moment


class _VectorLine(_Line):
    """A vector; the fields are the columns of its table, in their order."""

    kind: Literal["vector"]
    key: _Key
    model: str
    vector: Annotated[str, AfterValidator(_vector)]
    created: _Moment


_ANSWER, _VECTOR = (tuple(kind.model_fields)[1:] for kind in (_AnswerLine, _VectorLine))


_WRONG_LINE = "not a line of an export of answers"


def export_answers(path: Path) -> Iterator[str]:
    """Yield every answer and vector as one line of JSON each, ordered by key: equal stores give equal lines.

    Raises:
        InputError: There is no store, or it is damaged.
        OutputError: It cannot be read now.
    """
    with opened_store(path) as connection:
        for kind, columns in (("answer", _ANSWER), ("vector", _VECTOR)):
            for row in connection.execute(f"SELECT {', '.join(columns)} FROM {kind}s ORDER BY key"):  # noqa: S608 - constants
                record = {"kind": kind, **dict(zip(columns, row, strict=True))}
                record["key"] = record["key"].hex()
                if kind == "answer":
                    record["reply"] = record["reply"].decode("utf-8", "surrogatepass")
                else:
                    record["vector"] = base64.b64encode(record["vector"]).decode("ascii")
                yield json.dumps(record)


def write_export(path: Path, out: Path) -> int:
    """Write the lines of a store to a file, which appears once it is complete; return the number of lines.

    Raises:
        UsageError: The output is the store itself, one of SQLite's files beside it, or not a file.
        InputError: There is no store, or it is damaged.
        OutputError: The file cannot be written.
    """
    if out.exists() and not out.is_file():
        raise UsageError(f"{out}: not a file: name a file to export to")
    target = out.resolve()
    draft = target.with_name(f".{target.name}.unfinished")
    store = path.resolve()
    for suffix in ("", "-wal", "-shm", "-journal"):
        kept = store.with_name(store.name + suffix)
        if any(_same(kept, one) for one in (target, draft)):
            raise UsageError(f"{out}: belongs to the store: name another file to export to")
    try:
        count = 0
        with draft.open("w", encoding="ascii", newline="\n") as file:
            for line in export_answers(path):
                file.write(line + "\n")
                count += 1
        draft.replace(target)
    except FileNotFoundError:
        raise OutputError(no_such_folder(out)) from None
    except OSError as error:
        raise OutputError(f"{out}: cannot be written ({error.strerror or type(error).__name__})") from None
    finally:
        if draft.is_file():
            draft.unlink()
    return count


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return one.resolve() == other.resolve()


def import_answers(path: Path, source: Path) -> int:
    """Add the answers of an exported file and return how many were new; stored answers stay as they are.

    Raises:
        InputError: A line is not one of ``export_answers``, or the store is damaged; nothing was added.
        OutputError: The store cannot be written now.
    """
    if not source.exists():
        raise InputError(source, f"file not found; give one that {shell_command('answers export')} wrote")
    if not path.exists():  # or a bad file would leave an empty store behind
        for _ in _records(source):
            pass
    with opened_store(path, create=True) as connection:  # closed before its COMMIT it keeps nothing
        connection.execute("BEGIN IMMEDIATE")
        added = sum(_add(connection, record) for record in _records(source))
        connection.execute("COMMIT")
    return added


def _records(source: Path) -> Iterator[_AnswerLine | _VectorLine]:
    number = 0
    try:
        with plain_file(source).open(encoding="utf-8") as lines:
            for line in lines:
                number += 1
                yield _record(line)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(source, f"cannot be read ({why})") from None
    except ValueError as error:
        raise InputError(source, str(error), line=number) from None


def _record(line: str) -> _AnswerLine | _VectorLine:
    """Return the record of a line; raises ``ValueError`` with what is wrong with it."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    kind = found.get("kind") if isinstance(found, dict) else None
    if kind not in ("answer", "vector"):
        raise ValueError(_WRONG_LINE)
    try:
        return _AnswerLine.model_validate(found) if kind == "answer" else _VectorLine.model_validate(found)
    except ValidationError as error:
        place = error.errors(include_url=False, include_context=False, include_input=False)[0]
    name = place["loc"][0] if place["loc"] and place["loc"][0] in (*_ANSWER, *_VECTOR) else "an unknown field"
    what = {"missing": "is missing", "extra_forbidden": "does not belong"}.get(place["type"], "holds a wrong value")
    raise ValueError(f"{_WRONG_LINE}: {name} {what}")


def _add(connection: sqlite3.Connection, record: _AnswerLine | _VectorLine) -> int:
    row: dict[str, Any] = record.model_dump()
    row["key"] = bytes.fromhex(record.key)
    if isinstance(record, _AnswerLine):
        table, columns = "answers", _ANSWER
        row["reply"] = record.reply.encode("utf-8", "surrogatepass")
    else:
        table, columns = "vectors", _VECTOR
        row["vector"] = base64.b64decode(record.vector)
    marks = ", ".join("?" * len(columns))
    insert = f"INSERT OR IGNORE INTO {table} VALUES ({marks})"  # noqa: S608 - constants
    return connection.execute(insert, [row[name] for name in columns]).rowcount
