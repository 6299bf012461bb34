"""Scores corrected by the queries that people judged completely.

Several systems are corrected together, because a model's error is mostly common to all; one system is corrected alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldbench.errors import InputError
from goldbench.measures.statistics.ppi import FEW, LEAST, estimate
from goldbench.records.agreement_report import Estimate
from goldbench.records.calibrated import CalibratedDifference, CalibratedScore, Calibration, CorrectedRanking, Resting
from goldbench.review.people import Grades, ReviewedSet, complete_queries, load_reviewed
from goldbench.score.runs import Gold, Match, Run, score_run, top_documents
from goldbench.text.display import queries, shell_command

if TYPE_CHECKING:
    from goldbench.measures.names import Measure
    from goldbench.measures.ranks.judged_ranks import Scores

DEPTH = 10
"""Top results of a system that are counted by who judged them."""

_NO_WIDTH = 1e-12
"""Narrower intervals come from equal values, not from precision; they are left out."""

Values = Mapping[str, float]
"""A measure by query."""


@dataclass(frozen=True, slots=True)
class ScoreSettings:
    """The settings of ``goldbench.score.runs.score_run``. Judged queries that a run lacks count 0."""

    scores: Scores = "float64"
    match: Match = "id"


@dataclass(frozen=True, slots=True)
class _Figures:
    """One system on one measure: its values by query under the model's grades, and with people's where complete."""

    raw: Mapping[str, float]
    mixed: Mapping[str, float]


def calibrate(
    gold: Gold, runs: Mapping[str, Run], measures: Sequence[Measure], *, ledger: str | None, settings: ScoreSettings
) -> Calibration:
    """Return the scores of the runs before and after correction by people's judgments.

    Args:
        gold: The gold set, from a build.
        runs: The systems by name.
        measures: The measures; judged@k and all@k are ignored, because people's judgments do not correct them.
        ledger: The file of the ledger, or None for the file in the gold set's folder.
        settings: How runs are read.

    Raises:
        InputError: The gold set is not a build, has no ledger, or a run cannot be read.
    """
    reviewed = load_reviewed(Path(gold.path), ledger)
    measured = [measure for measure in measures if measure.family not in {"judged", "all"}]
    judge = {query_id: reviewed.judge.get(query_id, {}) for query_id in gold.qrels}
    if not any(judge.values()):
        raise InputError(str(gold.path), "has no grades of a model that people could correct")
    people = {query_id: reviewed.people.get(query_id, {}) for query_id in gold.qrels}
    complete = [query_id for query_id in complete_queries(reviewed) if query_id in gold.qrels]
    mixed = judge | {query_id: people[query_id] for query_id in complete}
    figures = {name: _figures(gold, run, measured, (judge, mixed), settings) for name, run in runs.items()}
    corrected = {
        m.name: corrections(
            {name: estimates[m.name].raw for name, estimates in figures.items()},
            {name: figure[m.name].mixed for name, figure in figures.items()},
            complete,
            highest=_highest(m),
        )
        for m in measured
    }
    by_people = sum(len(grades) for grades in people.values())
    return Calibration(
        queries=len(gold.qrels),
        complete=len(complete),
        people=by_people,
        model=sum(len(judge[query_id].keys() - people[query_id].keys()) for query_id in judge),
        scores=[
            CalibratedScore(system=name, measure=m.name, **corrected[m.name].scores[name])
            for name in figures
            for m in measured
        ],
        differences=[
            CalibratedDifference(
                first=first, second=second, measure=m.name, **corrected[m.name].differences[first, second]
            )
            for first, second in combinations(figures, 2)
            for m in measured
        ],
        shared={name: estimates.shared for name, estimates in corrected.items() if estimates.shared is not None},
        ranking={name: estimates.ranking for name, estimates in corrected.items() if estimates.ranking is not None},
        resting=[_resting(replace(gold, qrels=judge), name, run, people, settings) for name, run in runs.items()],
        remarks=list(_remarks(reviewed, people, complete, level=gold.level)),
    )


def _figures(
    gold: Gold, run: Run, measures: Sequence[Measure], qrels: tuple[Grades, Grades], reading: ScoreSettings
) -> dict[str, _Figures]:
    """Return the figures of one system by measure."""
    raw, mixed = (
        score_run(replace(gold, qrels=qrel), run, measures, scores=reading.scores, match=reading.match)
        for qrel in qrels
    )
    return {
        measure.name: _Figures(
            dict(zip(raw.query_ids, raw.values[measure.name], strict=True)),
            dict(zip(mixed.query_ids, mixed.values[measure.name], strict=True)),
        )
        for measure in measures
    }


def _highest(measure: Measure) -> float:
    return inf if measure.family in {"dcg", "idcg"} else 1.0


def _resting(gold: Gold, name: str, run: Run, people: Grades, reading: ScoreSettings) -> Resting:
    top = top_documents(gold, run, depth=DEPTH, scores=reading.scores, match=reading.match)
    flags = [
        (result.doc_id in people[query_id], result.grade is not None) for query_id in top for result in top[query_id]
    ]
    by_people = sum(mine for mine, _ in flags)
    by_model = sum(graded and not mine for mine, graded in flags)
    return Resting(
        system=name, depth=DEPTH, people=by_people, model=by_model, unjudged=len(flags) - by_people - by_model
    )


def _remarks(reviewed: ReviewedSet, people: Grades, complete: Sequence[str], *, level: int) -> Iterator[str]:
    if LEAST <= len(complete) < FEW:
        yield (
            f"only {queries(len(complete))} judged completely: below {FEW} the normal approximation of the intervals "
            "is unreliable"
        )
    if not reviewed.material.judgments:
        yield (
            "no model graded this set: the model's grades here are the labels that the set came with; pairs without "
            "a label are unjudged and count 0"
        )
    barren = sum(max(people[query_id].values(), default=0) < level for query_id in complete)
    if barren:
        yield (
            f"people found no relevant passage for {queries(barren)} judged completely, scored 0; "
            f"{shell_command('review apply')} leaves such queries out"
        )


# --- one measure ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Corrections:
    """Corrected means and differences of all systems on one measure.

    ``scores`` and ``differences`` hold the fields of `goldbench.records.calibrated` by system and by pair of systems;
    ``shared`` is the share of the model's error that counts as common to all systems, None if they were not corrected
    together. ``ranking`` says how likely the corrected order is right, None without one.
    """

    scores: dict[str, dict[str, Any]]
    differences: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    shared: float | None = None
    ranking: CorrectedRanking | None = None


def corrections(
    raw: Mapping[str, Values], mixed: Mapping[str, Values], complete: Sequence[str], *, highest: float
) -> Corrections:
    """Return the corrected means of systems on one measure.

    Args:
        raw: For each system its values under the model's grades, by query; all systems have the same queries.
        mixed: The same with people's grades for the completely judged queries.
        complete: The queries that people judged completely.
        highest: The highest value of the measure; it may be infinite.
    """
    pairs = list(combinations(raw, 2))
    plain = {name: _mean(values) for name, values in raw.items()}
    apart = {(first, second): plain[first] - plain[second] for first, second in pairs}
    if len(complete) < LEAST:
        reason = Estimate(reason=f"{queries(len(complete))} judged completely; {LEAST} are needed, {FEW} recommended")
        return Corrections(
            {name: {"raw": value, "corrected": reason} for name, value in plain.items()},
            {pair: {"raw": value, "corrected": reason} for pair, value in apart.items()},
        )
    if len(raw) == 1:
        [name] = raw
        return Corrections({name: {"raw": plain[name], **_alone(raw[name], mixed[name], complete, highest)}})
    return _together(raw, mixed, complete, highest, plain, apart)


def _alone(raw: Values, mixed: Values, complete: Sequence[str], highest: float) -> dict[str, Any]:
    judged = set(complete)
    others = [value for query_id, value in raw.items() if query_id not in judged]
    estimated = estimate([mixed[query_id] for query_id in complete], [raw[query_id] for query_id in complete], others)
    (corrected,) = _estimates([estimated.mean], ([estimated.low], [estimated.high]), (0.0, highest))
    return {"corrected": corrected, "weight": estimated.weight}


def _together(
    raw: Mapping[str, Values],
    mixed: Mapping[str, Values],
    complete: Sequence[str],
    highest: float,
    plain: Mapping[str, float],
    apart: Mapping[tuple[str, str], float],
) -> Corrections:
    import numpy as np

    from goldbench.measures.statistics.fitness import ranking_of
    from goldbench.measures.statistics.joint_calibration import joint_estimate

    judged = set(complete)
    others = [query_id for query_id in next(iter(raw.values())) if query_id not in judged]
    human, judge = (np.array([[of[query] for query in complete] for of in by.values()]) for by in (mixed, raw))
    rest = np.array([[values[query_id] for query_id in others] for values in raw.values()]).reshape(len(raw), -1)
    joint = joint_estimate(human, judge, rest)
    bias, *bias_limits = joint.favours()
    favours = _estimates(bias, bias_limits)
    means = _estimates(joint.means, joint.means_limits(), (0.0, highest))
    differences = [float(joint.means[first] - joint.means[second]) for first, second in joint.differences()]
    return Corrections(
        {
            name: {"raw": plain[name], "corrected": corrected, "best": float(best), "favoured": favoured}
            for name, corrected, best, favoured in zip(raw, means, joint.best, favours, strict=True)
        },
        {
            pair: {"raw": apart[pair], "corrected": corrected}
            for pair, corrected in zip(
                apart, _estimates(differences, joint.differences_limits(), (-highest, highest)), strict=True
            )
        },
        joint.shared,
        ranking_of(joint, complete=len(complete), queries=len(complete) + len(others)),
    )


def _estimates(
    values: Iterable[float], limits: Sequence[Any], ends: tuple[float, float] = (-inf, inf)
) -> Iterator[Estimate]:
    """Yield figures with their limits; without them if all completely judged queries have the same value."""
    lowest, highest = ends
    for value, low, high in zip(values, *limits, strict=True):
        has_width = high - low > _NO_WIDTH
        yield Estimate(
            value=float(value),
            low=max(float(low), lowest) if has_width else None,
            high=min(float(high), highest) if has_width else None,
        )


def _mean(values: Values) -> float:
    return sum(values.values()) / len(values)
