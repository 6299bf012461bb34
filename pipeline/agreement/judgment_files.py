"""Labels of one or several assessors: judgments of models, reviews of people, qrels, tables with a column per assessor.

``FILE@NAME`` takes the labels of one assessor alone.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from pipeline.errors import InputError
from pipeline.formats.runs.json_maps import read_objects
from pipeline.formats.runs.judgments import Grades
from pipeline.formats.runs.packed_files import STDIN, Source
from pipeline.formats.runs.run_tables import kind_of, read_table
from pipeline.formats.runs.trec import HIGHEST_GRADE, not_utf8, without_mark
from pipeline.goldset.file_names import JUDGMENTS
from pipeline.goldset.gold_path import read_gold
from pipeline.measures.ranks.columns import column_of
from pipeline.text.display import shown

_DOCUMENT = ("chunk_id", "doc_id", "docid", "corpus-id", "corpus_id")
_QUERY = ("query_id", "query-id", "qid")
_GRADE = ("relevance", "first_grade", "grade", "label", "score")
_ASSESSOR = ("assessor", "annotator", "rater", "judge", "reviewer")
_RAGGED = 0.01
"""Of the rows of a table, so many may have too many or too few cells before the file is refused."""
_TARGETED = "B"
"""The review lane of pairs that were picked because they look wrong: no sample of anything."""


@dataclass(slots=True)
class Labels:
    """What assessors said: grade by document and query, for each assessor.

    ``weights`` is what a pair stands for, the inverse of the probability it was drawn with, where that is known.
    ``remarks`` are lines about what was left out.
    """

    name: str
    path: Path
    raters: dict[str, Grades]
    weights: dict[str, dict[str, float]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    copies: set[tuple[str, str]] = field(default_factory=set)
    """Pairs that were not judged themselves: near-duplicates that share the grade of another."""


def read_labels(given: str) -> Labels:
    """Return the labels in a file or folder.

    Args:
        given: a path, or ``PATH@ASSESSOR``: JSON Lines of judgments or reviews, TREC or BEIR qrels, a table with one
            column of grades or one per assessor, ``dataset.json``, the folder of a run.

    Raises:
        InputError: it cannot be read, something in it is wrong, or it names no such assessor.
    """
    path, wanted = _parted(given)
    labels = _read(path)
    if not any(labels.raters.values()):
        raise InputError(shown(path), "holds no judgment")
    if wanted is None:
        return labels
    if wanted not in labels.raters:
        raise InputError(shown(path), f"has no assessor {shown(wanted)!r}; it has {_names(labels.raters)}")
    labels.raters = {wanted: labels.raters[wanted]}
    labels.name = wanted
    return labels


def _names(raters: Mapping[str, Grades]) -> str:
    names = [shown(name) for name in sorted(raters)]
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _parted(given: str) -> tuple[str, str | None]:
    if given == STDIN or Path(given).exists() or "@" not in given:
        return given, None
    places = [place for place, character in enumerate(given) if character == "@"]
    for place in places:
        if place and Path(given[:place]).exists():
            return given[:place], given[place + 1 :]
    return given, None


def _read(path: str) -> Labels:
    place = Path(path)
    if place.is_dir():
        file = place / JUDGMENTS
        return _lines(Source(file), place.name) if file.is_file() else _single(path)
    source = Source(path)
    kind = kind_of(source)
    if kind == "jsonl":
        return _lines(source, _stem(place))
    if kind in {"csv", "parquet"} or (kind == "tsv" and not _is_beir(source)):
        return _table(source, kind)
    return _single(path)


def _single(path: str) -> Labels:
    grades, _ = read_gold(path)
    name = _stem(Path(path))
    return Labels(name, Path(path), {name: grades})


def _stem(path: Path) -> str:
    """Return how labels are called: by their file, or by the folder that a file of a usual name is in."""
    resolved = path.resolve() if str(path) != STDIN else Path("standard input")
    name = resolved.name
    for suffix in (".gz", ".zst", ".zstd", ".jsonl", ".json", ".csv", ".tsv", ".txt", ".trec", ".qrels", ".parquet"):
        name = name.removesuffix(suffix)
    return shown(name or resolved.name or path)


def _is_beir(source: Source) -> bool:
    with source.open() as file:
        head = file.readline(4096).decode("utf-8", "replace").lower().lstrip("\N{ZERO WIDTH NO-BREAK SPACE}")
    return len(head.split("\t")) == 3 and column_of("grade", head.strip().split("\t")) is not None


def _lines(source: Source, name: str) -> Labels:
    labels = Labels(name, source.path, {})
    seen: dict[tuple[str, str, str], int] = {}
    canaries = targeted = 0
    for line, record in read_objects(source):
        if "client_id" in record:
            raise InputError(source.name, "is a ledger of acts, not of grades; export the reviews", line=line)
        if record.get("canary") is not None:
            canaries += 1
            continue
        if record.get("lane") == _TARGETED:
            targeted += 1
            continue
        query_id, doc_id = _text(record, _QUERY, source, line), _text(record, _DOCUMENT, source, line)
        grade = _grade(record, source, line)
        assessor = _text(record, _ASSESSOR, source, line, default=name)
        first = seen.setdefault((assessor, query_id, doc_id), line)
        if first != line:
            problem = f"{shown(assessor)} graded {doc_id!r} for query {query_id!r} already in line {first}"
            raise InputError(source.name, f"{problem}; keep one of the two", line=line)
        if record.get("shared_from") is not None:
            labels.copies.add((query_id, doc_id))
        labels.raters.setdefault(assessor, {}).setdefault(query_id, {})[doc_id] = grade
        drawn = record.get("inclusion")
        if isinstance(drawn, int | float) and not isinstance(drawn, bool) and 0 < drawn <= 1:
            labels.weights.setdefault(query_id, {})[doc_id] = 1 / drawn
    if canaries:
        labels.remarks.append(f"{name}: {canaries:,} judgments of made-up pairs (canaries) are left out")
    if targeted:
        labels.remarks.append(f"{name}: {targeted:,} reviews of lane B are left out: they are no sample")
    return labels


def _text(
    record: Mapping[str, Any], names: tuple[str, ...], source: Source, line: int, *, default: str | None = None
) -> str:
    found = next((record[name] for name in names if record.get(name) is not None), default)
    if not isinstance(found, str) or not found:
        raise InputError(source.name, f"has no {names[0]} that is a string", line=line)
    return found


def _grade(record: Mapping[str, Any], source: Source, line: int) -> int:
    found = next((record[name] for name in _GRADE if record.get(name) is not None), None)
    if isinstance(found, bool) or not isinstance(found, int | float) or abs(found) > HIGHEST_GRADE or found % 1:
        raise InputError(source.name, "has no relevance (or grade) that is a whole number", line=line)
    return int(found)


def _table(source: Source, kind: Literal["csv", "tsv", "parquet"]) -> Labels:
    columns, rows, remark = _parquet_rows(source) if kind == "parquet" else _text_rows(source, kind)
    query, document = column_of("query", columns), column_of("doc", columns)
    if query is None or document is None:
        missing = "query_id" if query is None else "doc_id"
        raise InputError(source.name, f"has no column {missing}; rename the one that is it")
    name = _stem(source.path)
    grade = column_of("grade", columns)
    assessor = next((column for column in columns if column.strip().lower() in _ASSESSOR), None) if grade else None
    given = [grade] if grade is not None else [c for c in columns if c not in {query, document}]
    if not given:
        raise InputError(source.name, "has no column of grades")
    labels = Labels(name, source.path, {}, remarks=[f"{name}: {remark}"] if remark else [])
    places = {column: place for place, column in enumerate(columns)}
    for line, row in rows:
        query_id, doc_id = _id(row[places[query]]), _id(row[places[document]])
        if not query_id or not doc_id:
            raise InputError(source.name, "an id is empty", line=line)
        for column in given:
            value = _cell(row[places[column]], column, source, line)
            if value is None:
                continue
            rater = _id(row[places[assessor]]) if assessor else name if grade else column
            judged = labels.raters.setdefault(rater, {}).setdefault(query_id, {})
            if doc_id in judged:
                problem = f"{shown(rater)} graded {doc_id!r} for query {query_id!r} already"
                raise InputError(source.name, problem, line=line)
            judged[doc_id] = value
    return labels


def _id(cell: object) -> str:
    return "" if cell is None else str(cell)


Rows = Sequence[tuple[int | None, Sequence[object]]]
"""The line of each row, where it has one, and its cells."""


def _parquet_rows(source: Source) -> tuple[list[str], Rows, str | None]:
    table, _ = read_table(source, "parquet")
    return table.columns, [(None, row) for row in table.iter_rows()], None


def _text_rows(source: Source, kind: str) -> tuple[list[str], Rows, str | None]:
    """Return the columns and rows of a CSV or TSV file; a few rows of another length are left out, and said to be."""
    data = without_mark(source.read(), source.name)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(source.name, data[: error.start].count(b"\n") + 1) from None
    first = text.split("\n", 1)[0]
    delimiter = "\t" if kind == "tsv" else ";" if first.count(";") >= 2 else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[int | None, Sequence[object]]] = []
    ragged: list[int] = []
    try:
        columns = next(reader, [])
        for row in reader:
            if len(row) == len(columns):
                rows.append((reader.line_num, row))
            elif row:
                ragged.append(reader.line_num)
    except csv.Error:
        raise InputError(source.name, "is no table: a quote or a cell does not end", line=reader.line_num) from None
    if len(set(columns)) < len(columns):
        raise InputError(source.name, "two columns have the same name", line=1)
    if len(ragged) > _RAGGED * (len(rows) + len(ragged)):
        raise InputError(source.name, f"a row has not the {len(columns)} columns of the first", line=ragged[0])
    many = f"{len(ragged):,} row{'' if len(ragged) == 1 else 's'} without {len(columns)} columns"
    return columns, rows, f"{many} left out (the first: line {ragged[0]})" if ragged else None


def _cell(cell: object, column: str, source: Source, line: int | None) -> int | None:
    """Return the grade in a cell; None where it is empty: this assessor did not grade the pair."""
    text = "" if cell is None else str(cell).strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.5
    if not isfinite(value) or abs(value) > HIGHEST_GRADE or value != int(value):
        problem = f"column {shown(column)!r} holds no whole number; leave out columns that are no grades"
        raise InputError(source.name, problem, line=line)
    return int(value)
