"""Records of runs that decisions rest on: scorecards, baselines, lines of a history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
from pydantic import ValidationError

from goldbench import __version__
from goldbench.errors import InputError, Message, UsageError
from goldbench.formats.faults import explain
from goldbench.goldset.gold_path import metadata_of
from goldbench.measures.names import Measure, parse_measure
from goldbench.measures.result import Result
from goldbench.measures.statistics.comparison import scorecard
from goldbench.measures.statistics.intervals import bootstrap_intervals, score_of, weighted_intervals
from goldbench.records.scorecard import (
    Baseline,
    GoldReference,
    HistoryEntry,
    Method,
    RunCounts,
    Score,
    Scorecard,
    Verdict,
)
from goldbench.score.common_queries import query_digests
from goldbench.score.runs import Gold
from goldbench.score.set_makers import makers_of
from goldbench.score.verdict import Case, verdict_on
from goldbench.text.display import shown


def reference(gold: Gold) -> GoldReference:
    """Return the name, hash and size of the judgments, and the digest of their set.

    Raises:
        InputError: There are none.
    """
    if not gold.qrels:
        raise InputError(shown(gold.path), "holds 0 queries: there is nothing to compare")
    level = metadata_of(gold.path).get("evidence_level")
    return GoldReference(
        name=shown(gold.path.name),
        sha256=gold.fingerprint(),
        queries=len(gold.qrels),
        evidence_level=level if isinstance(level, str) else None,
        content_sha256=gold.content_sha256(),
    )


def to_compare(measures: Sequence[Measure]) -> tuple[list[Measure], Measure]:
    """Return the measures that compare systems, and the judged@k to show beside them.

    Raises:
        UsageError: Every measure is judged@k, which does not measure quality.
    """
    compared = [measure for measure in measures if measure.family != "judged"]
    if not compared:
        raise UsageError(
            "judged@k counts judged results and does not measure quality; name another measure", parameter="measure"
        )
    return compared, judged_beside(measures)


def judged_beside(measures: Sequence[Measure]) -> Measure:
    """Return the judged@k to show beside measures, with the first cutoff among them, else 10."""
    return parse_measure(f"judged@{next((measure.k for measure in measures if measure.k), 10)}")


def card_of(
    gold: Gold,
    results: Mapping[str, Result],
    measures: Sequence[Measure],
    *,
    judged: Measure,
    method: Method,
    about: GoldReference | None = None,
) -> Scorecard:
    """Return the scorecard of the results, with what the set is good for.

    Args:
        gold: The judgments.
        results: Results by the name of the run.
        measures: The measures without ``judged``; the first one ranks.
        judged: The measure of the share of top results that is judged.
        method: How intervals and tests are computed.
        about: The judgments by name; None for their file's.

    Raises:
        InputError: The runs have no query in common.
    """
    try:
        card = scorecard(
            results,
            [measure.name for measure in measures],
            judged=judged.name,
            gold=about or reference(gold),
            method=method,
            goldbench=__version__,
        )
    except ValueError as error:
        problem = Message("{}: nothing can be compared; leave out {missing='skip'}", error)
        raise InputError(str(gold.path), problem) from None
    return with_verdict(card, gold, results)


def with_verdict(card: Scorecard, gold: Gold, results: Mapping[str, Result]) -> Scorecard:
    """Return a scorecard with what the set is good for, by the scorecard's first measure.

    Args:
        card: The scorecard.
        gold: The judgments.
        results: The results it was made of.
    """
    measure = card.measures[0]
    tested = [comparison.verdict for comparison in card.comparisons if comparison.measure == measure]
    whole = len(tested) == len(results) * (len(results) - 1) // 2
    separated = sum(tested_verdict in {Verdict.FIRST, Verdict.SECOND} for tested_verdict in tested) if whole else None
    verdict = verdict_on(Case(measure, makers_of(gold), results), separated=separated)
    return card.model_copy(update={"verdict": verdict})


def baseline_of(gold: Gold, system: str, result: Result, measures: Sequence[str]) -> Baseline:
    """Return the values of a run as the baseline of later runs.

    Args:
        gold: The judgments.
        system: Name of the run.
        result: Its values.
        measures: Canonical names of the measures to keep.

    Raises:
        InputError: A query id cannot be written as UTF-8.
        UsageError: A measure is not defined for every query.
    """
    strange = next((name for name in result.query_ids if name.encode("utf-8", "replace").decode() != name), None)
    if strange is not None:
        raise InputError(str(gold.path), f"query {strange!r} cannot be written as UTF-8; give it another id")
    partial = next((measure for measure in measures if result.defined(measure) < len(result.query_ids)), None)
    if partial is not None:
        raise UsageError(f"{partial}: is not defined for every query, so it cannot be kept in a baseline; leave it out")
    digests = query_digests(gold)
    known = all(query_id in digests for query_id in result.query_ids)
    try:
        return Baseline(
            goldbench=__version__,
            gold=reference(gold),
            system=system,
            query_ids=list(result.query_ids),
            query_sha256=[digests[query_id] for query_id in result.query_ids] if known else [],
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
    """Return the means of a run as a line of a history, with intervals from 2 queries on.

    Args:
        at: Time of the run, ISO 8601 in UTC.
        label: What was scored, or None.
        alerts: One line for each mean that is too low.
    """
    return HistoryEntry(
        at=at,
        goldbench=__version__,
        gold=reference(gold),
        system=system,
        label=label,
        means=means_of(result, measures),
        counts=RunCounts(**asdict(result.counts)),
        alerts=list(alerts),
    )


def means_of(result: Result, measures: Sequence[str]) -> dict[str, Score]:
    """Return the mean of each measure, by weight if the result has weights, with an interval from 2 queries on."""
    columns = [np.asarray(result.values[measure], dtype=np.float64) for measure in measures]
    if any(np.isnan(column).any() for column in columns) and len(measures) > 1:
        return {measure: means_of(result, [measure])[measure] for measure in measures}
    table = np.stack(columns, axis=1)
    known = ~np.isnan(table).any(axis=1)
    table = table[known]
    if len(table) < 2:
        ends = None
    elif result.weights is None:
        ends = bootstrap_intervals(table[:, None, :], [], resamples=10_000, seed=0)
    else:
        weights = np.asarray(result.weights, dtype=np.float64)[known]
        ends = weighted_intervals(table[:, None, :], weights, resamples=10_000, seed=0)
    return {measure: score_of(result.mean(measure), ends, 0, column) for column, measure in enumerate(measures)}
