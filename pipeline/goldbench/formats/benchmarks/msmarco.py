"""MS MARCO: ``collection.tsv`` with queries and qrels, or rows of a query with its passages and ``is_selected``."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from goldbench.formats.benchmarks.collection import Chosen, Collection, Entry, Qrel, Topic, distinct, table_rows
from goldbench.formats.benchmarks.folders import choose, folder_collection
from goldbench.formats.faults import Fault, Location, in_file, read_rows
from goldbench.formats.json_maps import read_json
from goldbench.formats.lines import json_objects
from goldbench.formats.packed_files import Source
from goldbench.text.display import shown

Rows = Iterator[tuple[Location, Mapping[str, Any]]]

NOTE = "Passages shown to the annotator and not selected are unjudged here: not selected is not found irrelevant."


class Shown(NamedTuple):
    """One query with the passages that its annotator saw; ``selected`` are the positions of those used to answer."""

    query_id: str
    query: str
    passages: tuple[str, ...]
    selected: tuple[int, ...]
    location: Location


def read_msmarco(path: Path, chosen: Chosen) -> Collection:
    """Return the collection in a folder, or in a file of rows (JSON, JSON Lines, Parquet).

    Raises:
        InputError: A file is missing or not in the form of MS MARCO.
        UsageError: There are several to choose from.
    """
    if path.is_dir():
        return _folder(path, chosen)
    return rows_collection("msmarco", lambda: _rows(path), shown(path), (path,))


def rows_collection(kind: str, rows: Callable[[], Rows], name: str, files: tuple[Path, ...]) -> Collection:
    """Return queries with their passages as a collection; passages with the same words become one.

    Args:
        kind: The kind of benchmark.
        rows: Reads the rows.
        name: The name of the benchmark in messages.
        files: The files read.
    """

    def read() -> Iterator[Shown]:
        with in_file(name):
            yield from read_rows(rows(), _shown_of_row)

    return Collection(
        kind=kind,
        documents=lambda: distinct(
            Entry(_passage_id(text), "", text, row.location) for row in read() for text in row.passages
        ),
        queries=lambda: (Topic(row.query_id, row.query, row.location) for row in read()),
        judgments=lambda: _judgments(read()),
        names=(name, name, name),
        files=files,
        notes={"unselected": NOTE},
    )


def _shown_of_row(location: Location, row: Mapping[str, Any]) -> Shown:
    """Return the query and passages of a row, its passages a list of objects or an object of lists."""
    query = row.get("query")
    query_id = row.get("query_id")
    passages = row.get("passages")
    if not isinstance(passages, Mapping | Sequence) or isinstance(passages, str):
        raise Fault("has no passages")
    try:
        if isinstance(passages, Mapping):
            texts = list(passages["passage_text"])
            flags = list(passages["is_selected"])
        else:
            texts = [passage["passage_text"] for passage in passages]
            flags = [passage["is_selected"] for passage in passages]
        selected = tuple(position for position, flag in enumerate(flags) if int(flag))
    except (KeyError, TypeError, ValueError):
        raise Fault("has passages without passage_text and is_selected") from None
    if len(texts) != len(flags) or not all(isinstance(text, str) for text in texts):
        raise Fault("has passages whose passage_text and is_selected do not belong together")
    if not isinstance(query, str) or not isinstance(query_id, int | str) or isinstance(query_id, bool):
        raise Fault("has no query or no query_id")
    return Shown(str(query_id), query, tuple(texts), selected, location)


def _folder(folder: Path, chosen: Chosen) -> Collection:
    corpus = choose(
        folder, chosen.corpus, ("collection.tsv", "collection.tsv.gz", "*docs.tsv", "*docs.tsv.gz"), what="corpus"
    )
    split = chosen.split
    queries = choose(folder, chosen.queries, ("queries*.tsv", "*queries*.tsv*"), what="queries", split=split)
    judged = choose(folder, chosen.qrels, ("qrels*.tsv", "*qrels*"), what="qrels", split=split)
    return folder_collection("msmarco", (corpus, queries, judged))


def _rows(path: Path) -> Rows:
    source = Source(path)
    if source.suffix in {".jsonl", ".ndjson"}:
        yield from json_objects(source)
    elif source.suffix == ".json":
        yield from _json(source)
    else:
        yield from table_rows(path)


def _json(source: Source) -> Rows:
    """Yield the rows of a list of objects, or of the official object of columns, each by row number."""
    content = read_json(source)
    if isinstance(content, Mapping):
        columns = {key: content.get(key) for key in ("query_id", "query", "passages")}
        if not all(isinstance(column, Mapping) for column in columns.values()):
            raise Fault("is not an MS MARCO file: there are no query_id, query and passages")
        for key in columns["query_id"] or ():
            yield f"row {key}", {what: (column or {}).get(key) for what, column in columns.items()}
        return
    if not isinstance(content, list) or not all(isinstance(row, Mapping) for row in content):
        raise Fault("is not an MS MARCO file: neither rows nor columns of them")
    yield from ((f"row {number}", row) for number, row in enumerate(content, 1))


def _passage_id(text: str) -> str:
    return "p" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _judgments(rows: Iterator[Shown]) -> Iterator[Qrel]:
    for row in rows:
        for doc_id in dict.fromkeys(_passage_id(row.passages[position]) for position in row.selected):
            yield Qrel(row.query_id, doc_id, 1, row.location)
