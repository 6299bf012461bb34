"""What an exported set says of itself: who judged it, and what its readers must be warned of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldbench.formats.dataset_card import LEVELS
from goldbench.formats.interchange_names import EXPORT_ABOUT
from goldbench.formats.json_maps import read_json
from goldbench.formats.packed_files import Source
from goldbench.records.relevance import RELEVANT

_LONGEST = 2_000
"""Most characters of a warning; the rest is cut off."""


@dataclass(frozen=True, slots=True)
class About:
    """The level of evidence of a set, its warning, and its lowest relevant grade; None if it says nothing.

    A set without a grade below 2 that counts as relevant has grades of goldbench's scale, so that 2 stays 2.
    """

    level: str | None = None
    notice: str | None = None
    relevant_from: int | None = None

    @property
    def notes(self) -> dict[str, Any]:
        """The warning as metadata of a gold set."""
        return {"notice": self.notice} if self.notice else {}


def about_of(notes: object) -> About:
    """Return what the file of an export holds."""
    if not isinstance(notes, Mapping):
        return About()
    level, notice, lowest = (notes.get(name) for name in ("evidence_level", "notice", "relevant_from"))
    return About(
        level=level if isinstance(level, str) and level in LEVELS else None,
        notice=notice[:_LONGEST] if isinstance(notice, str) else None,
        relevant_from=_lowest(lowest, notes.get("grades")) if isinstance(lowest, int) and lowest > 0 else None,
    )


def _lowest(stated: int, grades: object) -> int:
    """Return the lowest relevant grade; see `About`."""
    if not isinstance(grades, Mapping) or any(str(grade) in grades for grade in range(stated, RELEVANT)):
        return stated
    return max(stated, RELEVANT)


def about_export(path: Path) -> About:
    """Return what an exported folder, or the folder of an exported file, says of the set.

    Raises:
        InputError: It says it in JSON that is not valid.
    """
    file = (path if path.is_dir() else path.parent) / EXPORT_ABOUT
    return about_of(read_json(Source(file))) if file.is_file() else About()
