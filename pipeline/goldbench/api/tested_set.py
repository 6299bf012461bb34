"""A gold set in a test: its figures know their queries, and a run is held against a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import pytest

from goldbench.api.evaluations import Evaluation, Evaluations
from goldbench.api.gold_set import GoldSet
from goldbench.errors import GoldbenchError, UsageError
from goldbench.formats.runs.scorecard_files import write_record
from goldbench.measures.names import parse_measure
from goldbench.measures.result import Result
from goldbench.measures.statistics.regression import GateCheck
from goldbench.report.gate_text import fallen, line
from goldbench.report.named_queries import command_for, lowest_of
from goldbench.report.text_tables import with_interval
from goldbench.score.common_queries import comparable, read_baseline
from goldbench.score.demands import Demands, allowed_drops, checks_of
from goldbench.score.runs import DECIDING, Gold
from goldbench.score.scorecards import baseline_of, means_of
from goldbench.score.set_makers import makers_of
from goldbench.text.display import cut, printable, queries

_FEW = 3
_MANY = 10
"""Queries that a failed comparison shows, and with ``-vv``; pytest cuts explanations of more than 8 lines."""
_TEXT = 70
"""Characters of a query that are shown."""
_LOADED = pytest.StashKey[dict[Path, "GoldUnderTest"]]()


def set_at(path: Path, config: pytest.Config) -> GoldUnderTest:
    """Return the gold set at a path, which is read once in a run of pytest; fail the test if there is none."""
    loaded = config.stash.setdefault(_LOADED, {})
    if path not in loaded:
        try:
            gold = GoldUnderTest.load(path)
        except GoldbenchError as error:
            pytest.fail(f"gold: {error}", pytrace=False)
        assert isinstance(gold, GoldUnderTest)
        gold.root = config.rootpath
        gold.writes = bool(config.getoption("--goldbench-write-baselines"))
        loaded[path] = gold
    return loaded[path]


class GoldUnderTest(GoldSet):
    """The gold set of the fixture ``gold``. ``root`` is the folder that baselines are named from.

    With ``writes`` baselines are written in place of being checked.
    """

    root = Path()
    writes = False

    def evaluate(self, systems: Any, measures: Any = None, **options: Any) -> Any:  # noqa: ANN401  as of GoldSet
        """Return the scores as `GoldSet.evaluate`, without its progress bar; a failed comparison explains them."""
        evaluations = super().evaluate(systems, measures, **{"progress": False, **options})
        if isinstance(evaluations, Evaluations):
            return Evaluations(
                {name: EvaluationUnderTest(evaluation, self) for name, evaluation in evaluations.items()}
            )
        return EvaluationUnderTest(evaluations, self)


class EvaluationUnderTest(Evaluation):
    """The scores of a system; each is a `MeanUnderTest`."""

    def __init__(self, evaluation: Evaluation, gold: GoldUnderTest) -> None:
        """Take the scores.

        Args:
            evaluation: The scores.
            gold: The set that they were measured on.
        """
        self.__dict__.update(vars(evaluation))
        self.tested = gold

    def __getitem__(self, measure: str) -> float:
        value = super().__getitem__(measure)
        return MeanUnderTest.of(
            value, self, parse_measure(str(measure), rel=self.relevant_from).name_at(self.relevant_from)
        )

    def _in_full(self) -> Result:
        """Return the values by the full names of the measures, as a baseline holds them."""
        columns = self.result.values.items()
        return replace(
            self.result, values={parse_measure(name, rel=self.relevant_from).name: column for name, column in columns}
        )

    def assert_no_drop(
        self,
        baseline: str | PathLike[str],
        *,
        max_drop: str | Sequence[str] = "5%",
        significant_only: bool = False,
        common_queries: bool = False,
    ) -> None:
        """Fail if a measure of a baseline fell further than allowed, and name the queries that fell most.

        The baseline is one of ``goldbench gate``; pytest's option ``--goldbench-write-baselines`` writes it from the
        run at hand.

        Args:
            baseline: The file, from the root folder of the tests.
            max_drop: The allowed fall, as ``5%``, ``0.02`` or ``ndcg@10=2%``; several in a list.
            significant_only: Allow a fall that chance can explain.
            common_queries: Compare the queries that are the same if the set has changed.
        """
        __tracebackhide__ = True
        path = self.tested.root / baseline
        try:
            if self.tested.writes:
                self._write(path)
                return
            drops = [max_drop] if isinstance(max_drop, str) else list(max_drop)
            checks = self._checks(path, drops, significant_only=significant_only, common_queries=common_queries)
            failure = None if all(check.passed for check in checks) else "\n".join(self._told(checks))
        except GoldbenchError as error:
            failure = str(error)
        if failure is not None:
            pytest.fail(failure)

    def _checks(
        self, path: Path, max_drops: Sequence[str], *, significant_only: bool, common_queries: bool
    ) -> list[GateCheck]:
        if not path.exists():
            raise UsageError(f"baseline {path} not found; write it with pytest --goldbench-write-baselines")
        gold = self.gold
        before = read_baseline(path)
        drops = allowed_drops(max_drops, before, [], gold.level)
        result = self._in_full()
        absent = [name for name in drops if name not in result.values]
        if absent:
            raise UsageError(
                f"baseline {path} holds {', '.join(absent)}, which evaluate() did not measure; name it there"
            )
        demands = Demands(
            minimums={}, drops=drops, significant_only=significant_only, alpha=0.05, permutations=10_000, seed=0
        )
        return checks_of(result, comparable(before, gold, common_queries=common_queries), demands)

    def _write(self, path: Path) -> None:
        gold = self.gold
        result = self._in_full()
        usual = [parse_measure(name, rel=gold.level).name for name in DECIDING]
        written = [name for name in usual if name in result.values] or list(result.values)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_record(path, baseline_of(gold, self.system, result, written))

    def _told(self, checks: Sequence[GateCheck]) -> Iterator[str]:
        texts = self.tested.queries
        for check in checks:
            yield line(check)
            if not check.passed:
                yield from (f"  {fallen_query}" for fallen_query in fallen(check, texts))
        first = next(fallen_query.query_id for check in checks for fallen_query in check.fallen)
        yield from _opened(self.gold, first)


class MeanUnderTest(float):
    """A mean that knows the scores it belongs to."""

    evaluation: EvaluationUnderTest
    measure: str

    @classmethod
    def of(cls, value: float, evaluation_under_test: EvaluationUnderTest, measure: str) -> MeanUnderTest:
        """Return a mean.

        Args:
            value: Its value.
            evaluation_under_test: The scores that it belongs to.
            measure: The measure, as the scores name it.
        """
        mean = cls(value)
        mean.evaluation = evaluation_under_test
        mean.measure = measure
        return mean


def explained(op: str, left: object, right: object, config: pytest.Config) -> list[str] | None:
    """Return a failed comparison with a figure in lines, None if neither side is one.

    Args:
        op: The operator.
        left: What stands on its left.
        right: What stands on its right.
        config: The configuration of pytest, which says how much is shown.
    """
    figure = left if isinstance(left, MeanUnderTest) else right
    if not isinstance(figure, MeanUnderTest):
        return None
    most = _MANY if config.get_verbosity(pytest.Config.VERBOSITY_ASSERTIONS) > 1 else _FEW
    sides = [_with_interval(side) if isinstance(side, MeanUnderTest) else f"{side}" for side in (left, right)]
    counted = queries(len(figure.evaluation.query_ids))
    return [f"{sides[0]} {op} {sides[1]}", f"{figure.evaluation.system}, {counted}", *_worst(figure, most)]


def _with_interval(figure: MeanUnderTest) -> str:
    score = means_of(figure.evaluation.result, [figure.measure])[figure.measure]
    return f"{figure.measure} {with_interval(score.mean, score.low, score.high)}"


def _worst(figure: MeanUnderTest, most: int) -> Iterator[str]:
    lowest = lowest_of(figure.evaluation.result, figure.measure, most)
    yield "Lowest queries:" if lowest else "Every query has the same value."
    texts = figure.evaluation.tested.queries if lowest else {}
    for query_id, value in lowest:
        text = printable(" ".join(texts.get(query_id, "")[: 20 * _TEXT].split()))
        yield f"  {printable(query_id)}  {value:.4f}  {cut(text, _TEXT)}".rstrip()
    if lowest:
        yield from _opened(figure.evaluation.gold, lowest[0][0])


def _opened(gold: Gold, query_id: str) -> Iterator[str]:
    command = command_for(query_id, makers_of(gold).place)
    if command:
        yield f"Open a query: {command}"
