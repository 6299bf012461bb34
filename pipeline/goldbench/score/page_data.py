"""Write the page of a scorecard, with what it shows of the judgments and the runs, and ``scorecard.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from goldbench.errors import InputError
from goldbench.formats.runs.scorecard_files import read_record, scorecard_beside, write_record, write_whole
from goldbench.goldset.file_names import DATASET
from goldbench.goldset.folder import GoldFolder
from goldbench.measures.names import Measure, parse_measure
from goldbench.measures.result import Result
from goldbench.measures.statistics.comparison import aligned
from goldbench.measures.statistics.intervals import bootstrap_intervals
from goldbench.measures.statistics.slices import slicings
from goldbench.records.agreement_report import Agreement
from goldbench.records.record import Record
from goldbench.records.scorecard import Method, Scorecard
from goldbench.records.set_card import Card
from goldbench.report.charts import Points, address
from goldbench.report.scorecard_page import Details, page
from goldbench.report.special_text import tables, unanswerable_lines
from goldbench.report.trust import Trust
from goldbench.score.card_beside import PROVENANCE, is_of, of_another_state
from goldbench.score.queries_behind import Sources, behind_of, first_relevant_measure, with_source
from goldbench.score.runs import Gold, Match, Run, top_documents
from goldbench.score.scorecards import card_of, notice_of
from goldbench.score.several_runs import score_all
from goldbench.score.special_queries import special_of

R = TypeVar("R", bound=Record)

FAMILIES = ("hit", "r", "ndcg", "judged")
CUTOFFS = (1, 2, 3, 5, 10, 20, 50, 100)
RESAMPLES = 1000
"""Number of resamples for bands and parts; the leaderboard's intervals use the method's number."""


def write_report(
    path: Path, gold: Gold, runs: Mapping[str, Run], measures: Sequence[Measure], *, match: Match, method: Method
) -> list[Path]:
    """Write the page and the ``scorecard.json`` beside it, and return both paths.

    Args:
        path: File of the page.
        gold: The judgments.
        runs: The runs by name.
        measures: The measures to show; the first one ranks, ``judged`` is shown beside the others.
        match: How retrieved passages are matched with the judgments.
        method: How intervals and tests are computed.

    Raises:
        InputError: A run cannot be used.
        MissingExtra: A package that draws or fills pages is not installed.
        OutputError: A file cannot be written.
    """
    text, card = scored_page(gold, runs, measures, match=match, method=method)
    beside = scorecard_beside(path)
    write_whole(path, text.encode())
    write_record(beside, card)
    return [path, beside]


def scored_page(
    gold: Gold, runs: Mapping[str, Run], measures: Sequence[Measure], *, match: Match, method: Method
) -> tuple[str, Scorecard]:
    """Return the page and the scorecard that it shows.

    Args:
        gold: As in `write_report`.
        runs: As in `write_report`.
        measures: As in `write_report`.
        match: As in `write_report`.
        method: As in `write_report`.

    Raises:
        InputError: A run cannot be used.
    """
    shown = [measure for measure in measures if measure.family != "judged"] or [parse_measure("ndcg@10")]
    judged = parse_measure(f"judged@{next((measure.k for measure in shown if measure.k), 10)}")
    curves = [parse_measure(f"{family}@{k}", rel=gold.level) for family in FAMILIES for k in CUTOFFS]
    every = [*shown, judged, first_relevant_measure(gold.level), *curves]
    asked = list({measure.name: measure for measure in every}.values())
    results = score_all(gold, runs, asked, missing=method.missing, scores=method.scores, match=match)
    card = card_of(gold, results, shown, judged=judged, method=method)
    return page(card, details_of(gold, runs, results, card, match=match)), card


def details_of(
    gold: Gold, runs: Mapping[str, Run], results: Mapping[str, Result], card: Scorecard, *, match: Match
) -> Details:
    """Return what the page shows, the systems in the order of the card.

    Args:
        gold: As in `write_report`.
        runs: As in `write_report`.
        results: Results by the name of the run.
        card: The scorecard of the results.
        match: As in `write_report`.
    """
    names = [system.system for system in card.systems]
    ordered = {name: results[name] for name in names}
    both = aligned(ordered, card.measures[:1])
    texts, about = gold.queries(), gold.about()
    special = special_of(gold, runs, ordered)
    sources = Sources(
        gold,
        ordered,
        top=lambda name, query_ids, depth: top_documents(
            gold, runs[name], depth=depth, query_ids=query_ids, scores=card.method.scores, match=match
        ),
        relevant=lambda _, query_id: _relevant(gold, query_id),
        passages=gold.corpus,
    )
    return Details(
        behind=behind_of(sources, card.measures),
        curves=_curves(ordered, gold.level),
        slicings=slicings(
            both.query_ids,
            both.scores[:, :, 0],
            names,
            texts=texts,
            about=with_source(about),
            resamples=RESAMPLES,
            seed=card.method.seed,
        ),
        notice=notice_of(gold),
        trusted=trust_in(gold),
        special=tables(special, card.measures),
        unanswerable=list(unanswerable_lines(special, len(gold.unanswerable()))),
    )


def trust_in(gold: Gold) -> Trust:
    """Return the card and the agreement in the folder of the judgments, with a remark for each that cannot be used.

    Judgments that are not from the folder of a gold set, or from its ``dataset.json``, have neither.
    """
    home = GoldFolder(gold.path if gold.path.is_dir() else gold.path.parent)
    if not (gold.path.is_dir() or gold.path.name == DATASET):
        return Trust()
    remarks: list[str] = []
    card = _beside(home.card_json, Card, remarks)
    agreement = _beside(home.agreement, Agreement, remarks)
    if card is not None:
        provenance = next((one for one in card.figures if one.name == PROVENANCE), None)
        if provenance is None or not is_of(provenance.values, gold):
            remarks.append(f"{of_another_state(home.path)}.")
            card = None
    return Trust(card, agreement, tuple(remarks))


def _beside(path: Path, kind: type[R], remarks: list[str]) -> R | None:
    if not path.is_file():
        return None
    try:
        return read_record(path, kind)
    except InputError:
        remarks.append(f"{path.name} cannot be read; make it again.")
        return None


def _relevant(gold: Gold, query_id: str) -> dict[str, int]:
    return {doc_id: grade for doc_id, grade in gold.qrels[query_id].items() if grade >= gold.level}


def _curves(results: Mapping[str, Result], level: int) -> dict[str, list[Points]]:
    """Return the mean at every cutoff by family and system, with bands from 2 queries on."""
    curves: dict[str, list[Points]] = {}
    for family in FAMILIES:
        measures = [parse_measure(f"{family}@{k}", rel=level).name for k in CUTOFFS]
        scores = aligned(results, measures).scores
        means = scores.mean(axis=0)
        low = high = means
        if len(scores) > 1:
            ends = bootstrap_intervals(scores, [], resamples=RESAMPLES, seed=0)
            low, high = ends.mean_low, ends.mean_high
        curves[family] = [
            Points(name, CUTOFFS, means[row].tolist(), low[row].tolist(), high[row].tolist(), _links(family, row))
            for row, name in enumerate(results)
        ]
    return curves


def _links(family: str, row: int) -> list[str]:
    """Return where the points of a system's curve lead: to its failures at k, or to its unjudged results."""
    if family == "judged":
        return [address(first=row, which="holes")] * len(CUTOFFS)
    return [address(first=row, missed=k, sort="first") for k in CUTOFFS]
