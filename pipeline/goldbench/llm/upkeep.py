"""What an answer store holds; throwing answers away, exporting them as lines of JSON, and importing them."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, InstanceOf, TypeAdapter

from goldbench.errors import InputError, Message, UsageError, explained, plain_file
from goldbench.llm.store import KEPT_REJECTIONS, forget_answered, opened_store
from goldbench.text.display import shell_command

_MOST_TOKENS = 2**53
"""The limit of a token count; JSON numbers beyond it are not exact everywhere."""


@dataclass(frozen=True, slots=True)
class Holding:
    """The answers of one kind. ``outcome`` is ``answer`` or the kind of rejection; ``usd`` is None where unknown."""

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
    """What a store holds: answers by kind, vectors by model, and its size in bytes."""

    holdings: tuple[Holding, ...]
    vectors: dict[str, int]
    bytes: int


def stats(path: Path) -> StoreReport:
    """Return what the store holds.

    Raises:
        InputError: There is no store, or it is damaged.
        OutputError: It cannot be read now.
    """
    # ``total``, because a server may have given counts whose ``sum`` overflows.
    select = (
        "SELECT stage, prompt, model, outcome, count(*), total(input_tokens), total(output_tokens), "
        "CASE WHEN count(usd) = count(*) THEN sum(usd) END "
        "FROM answers GROUP BY stage, prompt, model, outcome ORDER BY stage, prompt, model, outcome"
    )
    with opened_store(path) as connection:
        rows = connection.execute(select).fetchall()
        vectors = connection.execute("SELECT model, count(*) FROM vectors GROUP BY model ORDER BY model").fetchall()
        holdings = tuple(
            Holding(stage, prompt, model, outcome, count, int(read), int(written), usd)
            for stage, prompt, model, outcome, count, read, written, usd in rows
        )
    return StoreReport(holdings, dict(vectors), path.stat().st_size)


def prune(
    path: Path, *, stage: str | None = None, prompt: str | None = None, model: str | None = None, rejected: bool = False
) -> int:
    """Throw away the answers that fit every condition and return how many there were.

    Vectors have a model only; a condition on anything else leaves them alone.

    Args:
        path: The store.
        stage: Only answers of this stage.
        prompt: Only answers to this prompt file and version.
        model: Only answers of this model.
        rejected: Only replies that could not be used, so that they are asked for again.

    Raises:
        UsageError: No condition is given.
        InputError: There is no store, or it is damaged.
        OutputError: It cannot be written now.
    """
    equal = {name: value for name, value in (("stage", stage), ("prompt", prompt), ("model", model)) if value}
    conditions = [f"{name} = :{name}" for name in equal] + (["outcome <> 'answer'"] if rejected else [])
    if not conditions:
        options = Message("{stage=}, {prompt=}, {model=} or {rejected=True}")
        raise UsageError(Message("prune needs a condition: give {}, or delete the file", options))
    with opened_store(path) as connection:
        forget_answered(connection)  # or a batch would give a pruned answer once more
        count = connection.execute(f"DELETE FROM answers WHERE {' AND '.join(conditions)}", equal).rowcount  # noqa: S608 - the conditions are the constants above
        if not (stage or prompt or rejected):
            count += connection.execute("DELETE FROM vectors WHERE model = :model", equal).rowcount
        connection.execute("VACUUM")
    return count


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


class _AnswerLine(BaseModel):
    """An answer; the fields are the columns of its table, in their order."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

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


class _VectorLine(BaseModel):
    """A vector; the fields are the columns of its table, in their order."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    kind: Literal["vector"]
    key: _Key
    model: str
    vector: Annotated[str, AfterValidator(_vector)]
    created: _Moment


_LINE: TypeAdapter[_AnswerLine | _VectorLine] = TypeAdapter(
    Annotated[_AnswerLine | _VectorLine, Field(discriminator="kind")]
)


def export_answers(path: Path) -> Iterator[str]:
    """Yield every answer and vector as one line of JSON each, ordered by key: equal stores give equal lines.

    Raises:
        InputError: There is no store, or it is damaged.
        OutputError: It cannot be read now.
    """
    with opened_store(path) as connection:
        for kind, line in (("answer", _AnswerLine), ("vector", _VectorLine)):
            _, *columns = line.model_fields
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
        UsageError: The output is the store itself, or not a file.
        InputError: There is no store, or it is damaged.
        OutputError: The file cannot be written.
    """
    if out.exists() and not out.is_file():
        raise UsageError(f"{out}: not a file: name a file to export to")
    store, target = path.resolve(), out.resolve()
    is_other_name = store.exists() and target.exists() and target.samefile(store)
    if is_other_name or target in {store.with_name(store.name + suffix) for suffix in ("-wal", "-shm")}:
        raise UsageError(f"{out}: belongs to the store: name another file to export to")
    draft = target.with_name(f".{target.name}.unfinished")
    count = 0
    with explained(out):
        try:
            with draft.open("w", encoding="ascii", newline="\n") as file:
                for line in export_answers(path):
                    file.write(line + "\n")
                    count += 1
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    return count


def import_answers(path: Path, source: Path) -> int:
    """Add the answers of an exported file and return how many were new; stored answers stay as they are.

    Raises:
        InputError: A line is not one of ``export_answers``, or the store is damaged; nothing was added.
        OutputError: The store cannot be written now.
    """
    if not source.exists():
        raise InputError(source, f"file not found; give one that {shell_command('answers export')} wrote")
    if not path.exists():  # or a bad file would leave an empty store behind
        for _ in _lines(source):
            pass
    with opened_store(path, create=True) as connection:  # closed before its COMMIT it keeps nothing
        connection.execute("BEGIN IMMEDIATE")
        added = sum(_add(connection, line) for line in _lines(source))
        connection.execute("COMMIT")
    return added


def _lines(source: Path) -> Iterator[_AnswerLine | _VectorLine]:
    number = 0
    try:
        with plain_file(source).open(encoding="utf-8") as file:
            for text in file:
                number += 1
                yield _LINE.validate_python(json.loads(text))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(source, f"cannot be read ({reason})") from None
    except (ValueError, RecursionError):  # of JSON and of pydantic
        raise InputError(source, "not a line of an export of answers", line=number) from None


def _add(connection: sqlite3.Connection, line: _AnswerLine | _VectorLine) -> int:
    row: dict[str, Any] = line.model_dump(exclude={"kind"})
    row["key"] = bytes.fromhex(line.key)
    if isinstance(line, _AnswerLine):
        row["reply"] = line.reply.encode("utf-8", "surrogatepass")
    else:
        row["vector"] = base64.b64decode(line.vector)
    insert = f"INSERT OR IGNORE INTO {line.kind}s VALUES ({', '.join(f':{name}' for name in row)})"  # noqa: S608 - constants
    return connection.execute(insert, row).rowcount
