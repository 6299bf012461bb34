"""The verdict on a gold set for the systems that were scored on it; imports nothing that takes time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from goldbench.measures.result import Result
from goldbench.measures.statistics.comparison import aligned
from goldbench.measures.statistics.fitness import Fitness, Level, Reason, fitness
from goldbench.records.calibrated import CorrectedRanking
from goldbench.records.set_verdict import SetVerdict
from goldbench.score.fitness_words import Case, verdict_in_words
from goldbench.score.set_makers import Makers

_ORDERED = {Level.RANKS, Level.SEPARATES, Level.REGRESSIONS}
"""Levels whose sentence tells something about the order of systems."""


def deciding(measures: Sequence[str]) -> str:
    """Return the measure that a verdict is about: the first nDCG, else the first that measures quality.

    Args:
        measures: Canonical names, at least 1.
    """
    quality = [name for name in measures if not name.startswith(("judged", "all"))] or list(measures)
    return next((name for name in quality if name.startswith("ndcg")), quality[0])


def verdict_on(
    results: Mapping[str, Result],
    makers: Makers,
    *,
    measure: str | None = None,
    separated: int | None = None,
    ranking: CorrectedRanking | None = None,
    counted: bool = False,
) -> SetVerdict:
    """Return what the set is good for, for these systems.

    Args:
        results: The results by system, at least 1, over the same measures.
        makers: Who made the set.
        measure: The measure that the order of systems is by; None for the one of `deciding`.
        separated: Pairs that a test separated, if one was made.
        ranking: What people's complete judgments tell of the order, if a model judged.
        counted: Whether people's judgments in the set's ledger were looked at; a few tell nothing of the order.
    """
    measure = measure or deciding(list(next(iter(results.values())).values))
    case = Case(
        measure,
        makers,
        unjudged={name: result.unjudged for name, result in results.items()},
        top={name: one.top for name, one in results.items()},
        ranking=ranking,
        strange=[name for name, one in results.items() if one.strange],
        counted=counted,
    )
    return decided(aligned(results, [measure]).scores[:, :, 0].T.tolist(), case, separated=separated)


def decided(columns: Sequence[Sequence[float]], case: Case, *, separated: int | None = None) -> SetVerdict:
    """Return what a set is good for: every command and the card decide by this function.

    Args:
        columns: Scores by system, finite, over the same queries in the same order; 1 system or more.
        case: What the verdict is about.
    """
    if case.strange or not columns[0]:
        return verdict_in_words(Fitness(Level.UNUSABLE, Reason.NOTHING_JUDGED, len(columns[0]), len(columns)), case)
    found = fitness(columns, case.makers.basis, unjudged=case.holes, ranking=case.ranking, separated=separated)
    if case.measure.startswith("judged") and found.level in _ORDERED and found.systems > 1:
        found = replace(found, level=Level.REGRESSIONS, reason=Reason.NO_QUALITY)
    return verdict_in_words(found, case)
