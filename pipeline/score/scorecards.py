"""From judgments and runs to the records that decisions rest on: scorecards, baselines, lines of a history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np
from pydantic import ValidationError

from pipeline.errors import InputError, UsageError
from pipeline.formats.runs.scorecard_files import explain
from pipeline.goldset.gold_path import metadata_of
from pipeline.goldset.gold_path import notice_of as said_of
from pipeline.measures.statistics.comparison import scorecard
from pipeline.measures.statistics.intervals import bootstrap_intervals
from pipeline.score.runs import Gold, Match, Run, score_run
from pipeline.text.display import shown
from schemas.scorecard import Baseline, GoldReference, HistoryEntry, Method, RunCounts, Score, Scorecard

if TYPE_CHECKING:
    from pipeline.measures.assessment import Missing
    from pipeline.measures.names import Measure
    from pipeline.measures.ranks.judged_ranks import Scores
    from pipeline.measures.result import Result

DECIDING = ("ndcg@10", "mrr@10", "r@10")
"""What is compared where nothing else is asked: few measures, so that correcting for many costs little."""


def reference(gold: Gold) -> GoldReference:
    """Return which judgments these are."""
    level = metadata_of(gold.path).get("evidence_level")
    return GoldReference(
        name=shown(gold.path.name),
        sha256=gold.fingerprint(),
        queries=len(gold.qrels),
        evidence_level=level if isinstance(level, str) else None,
    )


def notice_of(gold: Gold) -> str | None:
    """Return what the gold set wants said wherever it is used, if anything."""
    return said_of(gold.path)


def score_all(
    gold: Gold, runs: Mapping[str, Run], measures: Sequence[Measure], *, missing: Missing, scores: Scores, match: Match
) -> dict[str, Result]:
    """Return the result of every run.

    Raises:
        InputError: A run or the judgments cannot be used.
        UsageError: A run's name cannot be shown.
    """
    if not all(name.isprintable() for name in runs):
        raise UsageError("--run: the name of a run holds characters that cannot be shown; give it as NAME=FILE")
    return {
        name: score_run(gold, run, measures, missing=missing, scores=scores, match=match) for name, run in runs.items()
    }


def card_of(
    gold: Gold, results: Mapping[str, Result], measures: Sequence[Measure], *, judged: Measure, method: Method
) -> Scorecard:
    """Return the scorecard of the results; ``measures`` are without ``judged``.

    Raises:
        InputError: The runs have no query in common.
    """
    try:
        return scorecard(
            results,
            [measure.name for measure in measures],
            judged=judged.name,
            gold=reference(gold),
            method=method,
            goldset=version("goldset"),
        )
    except ValueError as error:
        raise InputError(str(gold.path), f"{error}: nothing can be compared; leave out --missing skip") from None


def baseline_of(gold: Gold, system: str, result: Result, measures: Sequence[str]) -> Baseline:
    """Return the values of a run as the baseline of later ones.

    Raises:
        InputError: A query id is no text that can be written.
    """
    strange = next((one for one in result.query_ids if one.encode("utf-8", "replace").decode() != one), None)
    if strange is not None:
        raise InputError(str(gold.path), f"query {strange!r} cannot be written as UTF-8; give it another id")
    try:
        return Baseline(
            goldset=version("goldset"),
            gold=reference(gold),
            system=system,
            query_ids=list(result.query_ids),
            values={measure: [float(value) for value in result.values[measure]] for measure in measures},
        )
    except ValidationError as error:
        raise InputError(str(gold.path), explain(error)) from None


def entry_of(
    gold: Gold,
    system: str,
    result: Result,
    measures: Sequence[str],
    *,
    at: str,
    label: str | None,
    alerts: Sequence[str],
) -> HistoryEntry:
    """Return a run's means as a line of a history, with intervals where there are 2 queries or more."""
    return HistoryEntry(
        at=at,
        goldset=version("goldset"),
        gold=reference(gold),
        system=system,
        label=label,
        means=means_of(result, measures),
        counts=RunCounts(**asdict(result.counts)),
        alerts=list(alerts),
    )


def means_of(result: Result, measures: Sequence[str]) -> dict[str, Score]:
    """Return the mean of each measure, with a bootstrap interval where there are 2 queries or more."""
    if len(result.query_ids) < 2:
        return {measure: Score(mean=result.mean(measure)) for measure in measures}
    table = np.stack([np.asarray(result.values[measure], dtype=np.float64) for measure in measures], axis=1)
    ends = bootstrap_intervals(table[:, None, :], [], resamples=10_000, seed=0)
    return {
        measure: Score(
            mean=result.mean(measure), low=float(ends.mean_low[0, column]), high=float(ends.mean_high[0, column])
        )
        for column, measure in enumerate(measures)
    }
