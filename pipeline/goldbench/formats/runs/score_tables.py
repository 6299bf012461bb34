"""Scores of systems under several sets of labels, per query or as means, in a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from goldbench.errors import InputError
from goldbench.formats.faults import Fault, in_file
from goldbench.formats.packed_files import Source
from goldbench.formats.runs.run_tables import kind_of, read_table
from goldbench.text.display import shown

if TYPE_CHECKING:
    from goldbench.measures.ranks.columns import Table

_SETS = ("qrels", "labels", "judge", "judgments", "assessor", "source", "labelset", "label_set")
_SYSTEMS = ("system", "run", "runid", "run_id", "name", "model", "tag")
_QUERIES = ("query", "query_id", "query-id", "qid", "topic")

Scores = dict[str, dict[str, float]]
"""Score by system, then by query; a mean has the empty string as its query."""


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Scores by set of labels, measure, system and query. ``has_queries`` is false if the table holds only means."""

    name: str
    sets: Mapping[str, Mapping[str, Scores]]
    measures: tuple[str, ...]
    has_queries: bool

    def scores(self, labels: str, measure: str) -> Scores:
        """Return the scores under one set of labels.

        Raises:
            InputError: The set or the measure is not in the table.
        """
        for what, name, known in (("set of labels", labels, self.sets), ("measure", measure, self.measures)):
            if name not in known:
                problem = f"has no {what} {shown(name)!r}; it has {', '.join(map(shown, known))}"
                raise InputError(self.name, problem)
        return self.sets[labels][measure]


def read_scores(path: str) -> ScoreTable:
    """Return the scores in a CSV, TSV or Parquet file, packed or not.

    It has a column ``system``, a column ``query`` unless its scores are means, and either a column with the set of
    labels (``qrels``) and one column per measure, or one column of scores per set of labels.

    Raises:
        InputError: The file is not such a table, a score is not a finite number, or there are two of one score.
    """
    source = Source(path)
    kind = kind_of(source)
    table = read_table(source, kind if kind in {"csv", "tsv", "parquet"} else "csv")
    with in_file(source.name):
        return _scores(table)


def _scores(table: Table) -> ScoreTable:
    frame = table.frame
    system, query = _column(frame.columns, _SYSTEMS), _column(frame.columns, _QUERIES)
    labels = _column(frame.columns, _SETS)
    if system is None:
        raise Fault("has no column system")
    values = [column for column in frame.columns if column not in {system, query, labels}]
    if not values:
        raise Fault("has no column of scores")
    sets: dict[str, dict[str, Scores]] = {}
    chosen = [system, *([query] if query else []), *([labels] if labels else []), *values]
    for row, cells in enumerate(frame.select(chosen).iter_rows()):
        try:
            rest = iter(cells)
            name = _name(next(rest), system)
            query_id = _name(next(rest), query) if query else ""
            group = _name(next(rest), labels) if labels else None
            for column, cell in zip(values, rest, strict=True):
                measures = sets.setdefault(group if group is not None else column, {})
                scores = measures.setdefault(column if group is not None else "score", {}).setdefault(name, {})
                _add(scores, query_id, _number(cell, column))
        except Fault as fault:
            raise table.error(fault.problem, row) from None
    return ScoreTable(table.name, sets, tuple(values) if labels else ("score",), query is not None)


def _column(columns: list[str], names: tuple[str, ...]) -> str | None:
    plain = {column.strip().lower(): column for column in reversed(columns)}
    return next((plain[name] for name in names if name in plain), None)


def _name(cell: object, column: str | None) -> str:
    if cell is None or not str(cell).strip():
        raise Fault(f"the cell of {column} is empty")
    return str(cell)


def _add(scores: dict[str, float], query_id: str, score: float) -> None:
    if query_id in scores:
        raise Fault("an earlier row has this score already")
    scores[query_id] = score


def _number(cell: object, column: str) -> float:
    try:
        value = float(str(cell))
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise Fault(f"column {shown(column)!r} does not hold a finite number")
    return value
