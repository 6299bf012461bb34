"""Labels of one or several assessors: judgments of models, reviews of people, qrels, tables with a column per assessor.

``FILE@NAME`` takes the labels of one assessor alone.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from goldbench.errors import InputError
from goldbench.formats.faults import Fault, in_file
from goldbench.formats.lines import json_objects
from goldbench.formats.packed_files import STDIN, Source
from goldbench.formats.runs.judgments import Grades
from goldbench.formats.runs.run_tables import kind_of, read_table
from goldbench.formats.runs.trec import is_grade
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.gold_path import read_gold
from goldbench.measures.ranks.columns import Table, column_of
from goldbench.records.judgment import Judgment
from goldbench.text.display import amount, shown

_DOCUMENT = ("chunk_id", "doc_id", "docid", "corpus-id", "corpus_id")
_QUERY = ("query_id", "query-id", "qid")
_GRADE = ("relevance", "first_grade", "grade", "label", "score")
_ASSESSOR = ("assessor", "annotator", "rater", "judge", "reviewer")
_TARGETED = "B"
"""The review lane of pairs that were picked because they look wrong, and so are not a sample."""


@dataclass(slots=True)
class Labels:
    """The grade by query and document, for each assessor.

    ``weights`` holds for a pair the inverse of the probability with which it was drawn, if that is known. ``remarks``
    are lines about rubrics and about judgments that were left out, ``planted`` the judgments of pairs made up to test
    the judge, ``copies`` the pairs that nobody judged: near-duplicates that share the grade of another pair.
    """

    name: str
    path: Path
    raters: dict[str, Grades]
    weights: dict[str, dict[str, float]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    copies: set[tuple[str, str]] = field(default_factory=set)
    planted: list[Judgment] = field(default_factory=list)

    def add(self, assessor: str, query_id: str, doc_id: str, grade: int) -> None:
        """Add the grade of a pair.

        Raises:
            Fault: The assessor graded the pair already.
        """
        judged = self.raters.setdefault(assessor, {}).setdefault(query_id, {})
        if doc_id in judged:
            problem = f"{shown(assessor)} graded {doc_id!r} for query {query_id!r} already; keep one of the two"
            raise Fault(problem)
        judged[doc_id] = grade


def read_labels(argument: str) -> Labels:
    """Return the labels in a file or folder.

    Args:
        argument: A path, or ``PATH@ASSESSOR``: JSON Lines of judgments or reviews, TREC or BEIR qrels, a table with one
            column of grades or one per assessor, ``dataset.json``, the folder of a run.

    Raises:
        InputError: It cannot be read, something in it is wrong, or it has no such assessor.
    """
    path, assessor = _split(argument)
    labels = _read(path)
    if not any(labels.raters.values()):
        problem = "holds no judgment; give lines of query, 0, passage and grade, or the folder of a gold set"
        raise InputError(shown(path), problem)
    if assessor is None:
        return labels
    if assessor not in labels.raters:
        names = [shown(name) for name in sorted(labels.raters)]
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        raise InputError(shown(path), f"has no assessor {shown(assessor)!r}; it has {', '.join(names[:8])}{more}")
    labels.raters = {assessor: labels.raters[assessor]}
    labels.name = assessor
    return labels


def tell_apart(first: Labels, second: Labels) -> None:
    """Rename two sets of labels of one name by the part of their paths that differs, or as the first and the second."""
    if first.name != second.name:
        return
    parts = [labels.path.resolve().parts for labels in (first, second)]
    depth = next((n for n in range(1, max(map(len, parts)) + 1) if parts[0][-n:] != parts[1][-n:]), None)
    for labels, path, turn in zip((first, second), parts, ("first", "second"), strict=True):
        suffix = turn if depth is None else shown("/".join(path[-depth:]).replace("//", "/"))
        labels.name = suffix if labels.name in suffix else f"{labels.name} ({suffix})"


def _split(argument: str) -> tuple[str, str | None]:
    """Return the path, and the assessor after it if one is named; a path may hold an @ as well."""
    if not Path(argument).exists():
        for at in re.finditer("@", argument):
            path = argument[: at.start()]
            if path and Path(path).exists():
                return path, argument[at.end() :]
    return argument, None


def _read(argument: str) -> Labels:
    path = Path(argument)
    if path.is_dir():
        judgments = GoldFolder(path).judgments
        if judgments.exists():
            return _read_lines(Source(judgments.path), path.name)
    else:
        source = Source(argument)
        kind = kind_of(source)
        if kind == "jsonl":
            return _read_lines(source, _name_of(path))
        if kind in {"csv", "tsv", "parquet"}:
            with in_file(source.name):
                return _labels_of(read_table(source, kind), _name_of(path), path)
    grades, _ = read_gold(argument)
    name = _name_of(path)
    return Labels(name, path, {name: grades})


def _name_of(path: Path) -> str:
    """Return the name of labels: that of their file without suffixes."""
    resolved = path.resolve() if str(path) != STDIN else Path("standard input")
    name = resolved.name
    for suffix in (".gz", ".zst", ".zstd", ".jsonl", ".json", ".csv", ".tsv", ".txt", ".trec", ".qrels", ".parquet"):
        name = name.removesuffix(suffix)
    return shown(name or resolved.name or path)


def _read_lines(source: Source, name: str) -> Labels:
    labels = Labels(name, source.path, {})
    canaries = targeted = 0
    rubrics: Counter[str] = Counter()
    for line, record in json_objects(source):
        if "client_id" in record:
            raise Fault("is a ledger of acts, not of grades; export the reviews", line=line).of(source.name)
        if record.get("canary") is not None:
            canaries += 1
            with contextlib.suppress(ValidationError):  # another tool's record of a check has no figures to give
                labels.planted.append(Judgment.model_validate(record))
        elif record.get("lane") == _TARGETED:
            targeted += 1
        else:
            rubric = record.get("rubric") or record.get("rubric_sha")
            rubrics.update([rubric] if isinstance(rubric, str) else [])
            try:
                _add_record(labels, record)
            except Fault as fault:
                raise fault.at(line).of(source.name) from None
    if rubrics:
        uses = ", ".join(f"{shown(rubric)} ({amount(count, 'judgment')})" for rubric, count in sorted(rubrics.items()))
        labels.remarks.append(f"{name}: judged by rubric {uses}")
    if canaries:
        labels.remarks.append(f"{name}: {amount(canaries, 'judge check')} left out")
    if targeted:
        reviews = f"{amount(targeted, 'review')} of likely judge errors left out: not a random sample"
        labels.remarks.append(f"{name}: {reviews}")
    return labels


def _add_record(labels: Labels, record: Mapping[str, Any]) -> None:
    query_id = _text(record, _QUERY)
    doc_id = _text(record, _DOCUMENT)
    grade: Any = next((record[name] for name in _GRADE if record.get(name) is not None), None)
    if not is_grade(grade):
        raise Fault("has no relevance (or grade) that is a whole number")
    labels.add(_text(record, _ASSESSOR, default=labels.name), query_id, doc_id, int(grade))
    if record.get("shared_from") is not None:
        labels.copies.add((query_id, doc_id))
    inclusion = record.get("inclusion")
    if isinstance(inclusion, int | float) and not isinstance(inclusion, bool) and 0 < inclusion <= 1:
        labels.weights.setdefault(query_id, {})[doc_id] = 1 / inclusion


def _text(record: Mapping[str, Any], names: tuple[str, ...], *, default: str | None = None) -> str:
    value = next((record[name] for name in names if record.get(name) is not None), default)
    if not isinstance(value, str) or not value:
        raise Fault(f"has no {names[0]} that is a string")
    return value


def _labels_of(table: Table, name: str, path: Path) -> Labels:
    columns = table.frame.columns
    query, document, grade = (column_of(role, columns) for role in ("query", "doc", "grade"))
    if query is None or document is None:
        raise Fault(f"has no column {'query_id' if query is None else 'doc_id'}; rename the right column to it")
    if any(re.search(r"_duplicated_\d+$", column) for column in columns):  # so polars calls the second of a name
        raise Fault("two columns have the same name", line=1)
    assessor = next((column for column in columns if column.strip().lower() in _ASSESSOR), None) if grade else None
    graded = [grade] if grade else [column for column in columns if column not in {query, document}]
    if not graded:
        raise Fault("has no column of grades")
    labels = Labels(name, path, {})
    for id_column in (query, document):
        ids = table.frame[id_column]
        table.refuse(ids.is_null() | (ids.cast(str) == ""), "an id is empty")
    for row, cells in enumerate(table.frame.iter_rows(named=True)):
        try:
            for column in graded:
                value = _grade_in(cells[column], column)
                if value is not None:
                    rater = str(cells[assessor] or "") if assessor else name if grade else column
                    labels.add(rater, str(cells[query]), str(cells[document]), value)
        except Fault as fault:
            raise table.error(fault.problem, row) from None
    return labels


def _grade_in(cell: object, column: str) -> int | None:
    """Return the grade in a cell; None if the cell is empty, because this assessor did not grade the pair."""
    text = "" if cell is None else str(cell).strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.5
    if not is_grade(value):
        raise Fault(f"column {shown(column)!r} does not hold a whole number; leave out columns that are not grades")
    return int(value)
