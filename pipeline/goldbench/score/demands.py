"""What a gate demands of a run, as people write it (``5%``, ``ndcg@10=0.02``), and whether the run meets it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite

from goldbench.errors import InputError, Message, Parameter, UnknownMeasure, UsageError
from goldbench.measures.names import Measure, parse_measure
from goldbench.measures.result import Result
from goldbench.measures.statistics.regression import Drop, GateCheck, check_drops, check_minimums
from goldbench.records.scorecard import Baseline
from goldbench.score.common_queries import coverage_line
from goldbench.score.runs import Gold

DEFAULT_DROP = Drop(0.05, relative=True)

TARGETS: Mapping[str, Mapping[str, float]] = {
    "precise-qa": {"r@5": 0.8, "r@10": 0.9, "mrr": 0.7, "ndcg@10": 0.8},
    "general": {"r@5": 0.6, "r@10": 0.8, "mrr": 0.6, "ndcg@10": 0.7},
    "exploratory": {"r@5": 0.4, "r@10": 0.7, "mrr": 0.5, "ndcg@10": 0.6},
}
"""Lowest means by scenario: one right answer at the top, everyday search, browsing. Starting points to be replaced."""


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
        """Return the measures to score."""
        return [parse_measure(name) for name in dict.fromkeys([*self.drops, *self.minimums])]


def lowest_means(
    demands: Sequence[str], level: int, *, target: str | None = None, option: str = "min"
) -> dict[str, float]:
    """Return the lowest mean by measure: those of the target, overridden and extended by those given.

    Args:
        demands: Texts such as ``recall@10=0.8``.
        level: The smallest grade that counts as relevant.
        target: A name in ``TARGETS``, or None.
        option: Option of the texts, for messages.

    Raises:
        UsageError: A text cannot be understood.
        UnknownMeasure: A text names an unknown measure.
    """
    named = [*TARGETS.get(target or "", {}).items(), *(parse_bound(text, option) for text in demands)]
    with naming(option):
        return {parse_measure(name, rel=level).name: bound for name, bound in named}


@contextmanager
def naming(option: str) -> Iterator[None]:
    """Name the option in every problem with a measure that is found inside the block.

    Raises:
        UnknownMeasure: In the place of the one without the option.
    """
    named = Parameter(option, is_subject=True)
    try:
        yield
    except UnknownMeasure as error:
        raise UnknownMeasure([Message("{}: {}", named, problem) for problem in error.problems]) from None


def allowed_drops(demands: Sequence[str], baseline: Baseline, only: Sequence[str], level: int) -> dict[str, Drop]:
    """Return how far each measure of the baseline may fall.

    Args:
        demands: Texts such as ``5%`` for all measures, or ``ndcg@10=0.02`` for one, which overrides it.
        baseline: Its measures are checked.
        only: Canonical names of the measures to check; empty for all.
        level: The smallest grade that counts as relevant.

    Raises:
        UsageError: A text cannot be understood, or names a measure that the baseline does not have.
        UnknownMeasure: A text names an unknown measure.
        InputError: The baseline names a measure in another way than goldbench writes it.
    """
    everything = DEFAULT_DROP
    single = dict[str, Drop]()
    for text in demands:
        name, drop = parse_drop(text)
        if name is None:
            everything = drop
        else:
            with naming("max_drop"):
                single[parse_measure(name, rel=level).name] = drop
    absent = [name for name in [*only, *single] if name not in baseline.values]
    if absent:
        lacks = f"the baseline has no {', '.join(dict.fromkeys(absent))}, only {', '.join(baseline.values)}"
        raise UsageError(Message("{}; write it again with {init=True} and {measure=}", lacks))
    names = list(dict.fromkeys([*only, *single])) if only else list(baseline.values)
    for name in names:
        if (canonical := parse_measure(name).name) != name:
            problem = f"holds {name!r} in place of {canonical}"
            raise InputError(Message("{baseline}"), Message("{}; write it again with {init=True}", problem))
    return {name: single.get(name, everything) for name in names}


def parse_drop(text: str) -> tuple[str | None, Drop]:
    """Return the measure, or None for all, and how far it may fall: ``5%`` of the baseline or ``0.02`` in all.

    Raises:
        UsageError: The text is neither a share nor a difference.
    """
    measure, sign, amount = text.rpartition("=")
    number = _number(amount.removesuffix("%"))
    if number is None or number < 0 or (sign and not measure.strip()):
        raise UsageError(Message("{max_drop} {!r}: not a valid drop; give 5%, 0.02, or ndcg@10=0.02", text))
    relative = amount.rstrip().endswith("%")
    if number > (100 if relative else 1) and not _is_unbounded(measure):
        raise UsageError(Message("{max_drop} {!r}: no mean can fall that far; write a share with %, as 5%", text))
    return (measure.strip() or None), Drop(number / 100 if relative else number, relative)


def parse_bound(text: str, option: str) -> tuple[str, float]:
    """Return the measure and its lowest mean, of a text such as ``recall@10=0.8``.

    Raises:
        UsageError: The text does not have this form.
    """
    named = Parameter(option, is_subject=True)
    measure, _, amount = text.rpartition("=")
    number = _number(amount)
    if number is None or not measure.strip():
        raise UsageError(Message("{} {!r}: give a measure and its lowest mean, as recall@10=0.8", named, text))
    if number > 1 and not _is_unbounded(measure):
        raise UsageError(Message("{} {!r}: no mean of this measure exceeds 1; give a number from 0 to 1", named, text))
    return measure.strip(), number


def _is_unbounded(measure: str) -> bool:
    return measure.strip().lower().startswith(("dcg", "idcg"))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) and "_" not in text else None


def checks_of(result: Result, baseline: Baseline | None, demands: Demands) -> list[GateCheck]:
    """Return every check of the run, lowest means first.

    Args:
        result: The run as it is now.
        baseline: The run as it was, or None.
        demands: What to check.

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
        raise InputError(
            Message("{baseline}"), Message("{}: it belongs to other judgments; write a new one with {init=True}", error)
        ) from None


def differences(baseline: Baseline, gold: Gold, result: Result) -> Iterator[str]:
    """Yield one line for each reason why the run and the baseline are not fully comparable.

    Args:
        baseline: The run as it was, as far as it is comparable; see `common_queries.comparable`.
        gold: The judgments of the run.
        result: The run as it is now.
    """
    if baseline.gold.content_sha256 not in {None, gold.content_sha256()}:
        yield coverage_line(baseline, gold)
    else:
        if baseline.gold.sha256 != gold.fingerprint():
            yield "the judgments have changed since the baseline, so a fall may come from them"
        common = len(set(baseline.query_ids) & set(result.query_ids))
        most = max(len(baseline.query_ids), len(result.query_ids))
        if common < most:
            yield f"compared on the {common:,} queries that both have, of {most:,}"
    if result.counts.missing:
        yield f"judged queries missing from the run: {result.counts.missing:,}"
