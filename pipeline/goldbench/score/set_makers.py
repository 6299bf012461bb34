"""Who made a gold set, how far it is judged, and the card beside it, as its files tell."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldbench.errors import InputError
from goldbench.formats.lines import json_objects
from goldbench.formats.packed_files import Source
from goldbench.formats.runs.scorecard_files import read_record
from goldbench.goldset.file_names import CARD_JSON, DATASET, LEDGER, OWN, QUERIES, TEMPORARY, USERS
from goldbench.goldset.gold_path import folder_of, metadata_of
from goldbench.measures.statistics.fitness import Basis
from goldbench.records.set_card import Card
from goldbench.score.runs import Gold
from goldbench.text.display import shell_command, shown

_JUDGES = {"human": "people", "users": "people", "model": "model", "smoke": "source"}
"""Who judged an imported set, by its level of evidence."""


@dataclass(frozen=True, slots=True)
class Makers:
    """Who made a set and what can be done about it.

    ``place`` is the set's folder as a shell takes it, None if the judgments lie in no set. ``per_query`` is the mean
    number of judged passages of a query. ``reviewed`` says that people's judgments lie in the set's ledger.
    """

    basis: Basis = Basis()  # noqa: RUF009  frozen
    place: str | None = None
    per_query: float = 1.0
    reviewed: bool = False
    by_people: int = 0
    temporary: bool = False


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
        place=None if folder is None else shlex.quote(shown(folder)),
        per_query=sum(map(len, grades)) / max(1, len(gold.qrels)),
        reviewed=folder is not None and (folder / LEDGER).is_file(),
        by_people=0 if folder is None else _by_people(folder, gold),
        temporary=folder is not None and _is_temporary(folder),
    )


def _is_temporary(folder: Path) -> bool:
    """Return whether a folder was made for a set whose caller in Python named none."""
    above = folder.resolve().parent
    if not above.name.startswith(TEMPORARY):
        return False
    return above.parent == Path(tempfile.gettempdir()).resolve()


def _by_people(folder: Path, gold: Gold) -> int:
    """Return how many judged queries people or users wrote: they were added, or come from a log."""
    path = folder / QUERIES
    rows = json_objects(Source(path)) if path.is_file() else ()
    return sum(row.get("generator") in {OWN, USERS} and row.get("query_id") in gold.qrels for _, row in rows)


def _judges(metadata: Mapping[str, Any]) -> str | None:
    """Return who judged a set, by its metadata; None if they do not tell."""
    level = metadata.get("evidence_level")
    if "grading" in metadata:
        return "model"
    if not isinstance(level, str):
        return None
    written_here = "seed" in metadata and level in {"model", "smoke"}
    return "source" if written_here else _JUDGES.get(level)


def read_card(gold: Gold) -> tuple[Card | None, str]:
    """Return the card in the set's folder, None if none can be read, and why it does not count, empty if it does."""
    folder = None if gold.in_memory else folder_of(gold.path)
    if folder is None or not (folder / CARD_JSON).is_file():
        return None, ""
    again = f"make it again: {shell_command('card', shlex.quote(shown(folder)))}"
    try:
        card = read_record(folder / CARD_JSON, Card)
    except InputError:
        return None, f"{CARD_JSON} cannot be read; {again}"
    if card.content_sha256 in {None, gold.content_sha256()} and card.judgments_sha256 == gold.fingerprint():
        return card, ""
    if not (gold.path.is_dir() or gold.path.name == DATASET):
        return None, ""  # other judgments in the folder of a set, whose card may well be right
    return card, f"{CARD_JSON} was made for another state of this set; {again}"
