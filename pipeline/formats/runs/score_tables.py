"""Scores of systems under several sets of labels, per query or as means: one row per score, or a column per set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from pipeline.errors import InputError
from pipeline.formats.runs.packed_files import Source
from pipeline.formats.runs.run_tables import kind_of, read_table
from pipeline.text.display import shown

_SETS = ("qrels", "labels", "judge", "judgments", "assessor", "source", "labelset", "label_set")
_SYSTEMS = ("system", "run", "runid", "run_id", "name", "model", "tag")
_QUERIES = ("query", "query_id", "query-id", "qid", "topic")

Scores = dict[str, dict[str, float]]
"""Score by query and system; a mean stands under the empty query."""


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Scores by set of labels, measure, system and query. ``has_queries`` is false where only means were given."""

    name: str
    sets: Mapping[str, Mapping[str, Scores]]
    measures: tuple[str, ...]
    has_queries: bool

    def scores(self, labels: str, measure: str) -> Scores:
        """Return the scores under one set of labels.

        Raises:
            InputError: There is no such set, or no such measure.
        """
        if labels not in self.sets:
            known = ", ".join(shown(name) for name in self.sets)
            raise InputError(self.name, f"has no set of labels {shown(labels)!r}; it has {known}")
        if measure not in self.measures:
            raise InputError(
                self.name, f"has no measure {shown(measure)!r}; it has {', '.join(map(shown, self.measures))}"
            )
        return self.sets[labels][measure]


def read_scores(path: str) -> ScoreTable:
    """Return the scores in a CSV, TSV or Parquet file, packed or not.

    It has a column ``system``, a column ``query`` unless its scores are means, and either a column that names the set
    of labels (``qrels``) beside one column per measure, or one column of scores per set of labels.

    Raises:
        InputError: It is no such table, a score is no finite number, or one stands twice.
    """
    source = Source(path)
    kind = kind_of(source)
    table, where = read_table(source, kind if kind in {"csv", "tsv", "parquet"} else "csv")
    system, query = _column(table.columns, _SYSTEMS), _column(table.columns, _QUERIES)
    labels = _column(table.columns, _SETS)
    if system is None:
        raise InputError(source.name, "has no column system")
    values = [column for column in table.columns if column not in {system, query, labels}]
    if not values:
        raise InputError(source.name, "has no column of scores")
    sets: dict[str, dict[str, Scores]] = {}
    chosen = [system, *([query] if query else []), *([labels] if labels else []), *values]
    for row, cells in enumerate(table.select(chosen).iter_rows()):
        rest = iter(cells)
        name = _name(next(rest), system, source, row)
        query_id = _name(next(rest), query, source, row) if query else ""
        group = _name(next(rest), labels, source, row) if labels else None
        for column, cell in zip(values, rest, strict=True):
            measures = sets.setdefault(group if group is not None else column, {})
            scores = measures.setdefault(column if group is not None else "score", {}).setdefault(name, {})
            if query_id in scores:
                raise InputError(source.name, f"row {row + 1:,}: this score stands there already", **where(row))
            scores[query_id] = _number(cell, column, source, row)
    return ScoreTable(source.name, sets, tuple(values) if labels else ("score",), query is not None)


def _column(columns: list[str], names: tuple[str, ...]) -> str | None:
    plain = {column.strip().lower(): column for column in reversed(columns)}
    return next((plain[name] for name in names if name in plain), None)


def _name(cell: object, column: str | None, source: Source, row: int) -> str:
    if cell is None or not str(cell).strip():
        raise InputError(source.name, f"row {row + 1:,}: the cell of {column} is empty")
    return str(cell)


def _number(cell: object, column: str, source: Source, row: int) -> float:
    try:
        value = float(str(cell))
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise InputError(source.name, f"row {row + 1:,}: column {shown(column)!r} holds no finite number")
    return value
