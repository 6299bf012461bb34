"""The name that this project had before it was called goldbench; files and ledgers from then stay readable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import model_validator

from goldbench.schemas.record import Record

EARLIER_NAME = "goldset"
"""Key of the version in records, of fields in exported tasks, and prefix of the tables of every ledger."""


def by_either_name(fields: Mapping[str, Any]) -> Any:  # noqa: ANN401  whatever a foreign file holds there
    """Return the field called goldbench, the field of the earlier name if there is none, or None."""
    return fields.get("goldbench", fields.get(EARLIER_NAME))


class VersionedRecord(Record):
    """A record that names the version which wrote it as ``goldbench``; the earlier name is read, too."""

    @model_validator(mode="before")
    @classmethod
    def _read_earlier_name(cls, found: Any) -> Any:  # noqa: ANN401  before validation
        if isinstance(found, dict) and EARLIER_NAME in found and "goldbench" not in found:
            return {("goldbench" if name == EARLIER_NAME else name): value for name, value in found.items()}
        return found
