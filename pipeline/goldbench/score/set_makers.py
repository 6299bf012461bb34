"""Who made a gold set, and how far it is judged, as its files tell."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldbench.goldset.file_names import LEDGER, TEMPORARY
from goldbench.goldset.gold_path import folder_of, metadata_of
from goldbench.measures.statistics.fitness import Basis
from goldbench.score.runs import Gold
from goldbench.text.display import shown

_JUDGES = {"human": "people", "users": "people", "model": "model", "smoke": "source"}
"""Who judged an imported set, by its level of evidence."""


@dataclass(frozen=True, slots=True)
class Makers:
    """Who made a set and what can be done about it.

    ``place`` is the set's folder as a shell takes it, None if the judgments lie in no set or in a temporary folder.
    ``per_query`` is the mean number of judged passages of a query. ``reviewed`` says that people's judgments lie in the
    set's ledger.
    """

    basis: Basis = Basis()  # noqa: RUF009  frozen
    place: str | None = None
    per_query: float = 1.0
    reviewed: bool = False


def makers_of(gold: Gold) -> Makers:
    """Return who made a set."""
    metadata = {} if gold.in_memory else metadata_of(gold.path)
    folder = folder_of(gold.path) if metadata else None
    level = metadata.get("evidence_level")
    grades = gold.qrels.values()
    basis = Basis(
        written_by=level if isinstance(level, str) else None,
        judged_by=_judges(metadata),
        lists_others=any(grade < gold.level for judged in grades for grade in judged.values()),
    )
    return Makers(
        basis=basis,
        place=None if folder is None or _is_temporary(folder) else shlex.quote(shown(folder)),
        per_query=sum(map(len, grades)) / max(1, len(gold.qrels)),
        reviewed=folder is not None and (folder / LEDGER).is_file(),
    )


def _is_temporary(folder: Path) -> bool:
    """Return whether a folder was made for a set whose caller in Python named none."""
    above = folder.resolve().parent
    if not above.name.startswith(TEMPORARY):
        return False
    return above.parent == Path(tempfile.gettempdir()).resolve()


def _judges(metadata: Mapping[str, Any]) -> str | None:
    """Return who judged a set, by its metadata; None if they do not tell."""
    level = metadata.get("evidence_level")
    if "grading" in metadata:
        return "model"
    if not isinstance(level, str):
        return None
    written_here = "seed" in metadata and level in {"model", "smoke"}
    return "source" if written_here else _JUDGES.get(level)
