"""JSON of which every member counts: a name given twice, NaN or Infinity is refused, not settled silently."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NoReturn

from pipeline.errors import InputError
from pipeline.formats.scoring_files import Source
from pipeline.formats.trec import not_utf8, without_mark


def read_json(source: Source) -> Any:  # noqa: ANN401  what the file holds
    """Return what a JSON file holds.

    Raises:
        InputError: it is no JSON, says NaN or Infinity, or an object names a member twice.
    """

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
            raise InputError(source.name, f"an object names {twice[:80]!r} twice; keep one of the two")
        return found

    def constant(text: str) -> NoReturn:
        raise InputError(source.name, f"holds {text}, no finite number")

    block = without_mark(source.read(), source.name)
    try:
        text = block.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(source.name, block[: error.start].count(b"\n") + 1) from None
    try:
        return json.loads(text, object_pairs_hook=members, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise InputError(
            source.name, f"is no JSON: {error.msg.lower()} at column {error.colno}", line=error.lineno
        ) from None
    except (RecursionError, ValueError):
        raise InputError(source.name, "is JSON nested or numbers written beyond all measure") from None
