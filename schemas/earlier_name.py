"""The name that this project had before it was called goldbench; files and ledgers from then stay readable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EARLIER_NAME = "goldset"
"""Key of the version in records, of fields in exported tasks and of fingerprints, prefix of the tables of ledgers."""


def by_either_name(fields: Mapping[str, Any]) -> Any:  # noqa: ANN401  whatever a foreign file holds there
    """Return the field called goldbench, the field of the earlier name if there is none, or None."""
    return fields.get("goldbench", fields.get(EARLIER_NAME))


def with_present_name(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields in their order, the one of the earlier name called goldbench unless there is one already."""
    old = EARLIER_NAME if "goldbench" not in fields else None
    return {("goldbench" if name == old else name): value for name, value in fields.items()}
