"""JSON of which every member counts: a name given twice, NaN or Infinity is refused, not settled silently."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn, cast

from pipeline.errors import InputError
from pipeline.formats.runs.packed_files import Source
from pipeline.formats.runs.trec import not_utf8, without_mark

if TYPE_CHECKING:
    from io import RawIOBase


def read_json(source: Source) -> Any:  # noqa: ANN401  what the file holds
    """Return what a JSON file holds.

    Raises:
        InputError: it is no JSON, says NaN or Infinity, or an object names a member twice.
    """
    return parse_json(without_mark(source.read(), source.name), source.name)


def parse_json(block: bytes, name: str, *, line: int | None = None) -> Any:  # noqa: ANN401  what it holds
    """Return what a piece of JSON holds.

    Args:
        block: UTF-8.
        name: the file, for messages.
        line: where it stands, if it is one line of many.

    Raises:
        InputError: as ``read_json``.
    """

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = next(member for member, count in Counter(member for member, _ in pairs).items() if count > 1)
            raise InputError(name, f"an object names {twice[:80]!r} twice; keep one of the two", line=line)
        return found

    def constant(text: str) -> NoReturn:
        raise InputError(name, f"holds {text}, no finite number", line=line)

    try:
        text = block.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(name, line or block[: error.start].count(b"\n") + 1) from None
    try:
        return json.loads(text, object_pairs_hook=members, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise InputError(
            name, f"is no JSON: {error.msg.lower()} at column {error.colno}", line=line or error.lineno
        ) from None
    except (RecursionError, ValueError):
        raise InputError(name, "is JSON nested or numbers written beyond all measure", line=line) from None


def read_objects(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSON Lines file with their line numbers; blank lines are skipped.

    Raises:
        InputError: A line is not a JSON object.
    """
    # A plain file comes without a buffer, and lines would be read byte by byte.
    with source.open() as file, io.BufferedReader(cast("RawIOBase", file)) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                raise InputError(source.name, "not valid JSON", line=number) from None
            if not isinstance(record, dict):
                raise InputError(source.name, "not a JSON object", line=number)
            yield number, record
