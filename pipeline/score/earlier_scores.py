"""The scores of an earlier run, as a gate reads them from its baseline.

A baseline that stands as this project writes it is read without pydantic, whose import takes longer than a small gate.
Any other goes through the record, which reads other spellings and says what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldbench.pipeline.errors import Message, plain_file
from goldbench.pipeline.formats.faults import Fault, in_file
from goldbench.pipeline.formats.runs.scorecard_files import parsed

if TYPE_CHECKING:
    from goldbench.schemas.scorecard import Baseline

_MEMBERS: dict[str, type] = {
    "format": int,
    "goldbench": str,
    "gold": dict,
    "system": str,
    "query_ids": list,
    "query_sha256": list,
    "values": dict,
}
_HALVES = ("\\ud", "\\uD")
"""Begin the escape of one half of a character; as goldbench writes a file, no text needs one."""
_MOST = 1e12
"""Largest value of a measure that a baseline may hold; sums of larger ones lose the differences that a gate tests."""
_OF_GOLD = ("name", "sha256", "queries", "evidence_level", "content_sha256")


@dataclass(frozen=True, slots=True)
class EarlierGold:
    """The judgments that the earlier run was scored by, as in ``GoldReference``."""

    sha256: str
    queries: int
    content_sha256: str | None


@dataclass(frozen=True, slots=True)
class EarlierScores:
    """The values of an earlier run by measure, one per query; the members are those of ``Baseline``."""

    gold: EarlierGold
    query_ids: Sequence[str]
    query_sha256: Sequence[str]
    values: Mapping[str, Sequence[float]]


def read_baseline(path: Path) -> EarlierScores:
    """Return the scores in a baseline.

    Raises:
        InputError: The file is missing or cannot be read, or is not a baseline.
    """
    with in_file(path):
        block = plain_file(path).read_bytes()
        scores = _as_written(block) or _of_any(block)
        if any(abs(value) > _MOST for column in scores.values.values() for value in column):
            raise Fault(Message("is not a baseline: a value is beyond {:g}; write it again with {init=True}", _MOST))
        return scores


def _of_any(block: bytes) -> EarlierScores:
    from goldbench.schemas.scorecard import Baseline

    try:
        return _scores(parsed(block, Baseline))
    except Fault as fault:
        raise Fault(Message("{}; write it again with {init=True}", fault)) from None


def _scores(record: Baseline) -> EarlierScores:
    gold = record.gold
    measured = EarlierGold(gold.sha256, gold.queries, gold.content_sha256)
    return EarlierScores(measured, record.query_ids, record.query_sha256, record.values)


def _as_written(block: bytes) -> EarlierScores | None:
    """Return the scores of a baseline that stands as ``write_record`` writes it, or None."""
    try:
        text = block.decode()
        found: Any = None if any(half in text for half in _HALVES) else json.loads(text, object_pairs_hook=_members)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or {name: type(one) for name, one in found.items()} != _MEMBERS:
        return None
    gold, ids, digests, values = (found[name] for name in ("gold", "query_ids", "query_sha256", "values"))
    if not _is_gold(gold) or not _are_texts([*ids, *digests]) or not 0 < len(ids) == len(set(ids)):
        return None
    if not values or len(digests) not in {0, len(ids)} or not all(_is_column(one, len(ids)) for one in values.values()):
        return None
    measured = EarlierGold(gold["sha256"], gold["queries"], gold["content_sha256"])
    return EarlierScores(measured, ids, digests, values)


def _members(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name is given twice")
    return dict(pairs)


def _is_gold(gold: Mapping[str, object]) -> bool:
    texts = [one for name, one in gold.items() if name != "queries" and (one is not None or name in _OF_GOLD[:2])]
    queries = gold.get("queries")
    return tuple(gold) == _OF_GOLD and _are_texts(texts) and type(queries) is int and queries > 0


def _are_texts(found: Sequence[object]) -> bool:
    return all(type(one) is str for one in found)


def _is_column(column: object, size: int) -> bool:
    """Return whether a value is a list of as many finite numbers."""
    return (
        isinstance(column, list) and len(column) == size and all(type(one) is float and isfinite(one) for one in column)
    )
