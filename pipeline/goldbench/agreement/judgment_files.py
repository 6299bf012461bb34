"""Labels of one or several assessors: judgments of models, reviews of people, qrels, tables with a column per assessor.

``FILE@NAME`` takes the labels of one assessor alone.
"""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from goldbench.errors import InputError
from goldbench.formats.faults import Fault, Place, in_file, read_rows
from goldbench.formats.lines import csv_records, json_objects
from goldbench.formats.packed_files import STDIN, Source, decoded
from goldbench.formats.runs.judgments import Grades
from goldbench.formats.runs.run_tables import kind_of, read_table
from goldbench.formats.runs.trec import is_grade
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.gold_path import read_gold
from goldbench.measures.ranks.columns import column_of
from goldbench.records.judgment import Judgment
from goldbench.text.display import amount, shown

_DOCUMENT = ("chunk_id", "doc_id", "docid", "corpus-id", "corpus_id")
_QUERY = ("query_id", "query-id", "qid")
_GRADE = ("relevance", "first_grade", "grade", "label", "score")
_ASSESSOR = ("assessor", "annotator", "rater", "judge", "reviewer")
_RAGGED = 0.01
"""The share of rows with too many or too few cells above which a table is refused (0.01 = 1 %)."""
_TARGETED = "B"
"""The review lane of pairs that were picked because they look wrong, and so are not a sample."""

Rows = Sequence[tuple[Place, Sequence[object]]]
"""The place and the cells of each row."""


