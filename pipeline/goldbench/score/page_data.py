"""Write the page of a scorecard, and ``scorecard.json`` beside it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from goldbench.formats.runs.scorecard_files import scorecard_beside, write_record, write_whole
from goldbench.goldset.gold_path import folder_of, notice_of
from goldbench.measures.names import Measure, parse_measure
from goldbench.measures.result import Result
from goldbench.measures.statistics.comparison import aligned
from goldbench.measures.statistics.intervals import bootstrap_intervals, score_of
from goldbench.measures.statistics.slices import slicings
from goldbench.measures.statistics.special_figures import level_in
from goldbench.records.scorecard import Method, Scorecard
from goldbench.report.charts import Points, series_of
from goldbench.report.pages import Details, scorecard_page
from goldbench.report.score_text import special_tables, unanswerable_lines
from goldbench.score.runs import Gold, Match, Run, score_all
from goldbench.score.scorecards import card_of, judged_beside
from goldbench.score.special_queries import special_of
from goldbench.text.display import shell_command, shown

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
    page, card = scored_page(gold, runs, measures, match=match, method=method)
    beside = scorecard_beside(path)
    write_whole(path, page.encode())
    write_record(beside, card)
    return [path, beside]


def scored_page(
    gold: Gold, runs: Mapping[str, Run], measures: Sequence[Measure], *, match: Match, method: Method
) -> tuple[str, Scorecard]:
    """Return the page and the scorecard that it shows; see `write_report`.

    Raises:
        InputError: A run cannot be used.
    """
    quality = [measure for measure in measures if measure.family != "judged"] or [parse_measure("ndcg@10")]
    judged = judged_beside(quality)
    curves = [parse_measure(f"{family}@{k}", rel=gold.level) for family in FAMILIES for k in CUTOFFS]
    every = list({measure.name: measure for measure in [*quality, judged, *curves]}.values())
    results = score_all(gold, runs, every, missing=method.missing, scores=method.scores, match=match)
    card = card_of(gold, results, quality, judged=judged, method=method)
    ranked = {system.system: results[system.system] for system in card.systems}
    scores = aligned(ranked, card.measures[:1])
    special = special_of(gold, runs, ranked)
    folder = None if gold.in_memory else folder_of(gold.path)
    details = Details(
        curves=_curves(ranked, gold.level),
        slicings=slicings(
            scores.query_ids, scores.scores[:, :, 0], list(ranked), about=_with_levels(gold.about()), seed=method.seed
        ),
        notice=notice_of(gold.path),
        special=special_tables(special, card.measures),
        unanswerable=list(unanswerable_lines(special, len(gold.unanswerable()))),
        command=None if folder is None else shell_command("open", shlex.quote(shown(folder)), run="NAME=FILE"),
    )
    return scorecard_page(card, details), card


def _curves(results: Mapping[str, Result], level: int) -> dict[str, list[Points]]:
    """Return the mean at every cutoff by family and system, with bands from 2 queries on."""
    curves: dict[str, list[Points]] = {}
    for family in FAMILIES:
        measures = [parse_measure(f"{family}@{k}", rel=level).name for k in CUTOFFS]
        scores = aligned(results, measures).scores
        means = scores.mean(axis=0)
        ends = bootstrap_intervals(scores, [], resamples=RESAMPLES, seed=0) if len(scores) > 1 else None
        for row, name in enumerate(results):
            bands = [score_of(float(mean), ends, row, column) for column, mean in enumerate(means[row])]
            curves.setdefault(family, []).append(series_of(name, CUTOFFS, bands))
    return curves


def _with_levels(about: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the notes with the level of each query's difficulty."""
    return {query_id: {**notes, "level": level_in(notes)} for query_id, notes in about.items()}
