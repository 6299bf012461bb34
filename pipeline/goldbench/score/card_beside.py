"""What the card beside a gold set found against it; reads without pydantic, which `score` never loads."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from goldbench.errors import InputError
from goldbench.formats.json_maps import read_json
from goldbench.formats.packed_files import Source
from goldbench.goldset.file_names import CARD_JSON, DATASET
from goldbench.goldset.gold_path import folder_of
from goldbench.text.display import shell_command, shown

if TYPE_CHECKING:
    from pathlib import Path

    from goldbench.score.runs import Gold

SOURCES, PROVENANCE = "agreement of query sources", "provenance"
"""The figure by which a card can refuse a set, and the one that tells which set the card was made for."""

JUDGMENTS, CONTENT = "judgments sha256", "content sha256"
"""The values of `PROVENANCE` that identify the judgments, and the content of their set."""

_DAMAGED = f"{CARD_JSON} cannot be read"
_OTHER_STATE = f"{CARD_JSON} was made for another state of this set"


@dataclass(frozen=True, slots=True)
class CardFinding:
    """What a card found against a set.

    ``agreement`` is that of query sources if the card refuses the set by it, else None. ``doubt`` says why a card could
    not be used, empty if there is none or it was used.
    """

    agreement: float | None = None
    doubt: str = ""


def finding_of(gold: Gold) -> CardFinding:
    """Return what the card in the set's folder found against the set, if the set has not changed since.

    The judgments are hashed only if the card refuses a set, so that a card without such a finding costs its reading.

    Args:
        gold: The judgments.
    """
    folder = None if gold.in_memory else folder_of(gold.path)
    if folder is None or not (folder / CARD_JSON).is_file():
        return CardFinding()
    try:
        agreement, values = _read(folder / CARD_JSON)
    except (InputError, ValueError):
        return CardFinding(doubt=_again(_DAMAGED, folder))
    if agreement is None or is_of(values, gold):
        return CardFinding(agreement)
    of_the_set = gold.path.is_dir() or gold.path.name == DATASET  # other judgments in its folder can be others
    return CardFinding(doubt=of_another_state(folder) if of_the_set else "")


def refusal(figures: Iterable[tuple[object, object, object]]) -> float | None:
    """Return the agreement of query sources if a card refuses the set by it, else None.

    Args:
        figures: Name, state and value of each figure.

    Raises:
        ValueError: The agreement is not a number from -1 to 1.
    """
    value = next((value for name, state, value in figures if (name, state) == (SOURCES, "fail")), None)
    if value is None:
        return None
    if not isinstance(value, int | float) or not -1 <= value <= 1:
        raise ValueError("not an agreement")
    return float(value)


def is_of(values: Mapping[str, object], gold: Gold) -> bool:
    """Return whether a card was made for these judgments, and for their set as it is now.

    Args:
        values: The values of the card's figure `PROVENANCE`; those of judgments alone have no `CONTENT`.
        gold: The judgments.
    """
    return values.get(CONTENT) in {None, gold.content_sha256()} and values.get(JUDGMENTS) == gold.fingerprint()


def of_another_state(folder: Path) -> str:
    """Return the line on a card that `is_of` does not take, without a full stop.

    Args:
        folder: The folder of the set.
    """
    return _again(_OTHER_STATE, folder)


def _again(problem: str, folder: Path) -> str:
    return f"{problem}; make it again: {shell_command('card', shlex.quote(shown(folder)))}"


def _read(path: Path) -> tuple[float | None, Mapping[str, object]]:
    """Return the refusal of a card, and the values of its provenance.

    Raises:
        InputError: The file is not JSON.
        ValueError: It is not a card.
    """
    card = read_json(Source(path))
    figures = card.get("figures") if isinstance(card, dict) else None
    if not isinstance(figures, list) or not all(isinstance(one, dict) for one in figures):
        raise ValueError("not a card")
    values = next((one.get("values") for one in figures if one.get("name") == PROVENANCE), None)
    agreement = refusal((one.get("name"), one.get("state"), one.get("value")) for one in figures)
    return agreement, values if isinstance(values, dict) else {}