@dataclass(slots=True)
class Labels:
    """The grade by query and document, for each assessor.

    ``weights`` holds for a pair the inverse of the probability with which it was drawn, if that is known. ``remarks``
    are lines about rubrics and about judgments that were left out, ``planted`` the judgments of pairs made up to test
    the judge.
    """

    name: str
    path: Path
    raters: dict[str, Grades]
    weights: dict[str, dict[str, float]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    copies: set[tuple[str, str]] = field(default_factory=set)
    planted: list[Judgment] = field(default_factory=list)
    """Pairs that nobody judged: near-duplicates that share the grade of another pair."""


def read_labels(given: str) -> Labels:
    """Return the labels in a file or folder.

    Args:
        given: A path, or ``PATH@ASSESSOR``: JSON Lines of judgments or reviews, TREC or BEIR qrels, a table with one
            column of grades or one per assessor, ``dataset.json``, the folder of a run.

    Raises:
        InputError: It cannot be read, something in it is wrong, or it has no such assessor.
    """
    path, wanted = _parted(given)
    labels = _read(path)
    if not any(labels.raters.values()):
        raise InputError(
            shown(path), "holds no judgment; give lines of query, 0, passage and grade, or the folder of a gold set"
        )
    if wanted is None:
        return labels
    if wanted not in labels.raters:
        raise InputError(shown(path), f"has no assessor {shown(wanted)!r}; it has {_names(labels.raters)}")
    labels.raters = {wanted: labels.raters[wanted]}
    labels.name = wanted
    return labels


def tell_apart(one: Labels, other: Labels) -> None:
    """Rename two sets of labels of one name by the part of their paths that differs, or as the first and the second."""
    if one.name != other.name:
        return
    parts = [labels.path.resolve().parts for labels in (one, other)]
    depth = next((n for n in range(1, max(map(len, parts)) + 1) if parts[0][-n:] != parts[1][-n:]), None)
    for labels, path, turn in zip((one, other), parts, ("first", "second"), strict=True):
        place = turn if depth is None else shown("/".join(path[-depth:]).replace("//", "/"))
        labels.name = place if labels.name in place else f"{labels.name} ({place})"


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
        judgments = GoldFolder(place).judgments
        return _lines(Source(judgments.path), place.name) if judgments.exists() else _single(path)
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
    """Return the name of labels: that of their file without suffixes."""
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
    rubrics: Counter[str] = Counter()
    for line, record in json_objects(source):
        if "client_id" in record:
            raise Fault("is a ledger of acts, not of grades; export the reviews", line=line).of(source.name)
        if record.get("canary") is not None:
            canaries += 1
            labels.planted += _planted(record)
        elif record.get("lane") == _TARGETED:
            targeted += 1
        else:
            rubric = record.get("rubric") or record.get("rubric_sha")
            rubrics.update([rubric] if isinstance(rubric, str) else [])
            try:
                _take(record, line, labels, seen)
            except Fault as fault:
                raise fault.at(line).of(source.name) from None
    if rubrics:
        uses = ", ".join(f"{shown(rubric)} ({amount(count, 'judgment')})" for rubric, count in sorted(rubrics.items()))
        labels.remarks.append(f"{name}: judged by rubric {uses}")
    if canaries:
        labels.remarks.append(f"{name}: {amount(canaries, 'judge check')} left out")
    if targeted:
        labels.remarks.append(
            f"{name}: {amount(targeted, 'review')} of likely judge errors left out: not a random sample"
        )
    return labels


def _planted(record: Mapping[str, Any]) -> Iterator[Judgment]:
    """Yield the judgment of a pair made up to test the judge, unless it is not a whole record of one."""
    with contextlib.suppress(ValidationError):
        yield Judgment.model_validate(record)


def _take(record: Mapping[str, Any], line: int, labels: Labels, seen: dict[tuple[str, str, str], int]) -> None:
    """Add the judgment of a line to the labels."""
    query_id, doc_id = _text(record, _QUERY), _text(record, _DOCUMENT)
    grade = _grade(record)
    assessor = _text(record, _ASSESSOR, default=labels.name)
    first = seen.setdefault((assessor, query_id, doc_id), line)
    if first != line:
        problem = f"{shown(assessor)} graded {doc_id!r} for query {query_id!r} already in line {first}"
        raise Fault(f"{problem}; keep one of the two")
    if record.get("shared_from") is not None:
        labels.copies.add((query_id, doc_id))
    labels.raters.setdefault(assessor, {}).setdefault(query_id, {})[doc_id] = grade
    drawn = record.get("inclusion")
    if isinstance(drawn, int | float) and not isinstance(drawn, bool) and 0 < drawn <= 1:
        labels.weights.setdefault(query_id, {})[doc_id] = 1 / drawn


def _text(record: Mapping[str, Any], names: tuple[str, ...], *, default: str | None = None) -> str:
    found = next((record[name] for name in names if record.get(name) is not None), default)
    if not isinstance(found, str) or not found:
        raise Fault(f"has no {names[0]} that is a string")
    return found


def _grade(record: Mapping[str, Any]) -> int:
    found = next((record[name] for name in _GRADE if record.get(name) is not None), None)
    if found is None or not is_grade(found):
        raise Fault("has no relevance (or grade) that is a whole number")
    return int(found)


def _table(source: Source, kind: Literal["csv", "tsv", "parquet"]) -> Labels:
    with in_file(source.name):
        columns, rows, remark = _parquet_rows(source) if kind == "parquet" else _text_rows(source, kind)
        labels = _labels_of(columns, rows, _stem(source.path), source.path)
    labels.remarks += [f"{labels.name}: {remark}"] if remark else []
    return labels


def _labels_of(columns: list[str], rows: Rows, name: str, path: Path) -> Labels:
    query, document = column_of("query", columns), column_of("doc", columns)
    if query is None or document is None:
        missing = "query_id" if query is None else "doc_id"
        raise Fault(f"has no column {missing}; rename the right column to it")
    grade = column_of("grade", columns)
    assessor = next((column for column in columns if column.strip().lower() in _ASSESSOR), None) if grade else None
    given = [grade] if grade is not None else [c for c in columns if c not in {query, document}]
    if not given:
        raise Fault("has no column of grades")
    labels = Labels(name, path, {})

    def take(_: Place, cells: Sequence[object]) -> None:
        row = dict(zip(columns, cells, strict=True))
        query_id, doc_id = _id(row[query]), _id(row[document])
        if not query_id or not doc_id:
            raise Fault("an id is empty")
        for column in given:
            value = _cell(row[column], column)
            if value is None:
                continue
            rater = _id(row[assessor]) if assessor else name if grade else column
            judged = labels.raters.setdefault(rater, {}).setdefault(query_id, {})
            if doc_id in judged:
                raise Fault(f"{shown(rater)} graded {doc_id!r} for query {query_id!r} already")
            judged[doc_id] = value

    for _ in read_rows(rows, take):
        pass
    return labels


def _id(cell: object) -> str:
    return "" if cell is None else str(cell)


def _parquet_rows(source: Source) -> tuple[list[str], Rows, str | None]:
    table, _ = read_table(source, "parquet")
    return table.columns, [(f"row {number}", row) for number, row in enumerate(table.iter_rows(), 1)], None


def _text_rows(source: Source, kind: str) -> tuple[list[str], Rows, str | None]:
    """Return the columns and rows of a CSV or TSV file, and a remark on rows of another length, which are left out."""
    text = decoded(source.read())
    first = text.split("\n", 1)[0]
    delimiter = "\t" if kind == "tsv" else ";" if first.count(";") >= 2 else ","
    records = csv_records(io.StringIO(text, newline=""), delimiter=delimiter)
    columns = next(records, (1, []))[1]
    rows: list[tuple[int, list[str]]] = []
    ragged: list[int] = []
    for line, cells in records:
        if len(cells) == len(columns):
            rows.append((line, cells))
        else:
            ragged.append(line)
    if len(set(columns)) < len(columns):
        raise Fault("two columns have the same name", line=1)
    if len(ragged) > _RAGGED * (len(rows) + len(ragged)):
        raise Fault(f"a row does not have the {len(columns)} columns of the first", line=ragged[0])
    many = f"{amount(len(ragged), 'row')} without {len(columns)} columns"
    return columns, rows, f"{many} left out (the first: line {ragged[0]})" if ragged else None


def _cell(cell: object, column: str) -> int | None:
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
