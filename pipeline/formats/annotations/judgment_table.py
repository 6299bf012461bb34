"""Judgments as a table: UTF-8, RFC 4180, a row each, no cell that a spreadsheet would run as a formula."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.errors import InputError
from pipeline.formats.annotations.exchange import Exchange, Given, grade_from, review_of, text_of
from pipeline.text.display import shown

COLUMNS = (
    "kind", "query_id", "chunk_id", "annotator", "grade", "first_grade", "blind", "lane", "inclusion", "ms", "revealed",
    "highlights", "evidence", "note", "rubric_sha", "query", "passage",
)  # fmt: skip
MODEL = "model_grade"

_NEEDED = ("query_id", "chunk_id", "annotator", "grade")
_BEGINS = r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"  # the wide forms, too: spreadsheets for Japanese take them
_FORMULA = re.compile(f"'*{_BEGINS}")
_QUOTED = re.compile(f"'+{_BEGINS}")


def safe(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: an apostrophe goes before one that looks like it."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unsafe(cell: str) -> str:
    """Return the cell as it was before ``safe``: exactly one apostrophe less where one had been put."""
    return cell[1:] if _QUOTED.match(cell) else cell


def write(exchange: Exchange) -> str:
    """Return the table of all judgments and adjudications."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\r\n")
    table.writerow([*COLUMNS, *([MODEL] if exchange.model else [])])
    for row in _rows(exchange):
        pair = row["query_id"], row["chunk_id"]
        row |= {
            "query": exchange.queries.get(pair[0], ""),
            "passage": exchange.passages.get(pair[1], ""),
            "rubric_sha": exchange.rubric_sha,
        }
        cells = [safe(_cell(row.get(name))) for name in COLUMNS]
        if exchange.model:
            cells.append(_cell(int(exchange.model[pair][1]) if pair in exchange.model else None))
        table.writerow(cells)
    return out.getvalue()


def _rows(exchange: Exchange) -> Iterator[dict[str, Any]]:
    for review in exchange.reviews:
        yield {"kind": "judge", **review.model_dump(mode="json")}
    for (query_id, chunk_id), (annotator, grade) in sorted(exchange.adjudicated.items()):
        row = {"query_id": query_id, "chunk_id": chunk_id, "annotator": annotator, "grade": int(grade)}
        yield {"kind": "adjudicate", **row}


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return repr(value) if isinstance(value, float) else str(value)


def read(path: Path) -> Iterator[Given]:
    """Yield the judgments of a table. Columns it does not know are passed over, and so are texts.

    Raises:
        InputError: It is no such table; the message names the line.
    """
    earlier = csv.field_size_limit(sys.maxsize)
    try:
        yield from _read(path)
    finally:
        csv.field_size_limit(earlier)


def _read(path: Path) -> Iterator[Given]:
    reader = csv.reader(io.StringIO(text_of(path), newline=""), strict=True)
    heads: list[str] = []
    start = 1
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise InputError(shown(path), f"is no CSV ({error})", line=start) from None
        if row is None:
            break
        line, start = start, reader.line_num + 1
        if not row:
            continue
        if not heads:
            heads = [name.strip() for name in row]
            _check(heads, path)
            continue
        if len(row) != len(heads):
            raise InputError(shown(path), f"has {len(row)} cells, the first line has {len(heads)}", line=line)
        yield _given({name: unsafe(cell) for name, cell in zip(heads, row, strict=True)}, path, line)
    if not heads:
        raise InputError(shown(path), "is empty")


def _check(heads: list[str], path: Path) -> None:
    missing = [name for name in _NEEDED if name not in heads]
    if missing:
        raise InputError(shown(path), f"has no column {', '.join(missing)}", line=1)
    if len(set(heads)) < len(heads):
        raise InputError(shown(path), "names a column twice", line=1)


def _given(row: dict[str, str], path: Path, line: int) -> Given:
    kind = row.get("kind") or "judge"
    if kind not in {"judge", "adjudicate"}:
        raise InputError(shown(path), "kind is neither judge nor adjudicate", line=line)
    grade = grade_from(row["grade"], path=path, line=line)
    values: dict[str, Any] = {name: row[name] for name in ("query_id", "chunk_id", "annotator")}
    values |= {"grade": grade, "first_grade": grade}
    if row.get("first_grade"):
        values["first_grade"] = grade_from(row["first_grade"], path=path, line=line)
    for name in ("evidence", "note"):
        values[name] = row.get(name, "")
    for name in ("lane", "inclusion", "ms"):
        values[name] = row.get(name) or None
    for name in ("revealed", "highlights"):
        cell = row.get(name) or "no"
        if cell not in {"yes", "no"}:
            raise InputError(shown(path), f"{name} is neither yes nor no", line=line)
        values[name] = cell == "yes"
    cell = row.get("blind") or ("no" if values["revealed"] and values["first_grade"] == grade else "yes")
    if cell not in {"yes", "no"}:
        raise InputError(shown(path), "blind is neither yes nor no", line=line)
    values["blind"] = cell == "yes"
    review = review_of(values, path=path, line=line)
    return Given(line, review, "adjudicate" if kind == "adjudicate" else "judge", row.get("rubric_sha") or None)
