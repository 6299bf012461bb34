"""A data set for the Hugging Face Hub: Parquet files and the card by which ``datasets`` loads each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldbench.exports.beir_files import about, corpus_rows, judgments, languages
from goldbench.exports.exported_set import ExportedQuery, ExportedSet
from goldbench.exports.json_files import write_json, write_json_lines
from goldbench.formats.dataset_card import Columns, Contents, Made, Table, contents_of, dataset_card, write_parquet
from goldbench.formats.interchange_names import BEIR_CARD, EXPORT_ABOUT, JUDGMENT_COLUMNS

_TEST = "test"

_KEY: Columns = {"query-id": "string"}
_TEXTS: Columns = {"_id": "string", "text": "string"}
"""Nothing else: the loader of MTEB refuses a column in which a row has no value."""
_ANSWERS: Columns = {**_KEY, "answer": "string", "evidence": ({"quote": "string", "corpus-id": "string"},)}
_NOTES: Columns = {
    "source": "string",
    "needs": ("string",),
    "asked": "string",
    "history": ({"question": "string", "answer": "string"},),
    "kind": "string",
    "style": "string",
    "language": "string",
    "difficulty": "string",
    "frequency": "int64",
    "traffic": "float64",
}
"""What is known of single queries; a set has the columns of which at least one query knows something."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A configuration of the data set, and its rows."""

    table: Table
    rows: Iterable[Mapping[str, Any]]


def write(exported: ExportedSet, place: Path) -> None:
    """Write the files and their card.

    Args:
        exported: The set.
        place: An empty folder.
    """
    parts = list(_parts(exported))
    contents = {part.table.name: _write_part(part, place) for part in parts}
    made = Made(
        metadata=exported.metadata,
        grades=Counter(grade for _, _, grade in judgments(exported)),
        languages=languages(exported),
        tables=tuple(part.table for part in parts),
        level=exported.level,
        parquet=True,
    )
    (place / BEIR_CARD).write_text(dataset_card(contents, made), encoding="utf-8", newline="\n")
    write_json(place / EXPORT_ABOUT, about(exported))


def _write_part(part: _Part, place: Path) -> Contents:
    """Write a table by way of JSON Lines, so that the memory does not grow with it."""
    lines = place / f"{part.table.name}.jsonl"
    write_json_lines(lines, part.rows)
    with lines.open("rb") as file:
        contents = contents_of(file)
    write_parquet(part.table, lines, place / part.table.parquet)
    lines.unlink()
    return contents


def _parts(exported: ExportedSet) -> Iterator[_Part]:
    answerable = [query for query in exported.queries if query.answerable]
    unanswerable = [query for query in exported.queries if not query.answerable]
    yield _Part(_table("corpus", {**_TEXTS, "title": "string"}), corpus_rows(exported))
    yield _Part(_table("queries", _TEXTS), map(_text, answerable))
    columns: Columns = dict(zip(JUDGMENT_COLUMNS, ("string", "string", "int32"), strict=True))
    judged = (dict(zip(JUDGMENT_COLUMNS, judgment, strict=True)) for judgment in judgments(exported))
    yield _Part(_table("qrels", columns, _TEST), judged)
    if exported.references:
        yield _Part(_table("answers", _ANSWERS, _TEST), (_answer(query) for query in answerable if query.answer))
    notes = [{"query-id": query.query_id, **_notes(query)} for query in answerable]
    known = {name: kind for name, kind in _NOTES.items() if any(name in row for row in notes)}
    if known:
        yield _Part(_table("notes", {**_KEY, **known}, _TEST), notes)
    if unanswerable:
        rows = ({**_text(query), "source": query.source} for query in unanswerable)
        yield _Part(_table("unanswerable", {**_TEXTS, "source": "string"}, _TEST), rows)


def _table(name: str, columns: Columns, split: str | None = None) -> Table:
    file = f"{name}.parquet"
    return Table(name, split or name, file, file, columns)


def _text(query: ExportedQuery) -> dict[str, Any]:
    return {"_id": query.query_id, "text": query.alone}


def _answer(query: ExportedQuery) -> dict[str, Any]:
    evidence = [{"quote": one.text, "corpus-id": one.doc_id} for one in query.evidence]
    return {"query-id": query.query_id, "answer": query.answer, "evidence": evidence}


def _notes(query: ExportedQuery) -> dict[str, Any]:
    return {name: value for name, value in query.described().items() if name in _NOTES}
