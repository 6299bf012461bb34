"""One's own queries: a query in each row of CSV, TSV, JSON Lines or text, with what answers it if that is known.

What answers a query is named by ids of passages, or by a quotation from a document. A row with neither has no
label, and neither has a line of text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldbench.formats.faults import Fault, in_file, read_rows
from goldbench.formats.lines import json_objects, named_cells, text_lines
from goldbench.formats.packed_files import Source
from goldbench.formats.query_logs import LONGEST
from goldbench.text.display import one_line

QUERY = ("query", "question", "user_query", "text", "q")
PASSAGES = ("passages", "passage_ids", "passage_id", "chunk_ids", "chunk_id", "doc_ids", "doc_id", "relevant")
QUOTE = ("quote", "quotation", "evidence")
DOCUMENT = ("document", "source", "path", "file")
ANSWER = ("answer", "reference_answer")
"""The names of the columns; the first that a file has is taken."""


@dataclass(frozen=True, slots=True)
class OwnQuery:
    """A row: the query, and the ids of the passages that answer it or a quotation from one, if anything is known.

    ``document`` is the path of the document that the quotation stands in, None if it may stand in any.
    """

    text: str
    line: int
    passages: tuple[str, ...] = ()
    quote: str | None = None
    document: str | None = None
    answer: str | None = None

    @property
    def is_labelled(self) -> bool:
        """Whether the row says what answers the query."""
        return bool(self.passages or self.quote)


def read_own_queries(path: Path | str) -> list[OwnQuery]:
    """Return the queries of a file; blank cells are as if they were missing.

    Raises:
        InputError: The file cannot be read or holds no query, or a row is malformed.
    """
    source = Source(path)
    with in_file(source.name):
        if source.suffix in {".jsonl", ".ndjson"}:
            rows: Iterator[tuple[int, Mapping[str, Any]]] = json_objects(source)
        elif source.suffix == ".txt":
            rows = ((line, {QUERY[0]: text}) for line, text in text_lines(source))
        elif source.suffix in {".csv", ".tsv"}:
            rows = named_cells(source)
        else:
            source.size()  # a path without a file is told as such
            raise Fault("not a file of queries; give a .csv, .tsv, .jsonl or .txt file")
        queries = list(read_rows(rows, own_query))
        if not queries:
            raise Fault("holds no query; give rows with a column query")
    return queries


def own_query(line: int, row: Mapping[str, Any]) -> OwnQuery:
    """Return the query of a row.

    Args:
        line: The number of the row, from 1.
        row: Its cells by column.

    Raises:
        Fault: It has no query, or a cell is not text.
    """
    lowered = {str(name).strip().lower(): cell for name, cell in reversed(list(row.items()))}
    text = _cell(lowered, QUERY)
    if text is None or not any(character.isalnum() for character in text):
        raise Fault(f"holds no query; name its column {QUERY[0]}")
    if len(text) > LONGEST:
        raise Fault(f"holds a query of {len(text):,} characters; the longest has {LONGEST:,}")
    quote = _cell(lowered, QUOTE)
    document = _cell(lowered, DOCUMENT)
    passages = _ids(lowered)
    if passages and quote:
        raise Fault("names passages and a quotation; give one of them")
    if document and not quote:
        raise Fault(f"names a document and no quotation; give the words that answer the query as {QUOTE[0]}")
    return OwnQuery(one_line(text), line, passages, quote, document, _cell(lowered, ANSWER))


def _cell(row: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    name = next((column for column in names if column in row), None)
    value = None if name is None else row[name]
    if value is None:
        return None
    if not isinstance(value, str):
        raise Fault(f"{name}: not text")
    return value.strip() or None


def _ids(row: Mapping[str, Any]) -> tuple[str, ...]:
    name = next((column for column in PASSAGES if column in row), None)
    value = None if name is None else row[name]
    if value is None:
        return ()
    ids = value.split() if isinstance(value, str) else value
    if not isinstance(ids, list) or not all(isinstance(column, str) and column for column in ids):
        raise Fault(f"{name}: not ids of passages; separate them by blanks, or give a list in JSON")
    return tuple(dict.fromkeys(ids))
