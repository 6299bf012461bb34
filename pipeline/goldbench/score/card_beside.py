"""The card beside a gold set, as far as it was made for the set as it is."""

from __future__ import annotations

import shlex

from goldbench.errors import InputError
from goldbench.formats.runs.scorecard_files import read_record
from goldbench.goldset.file_names import CARD_JSON, DATASET
from goldbench.goldset.gold_path import folder_of
from goldbench.records.set_card import Card
from goldbench.score.runs import Gold
from goldbench.text.display import shell_command, shown


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
