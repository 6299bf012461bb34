"""Make the card of a gold set with its verdict, and write it into the folder."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from goldbench import __version__
from goldbench.card.baselines import Baselines, run_baselines
from goldbench.card.described_set import DescribedSet, read_described
from goldbench.card.figures import writable
from goldbench.card.label_figures import JUDGE, judge_figures, label_figures
from goldbench.card.query_figures import query_figures
from goldbench.card.ranking_figures import FEWEST, POWER, SIZE, ranking_figures
from goldbench.errors import GoldbenchError, InputError, OutputError, explained
from goldbench.formats.jsonl import write_texts
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.gold_path import notice_of
from goldbench.measures.evaluation import results_of
from goldbench.measures.names import parse_measure
from goldbench.records.calibrated import CorrectedRanking
from goldbench.records.set_card import Card, Figure, FigureState
from goldbench.records.set_verdict import SetVerdict
from goldbench.report.card_text import markdown
from goldbench.score.runs import Gold, load_run, score_results
from goldbench.score.set_makers import Makers, makers_of
from goldbench.score.verdict import Case, verdict_on
from goldbench.text.display import queries as query_count


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
    figures = [
        *query_figures(material, seed=seed),
        *label_figures(material, baselines),
        *judge_figures(material),
        *ranking_figures(material, baselines, seed=seed),
    ]
    if len(material.queries) < FEWEST:
        figures = [_without_verdict(figure, len(material.queries)) for figure in figures]
    notice = notice_of(folder)
    level = material.level_of_evidence
    content = material.metadata.get("content_sha256")
    return Card(
        goldbench=__version__,
        verdict=verdict_of(folder, material, baselines),
        name=writable(material.name),
        judgments_sha256=material.fingerprint,
        content_sha256=content if isinstance(content, str) else None,
        evidence_level=None if level is None else writable(level),
        notice=None if notice is None else writable(notice),
        queries=len(material.queries),
        passages=len(material.corpus),
        graded=material.graded,
        baselines=baselines.names,
        seed=seed,
        figures=figures,
    )


def _without_verdict(figure: Figure, count: int) -> Figure:
    """Return a figure without its verdict: shares of very few queries tell nothing about the set."""
    if (
        figure.section == JUDGE
        or figure.name in {SIZE, POWER}
        or figure.state not in {FigureState.OK, FigureState.WARN}
    ):
        return figure
    meaning = f"{figure.meaning} The set has {query_count(count)}, too few for a verdict."
    return figure.model_copy(update={"state": FigureState.INFO, "threshold": None, "meaning": meaning})


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
        start = path.read_bytes()[:100] if path.is_file() else b""
    if not start.startswith(beginning):
        raise OutputError(f"{path}: not a card that goldbench wrote; move it away")


MEASURE = "ndcg@10"
_OURS = "the {n} built-in baselines, not your systems,"
_YOURS = "the {n} runs in its folder"


def verdict_of(folder: Path, material: DescribedSet, baselines: Baselines) -> SetVerdict | None:
    """Return what the set is good for; None if no system could be run.

    Args:
        folder: The folder of the set.
        material: The gold set.
        baselines: What the baselines found.
    """
    gold = Gold(folder, material.qrels, material.level)
    makers = makers_of(gold)
    runs = {name: ranked for name, ranked in material.runs.items() if not material.qrels.keys().isdisjoint(ranked)}
    if not runs and not baselines.names:
        return None
    scored = gold if runs else replace(gold, qrels={query_id: gold.qrels[query_id] for query_id in baselines.query_ids})
    results = {
        name: score_results(scored, results_of(ranked), [parse_measure(MEASURE)], name=name)
        for name, ranked in (runs or baselines.ranked).items()
    }
    ranking, unread = _ranking(gold, makers, list(runs))
    case = Case(
        MEASURE,
        makers,
        results,
        systems=_YOURS if runs else _OURS,
        ranking=ranking,
        has_runs=bool(runs),
        unread=unread,
        counted=len(runs) > 1,
    )
    verdict = verdict_on(case)
    improvements = tuple(map(writable, verdict.improvements))
    return replace(verdict, sentence=writable(verdict.sentence), improvements=improvements)


def _ranking(gold: Gold, makers: Makers, names: Sequence[str]) -> tuple[CorrectedRanking | None, str]:
    """Return what people's complete judgments tell of the order of the runs, if a model judged; None if nothing.

    Beside it stands why these judgments could not be read, nothing if they could.
    """
    if not makers.reviewed or makers.basis.judged_by != "model" or len(names) < 2:
        return None, ""
    from goldbench.review.corrected_scores import ScoreSettings, calibrate

    runs = {name: path for name, path in GoldFolder(gold.path).named_runs().items() if name in names}
    try:
        loaded = {name: load_run(path) for name, path in runs.items()}
        calibrated = calibrate(gold, loaded, [parse_measure(MEASURE)], ledger=None, settings=ScoreSettings())
    except GoldbenchError as error:
        return None, str(error)
    return calibrated.ranking.get(MEASURE), ""
