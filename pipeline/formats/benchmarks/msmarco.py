"""MS MARCO: ``collection.tsv`` with queries and qrels, or rows of a query with its passages and ``is_selected``."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.errors import InputError
from pipeline.formats.benchmarks.collection import (
    Chosen,
    Collection,
    Entry,
    Place,
    Qrel,
    Topic,
    at,
    choose,
    entries,
    json_rows,
    qrels,
    topics,
)
from pipeline.formats.benchmarks.squad import MEGABYTES
from pipeline.formats.faults import in_file
from pipeline.formats.runs.json_maps import read_json
from pipeline.formats.runs.packed_files import Source
from pipeline.formats.tables import open_table
from pipeline.text.display import shown

NOTE = "Passages shown to the annotator and not selected are unjudged here: not selected is not found irrelevant."


class Shown(NamedTuple):
    """One query with the passages its annotator was shown; ``selected`` are the positions of those used to answer."""

    query_id: str
    query: str
    passages: tuple[str, ...]
    selected: tuple[int, ...]
    place: Place


def read_msmarco(path: Path, chosen: Chosen) -> Collection:
    """Return the collection in a folder, or in a file of rows (JSON, JSON Lines, Parquet).

    Raises:
        InputError: a file is missing or not made as MS MARCO's are.
        UsageError: there are several to choose from.
    """
    if path.is_dir():
        return _folder(path, chosen)
    name = shown(path)
    return rows_collection("msmarco", lambda: _rows(path, name), name, (path,))


def rows_collection(kind: str, rows: Callable[[], Iterator[Shown]], name: str, files: tuple[Path, ...]) -> Collection:
    """Return queries with their passages as a collection; passages of the same words are one."""
    return Collection(
        kind=kind,
        documents=lambda: _documents(rows()),
        queries=lambda: (Topic(row.query_id, row.query, row.place) for row in rows()),
        judgments=lambda: _judgments(rows()),
        names=(name, name, name),
        files=files,
        notes={"unselected": NOTE},
    )


def shown_of_row(row: Mapping[str, Any], name: str, place: Place) -> Shown:
    """Return the query and passages of a row, its passages a list of objects or an object of lists.

    Raises:
        InputError: something is missing or of another kind.
    """
    query, query_id, passages = row.get("query"), row.get("query_id"), row.get("passages")
    try:
        if isinstance(passages, Mapping):
            texts, flags = list(passages["passage_text"]), list(passages["is_selected"])
        elif isinstance(passages, Sequence) and not isinstance(passages, str):
            texts = [passage["passage_text"] for passage in passages]
            flags = [passage["is_selected"] for passage in passages]
        else:
            raise at(name, place, "has no passages")
        selected = tuple(position for position, flag in enumerate(flags) if int(flag))
    except (KeyError, TypeError, ValueError):
        raise at(name, place, "has passages without passage_text and is_selected") from None
    if len(texts) != len(flags) or not all(isinstance(text, str) for text in texts):
        raise at(name, place, "has passages whose passage_text and is_selected do not belong together")
    if not isinstance(query, str) or not isinstance(query_id, int | str) or isinstance(query_id, bool):
        raise at(name, place, "has no query or no query_id")
    return Shown(str(query_id), query, tuple(texts), selected, place)


def _folder(folder: Path, chosen: Chosen) -> Collection:
    corpus = choose(
        folder, chosen.corpus, ("collection.tsv", "collection.tsv.gz", "*docs.tsv", "*docs.tsv.gz"), what="corpus"
    )
    split = chosen.split
    queries = choose(folder, chosen.queries, ("queries*.tsv", "*queries*.tsv*"), what="queries", split=split)
    judged = choose(folder, chosen.qrels, ("qrels*.tsv", "*qrels*"), what="qrels", split=split)
    return Collection(
        kind="msmarco",
        documents=lambda: entries(corpus),
        queries=lambda: topics(queries),
        judgments=lambda: qrels(judged),
        names=(shown(corpus), shown(queries), shown(judged)),
        files=(corpus, queries, judged),
        joins_titles=True,
    )


def _rows(path: Path, name: str) -> Iterator[Shown]:
    suffix = Source(path).suffix
    if suffix in {".jsonl", ".ndjson"}:
        for number, row in json_rows(path):
            yield shown_of_row(row, name, number)
    elif suffix == ".json":
        yield from _json(path, name)
    else:
        with in_file(path):
            for found in open_table(path, megabytes=MEGABYTES).rows():
                yield shown_of_row(found.values, name, f"row {found.number}")


def _json(path: Path, name: str) -> Iterator[Shown]:
    """Yield the rows of a list of objects, or of the official object of columns, each by row number."""
    found = read_json(Source(path))
    if isinstance(found, Mapping):
        columns = {key: found.get(key) for key in ("query_id", "query", "passages")}
        if not all(isinstance(column, Mapping) for column in columns.values()):
            raise InputError(name, "is no MS MARCO file: there are no query_id, query and passages")
        for key in columns["query_id"] or ():
            yield shown_of_row({what: (column or {}).get(key) for what, column in columns.items()}, name, f"row {key}")
        return
    if not isinstance(found, list) or not all(isinstance(row, Mapping) for row in found):
        raise InputError(name, "is no MS MARCO file: neither rows nor columns of them")
    for number, row in enumerate(found, 1):
        yield shown_of_row(row, name, f"row {number}")


def _passage_id(text: str) -> str:
    return "p" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _documents(rows: Iterator[Shown]) -> Iterator[Entry]:
    seen: set[str] = set()
    for row in rows:
        for text in row.passages:
            doc_id = _passage_id(text)
            if doc_id not in seen:
                seen.add(doc_id)
                yield Entry(doc_id, "", text, row.place)


def _judgments(rows: Iterator[Shown]) -> Iterator[Qrel]:
    for row in rows:
        for doc_id in dict.fromkeys(_passage_id(row.passages[position]) for position in row.selected):
            yield Qrel(row.query_id, doc_id, 1, row.place)
