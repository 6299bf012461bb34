"""Make the card of a gold set, and write it into the folder."""

from __future__ import annotations

import warnings
from pathlib import Path

from goldbench import __version__
from goldbench.card.baselines import run_baselines
from goldbench.card.described_set import read_described
from goldbench.card.figures import writable
from goldbench.card.fitness_of_set import verdict_of
from goldbench.card.judge_trust import JUDGE
from goldbench.card.labels import label_figures
from goldbench.card.naturalness import natural_order
from goldbench.card.origin import CIRCULARITY, making_figures, origin_figures
from goldbench.card.queries import asking_figures, overlaps
from goldbench.card.real_queries import worth_figure
from goldbench.card.stability import FEWEST, POWER, STABILITY, ordering_figures
from goldbench.card.validity import validity_figures
from goldbench.errors import InputError, OutputError, explained
from goldbench.formats.jsonl import write_texts
from goldbench.goldset.folder import GoldFolder
from goldbench.records.set_card import Card, Figure, State
from goldbench.report.card_text import markdown
from goldbench.score.card_beside import PROVENANCE
from goldbench.text.display import queries as count_of

_WHATEVER_THE_NUMBER = frozenset({POWER, JUDGE, CIRCULARITY, PROVENANCE})


def make_card(folder: Path, *, seed: int = 0) -> Card:
    """Return the card of a gold set.

    Args:
        folder: A build, graded or not, an import, a BEIR folder, or a folder with ``dataset.json``.
        seed: The seed of every draw; the same seed gives the same card.

    Raises:
        InputError: There is no gold set, it has no texts, or one of its files is damaged.
    """
    material = read_described(folder)
    if not any(material.relevant(query_id) for query_id in material.queries):
        raise InputError(folder, "no query has a relevant passage, so a card has nothing to show; check the judgments")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of libraries, on degenerate corpora; figures are checked
        baselines = run_baselines(material)
    shares = overlaps(material)
    notice, level = material.metadata.get("notice"), material.level_of_evidence
    figures = [
        *making_figures(material),
        *asking_figures(material, shares),
        natural_order(material, seed=seed),
        *label_figures(material, baselines),
        *ordering_figures(material, baselines, shares, seed=seed),
        worth_figure(material, baselines, STABILITY, seed=seed),
        *validity_figures(material, baselines, seed=seed),
        *origin_figures(material),
    ]
    if len(material.queries) < FEWEST:
        figures = [_of_few(one, len(material.queries)) for one in figures]
    return Card(
        goldbench=__version__,
        verdict=verdict_of(folder, material, baselines, figures),
        name=writable(material.name),
        evidence_level=None if level is None else writable(level),
        notice=writable(notice) if isinstance(notice, str) else None,
        queries=len(material.queries),
        passages=len(material.corpus),
        graded=material.graded,
        baselines=baselines.names,
        seed=seed,
        figures=figures,
    )


def _of_few(one: Figure, count: int) -> Figure:
    """Return a figure without its verdict: shares of very few queries tell nothing about the set."""
    if one.section in _WHATEVER_THE_NUMBER or one.state not in {State.OK, State.WARN}:
        return one
    meaning = f"{one.meaning} The set has {count_of(count)}, too few for a verdict."
    return one.model_copy(update={"state": State.INFO, "threshold": None, "meaning": meaning})


def write_card(folder: Path, card: Card) -> tuple[Path, Path]:
    """Write ``card.json`` and ``card.md`` into the folder, each whole or not at all, and return their paths.

    Raises:
        OutputError: The folder cannot be written, or holds a file of that name that is not a card.
    """
    home = GoldFolder(folder)
    _check_replaceable(home.card_json, b'{\n "format": 1,\n "goldbench": ')
    _check_replaceable(home.card_markdown, b"# Card of ")
    with explained(folder):
        write_texts(home.card_json, card.model_dump_json(indent=1).split("\n"))
        write_texts(home.card_markdown, markdown(card).removesuffix("\n").split("\n"))
    return home.card_json, home.card_markdown


def _check_replaceable(path: Path, beginning: bytes) -> None:
    if not path.exists():
        return
    with explained(path):
        found = path.read_bytes()[:100] if path.is_file() else b""
    if not found.startswith(beginning):
        raise OutputError(f"{path}: not a card that goldbench wrote; move it away")
