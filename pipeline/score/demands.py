"""What a gate demands of a run and whether the run meets it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import InputError, UsageError
from pipeline.measures.limits import parse_bound, parse_drop
from pipeline.measures.names import parse_measure
from pipeline.measures.statistics.regression import Check, Drop, check_drops, check_minimums
from pipeline.measures.targets import TARGETS

if TYPE_CHECKING:
    from pipeline.measures.names import Measure
    from pipeline.measures.result import Result
    from pipeline.score.runs import Gold
    from schemas.scorecard import Baseline

DEFAULT_DROP = Drop(0.05, relative=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """Lowest means and largest drops by canonical name of the measure, and how drops are tested."""

    minimums: Mapping[str, float]
    drops: Mapping[str, Drop]
    significant_only: bool
    alpha: float
    permutations: int
    seed: int

    def measures(self) -> list[Measure]:
        """Return what has to be scored."""
        return [parse_measure(name) for name in dict.fromkeys([*self.drops, *self.minimums])]


def lowest_means(given: Sequence[str], target: str | None, level: int, *, option: str = "--min") -> dict[str, float]:
    """Return the lowest mean by measure: those of the target, replaced and joined by those given.

    Args:
        given: as ``recall@10=0.8``.
        target: a name in ``TARGETS``.
        level: the smallest grade that counts as relevant.
        option: where they were given.

    Raises:
        UsageError: One is not understood.
        UnknownMeasure: One names no measure.
    """
    named = [*(TARGETS[target].items() if target else ()), *(parse_bound(text, option) for text in given)]
    return {parse_measure(name, rel=level).name: bound for name, bound in named}


def allowed_drops(given: Sequence[str], baseline: Baseline, only: Sequence[str], level: int) -> dict[str, Drop]:
    """Return how far each measure of the baseline may fall.

    Args:
        given: as ``5%`` for all or ``ndcg@10=0.02`` for one, which then counts.
        baseline: its measures are checked.
        only: canonical names; where there are some, these and no others.
        level: the smallest grade that counts as relevant.

    Raises:
        UsageError: One is not understood, or names a measure the baseline does not have.
        UnknownMeasure: One names no measure.
    """
    everything, single = DEFAULT_DROP, dict[str, Drop]()
    for text in given:
        name, drop = parse_drop(text)
        if name is None:
            everything = drop
        else:
            single[parse_measure(name, rel=level).name] = drop
    absent = [name for name in [*only, *single] if name not in baseline.values]
    if absent:
        raise UsageError(
            f"the baseline has no {', '.join(dict.fromkeys(absent))}, only {', '.join(baseline.values)}; "
            "write it anew with --init and --measure"
        )
    names = list(dict.fromkeys([*only, *single])) if only else list(baseline.values)
    return {name: single.get(name, everything) for name in names}


def checks_of(result: Result, baseline: Baseline | None, demands: Demands) -> list[Check]:
    """Return every check of the run, lowest means first.

    Raises:
        InputError: The run and the baseline have no query in common.
    """
    checks = check_minimums(result, demands.minimums)
    if baseline is None:
        return checks
    try:
        return checks + check_drops(
            result,
            baseline,
            demands.drops,
            significant_only=demands.significant_only,
            alpha=demands.alpha,
            permutations=demands.permutations,
            seed=demands.seed,
        )
    except ValueError as error:
        raise InputError("--baseline", f"{error}: it belongs to other judgments; write a new one with --init") from None


def differences(baseline: Baseline, gold: Gold, result: Result) -> Iterator[str]:
    """Yield what keeps the run and the baseline from being wholly comparable, one line each."""
    if baseline.gold.sha256 != gold.fingerprint():
        yield "the judgments have changed since the baseline; a fall may come from them"
    common = len(set(baseline.query_ids) & set(result.query_ids))
    most = max(len(baseline.query_ids), len(result.query_ids))
    if common < most:
        yield f"compared on the {common:,} queries both have, of {most:,}"
    if result.counts.missing:
        yield f"judged queries missing from the run: {result.counts.missing:,}"
