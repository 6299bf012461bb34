"""Strict JSON, in which a name given twice, NaN or Infinity is an error; and JSON maps from queries to rewrites."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

from goldbench.formats.faults import Fault, in_file
from goldbench.formats.packed_files import Source, decoded
from goldbench.text.display import shown


def read_json(source: Source) -> Any:  # noqa: ANN401  what the file holds
    """Return the value in a JSON file.

    Raises:
        InputError: The file is not valid JSON, holds NaN or Infinity, or an object names a member twice.
    """
    with in_file(source.name):
        return parse_json(source.read())


def parse_json(block: bytes) -> Any:  # noqa: ANN401  what it holds
    """Return the value in UTF-8 bytes of JSON.

    Raises:
        Fault: As the error of ``read_json``.
    """

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members_by_name = dict(pairs)
        if len(members_by_name) < len(pairs):
            twice = next(member for member, count in Counter(member for member, _ in pairs).items() if count > 1)
            raise Fault(f"an object names {twice[:80]!r} twice; keep one of the two")
        return members_by_name

    def constant(text: str) -> NoReturn:
        raise Fault(f"holds {text}, which is not a finite number")

    text = decoded(block)
    try:
        return json.loads(text, object_pairs_hook=members, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise Fault(
            f"is not valid JSON: {error.msg.lower().removesuffix(' at')} at column {error.colno}", line=error.lineno
        ) from None
    except (RecursionError, ValueError):
        raise Fault("is JSON with too many levels or too long a number") from None


def read_rewrites(path: Path) -> dict[str, list[str]]:
    """Return rewritten queries made elsewhere, by the text or the id of their query: ``{query: [rewrites]}``.

    Raises:
        InputError: The file is missing or not valid JSON, names a query twice, or a query has no list of texts.
    """
    source = Source(path)
    content = read_json(source)
    with in_file(source.name):
        if not isinstance(content, dict) or not content:
            raise Fault("holds no object of the form {query: [rewrites]}")
        for query, rewrites in content.items():
            if not isinstance(rewrites, list) or not rewrites:
                raise Fault(f"has no list of rewrites for {shown(query[:80])!r}")
            if not all(isinstance(text, str) and text.strip() for text in rewrites):
                raise Fault(f"has a rewrite that is empty or not text for {shown(query[:80])!r}")
        return content
