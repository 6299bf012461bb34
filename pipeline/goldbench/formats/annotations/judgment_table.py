"""Judgments as a table: UTF-8, RFC 4180, one row each, no cell that a spreadsheet would run as a formula."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from goldbench.formats.annotations.exchange import Exchange, Given, grade_from, review_of, text_of
from goldbench.formats.faults import Fault, in_file, read_rows
from goldbench.formats.lines import csv_records

COLUMNS = (
    "kind", "query_id", "chunk_id", "annotator", "grade", "first_grade", "blind", "lane", "inclusion", "ms", "revealed",
    "highlights", "evidence", "note", "rubric_sha", "query", "passage",
)  # fmt: skip
MODEL = "model_grade"
ANSWER = "answer"

_NEEDED = ("query_id", "chunk_id", "annotator", "grade")
_BEGINS = r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"  # with the wide forms, which Japanese spreadsheets accept
_FORMULA = re.compile(f"'*{_BEGINS}")
_QUOTED = re.compile(f"'+{_BEGINS}")


def safe(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: one that looks like a formula gets an apostrophe."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unsafe(cell: str) -> str:
    """Return the cell as it was before ``safe``: without the apostrophe that ``safe`` put before it."""
    return cell[1:] if _QUOTED.match(cell) else cell


def write(exchange: Exchange) -> str:
    """Return the table of all judgments and adjudications."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\r\n")
    more = [*([MODEL] if exchange.model else []), *([ANSWER] if exchange.answers else []), *exchange.beside_names]
    table.writerow([*COLUMNS, *more])
    for row in _rows(exchange):
        pair = row["query_id"], row["chunk_id"]
        row |= {
            "query": exchange.judged(pair[0]) if pair[0] in exchange.queries else "",
            "passage": exchange.passages.get(pair[1], ""),
            "rubric_sha": row.get("rubric_sha") or exchange.rubric.sha,
        }
        cells = [safe(_cell(row.get(name))) for name in COLUMNS]
        if exchange.model:
            cells.append(_cell(int(exchange.model[pair][1]) if pair in exchange.model else None))
        if exchange.answers:
            cells.append(safe(exchange.answer(pair[0]).get(ANSWER, "")))
        cells += map(safe, exchange.beside(pair[0]).values())
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
    """Yield the judgments of a table; unknown columns and texts are ignored.

    Raises:
        InputError: The file is not such a table; the message names the line.
    """
    with in_file(path):
        # A note may be of any length; the limit is that of the process, so it is set back.
        earlier = csv.field_size_limit(sys.maxsize)
        try:
            yield from read_rows(_named_cells(csv_records(io.StringIO(text_of(path), newline=""))), _given)
        finally:
            csv.field_size_limit(earlier)


def _named_cells(records: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, dict[str, str]]]:
    heads = [name.strip() for name in next(records, (1, []))[1]]
    if not heads:
        raise Fault("is empty")
    missing = [name for name in _NEEDED if name not in heads]
    if missing:
        raise Fault(f"has no column {', '.join(missing)}", line=1)
    if len(set(heads)) < len(heads):
        raise Fault("names a column twice", line=1)
    for line, row in records:
        if len(row) != len(heads):
            raise Fault(f"has {len(row)} cells, the first line has {len(heads)}", line=line)
        yield line, {name: unsafe(cell) for name, cell in zip(heads, row, strict=True)}


def _given(line: int, row: dict[str, str]) -> Given:
    kind = row.get("kind") or "judge"
    if kind not in {"judge", "adjudicate"}:
        raise Fault("kind is neither judge nor adjudicate")
    grade = grade_from(row["grade"])
    values: dict[str, Any] = {name: row[name] for name in ("query_id", "chunk_id", "annotator")}
    values |= {"grade": grade, "first_grade": grade_from(row["first_grade"]) if row.get("first_grade") else grade}
    values |= {name: row.get(name, "") for name in ("evidence", "note")}
    values |= {name: row.get(name) or None for name in ("lane", "inclusion", "ms")}
    values |= {name: _is_yes(name, row.get(name) or "no") for name in ("revealed", "highlights")}
    default = "no" if values["revealed"] and values["first_grade"] == grade else "yes"
    values["blind"] = _is_yes("blind", row.get("blind") or default)
    review = review_of(values)
    return Given(line, review, "adjudicate" if kind == "adjudicate" else "judge", row.get("rubric_sha") or None)


def _is_yes(name: str, cell: str) -> bool:
    if cell not in {"yes", "no"}:
        raise Fault(f"{name} is neither yes nor no")
    return cell == "yes"
