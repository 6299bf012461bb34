"""Runs in JSON, JSON Lines, CSV, TSV and Parquet, and retrieved passages as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pipeline.errors import InputError
from pipeline.formats.runs.json_maps import parse_json, read_json
from pipeline.formats.runs.packed_files import Source
from pipeline.formats.runs.trec import not_utf8, without_mark

if TYPE_CHECKING:
    import polars as pl

    from pipeline.measures.ranks.columns import Where

Kind = Literal["trec", "json", "jsonl", "csv", "tsv", "parquet"]
_KINDS: dict[str, Kind] = {
    ".trec": "trec", ".run": "trec", ".res": "trec",
    ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet", ".pq": "parquet"
}  # fmt: skip
_IDS = ("doc_id", "docid", "docno", "chunk_id", "corpus_id", "_id", "id", "pid")
_QUERY_IDS = ("query_id", "qid", "query-id", "_id", "id")
_RESULTS = ("results", "retrieved", "documents", "docs", "passages", "ranking")
_TEXTS = ("text", "content", "page_content", "passage", "contents")


class Passage(NamedTuple):
    """A retrieved text, with its score where it has one."""

    text: str
    score: float | None


def kind_of(source: Source) -> Kind:
    """Return the format of a run or of judgments, by its name, or by its first bytes."""
    known = _KINDS.get(source.suffix)
    if known:
        return known
    with source.open() as file:
        start = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
    line = start.split(b"\n")[0]
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith((b"{", b"[")):
        return "jsonl" if line.rstrip().endswith(b"}") and b"\n" in start and start.count(b"\n{") else "json"
    if source.suffix == ".tsv" or line.lower().startswith((b"query-id\t", b"query_id\t", b"qid\t")):
        return "tsv" if len(line.split(b"\t")) not in {4, 6} or b"id" in line.lower().split(b"\t")[0] else "trec"
    return "csv" if line.count(b",") >= 2 and len(line.split()) == 1 and line.lower().startswith(b"q") else "trec"


def read_json_run(source: Source) -> dict[str, dict[str, float]]:
    """Return a run in JSON: ``{query: {document: score}}`` or ``{query: [document, …]}``, best first; or JSON Lines.

    Raises:
        InputError: it holds something else, a score is no finite number, or a document stands twice.
    """
    return {query_id: _scored(found, query_id, source.name) for query_id, found in _by_query(source).items()}


def read_passages(source: Source) -> dict[str, list[Passage]]:
    """Return retrieved texts, best first: ``{query: [text, …]}`` or ``{query: [{"text": …, "score": …}, …]}``.

    Raises:
        InputError: it holds something else.
    """
    return {query_id: _passages(found, query_id, source.name) for query_id, found in _by_query(source).items()}


def read_table(source: Source, kind: Kind) -> tuple[pl.DataFrame, Where]:
    """Return a CSV, TSV or Parquet file as a table, and the line of each of its rows.

    Raises:
        InputError: it cannot be read as one.
    """
    import polars as pl

    data = source.read()
    if kind == "parquet":
        try:
            return pl.read_parquet(data), lambda _: {}
        except (pl.exceptions.PolarsError, OSError):
            raise InputError(source.name, "is no Parquet file, or is cut short") from None
    data = without_mark(data, source.name)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(source.name, data[: error.start].count(b"\n") + 1) from None
    lone = data.replace(b"\r\n", b"\n\n").find(b"\r")
    if lone >= 0:
        line = data[:lone].count(b"\n") + 1
        raise InputError(source.name, "a carriage return that ends no line; save the file with LF or CRLF", line=line)
    separator = "\t" if kind == "tsv" else ";" if data.split(b"\n")[0].count(b";") >= 2 else ","
    lines_are_rows = b'"' not in data and b"\n\n" not in data and b"\n\r\n" not in data
    try:
        table = pl.read_csv(data, separator=separator, infer_schema=False)
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise InputError(source.name, f"is no table in {kind.upper()}: {_first_line(error)}") from None
    return table, lambda row: {"line": row + 2} if lines_are_rows else {}


def _by_query(source: Source) -> Mapping[str, Any]:
    if kind_of(source) == "jsonl":
        return _lines(source)
    found = read_json(source)
    if isinstance(found, Mapping):
        return found
    if isinstance(found, Sequence) and not isinstance(found, str):
        return _records(((record, None) for record in found), source.name)
    raise InputError(source.name, "is JSON, but no object of queries with their results")


def _lines(source: Source) -> Mapping[str, Any]:
    def records() -> Any:  # noqa: ANN401
        for number, line in enumerate(without_mark(source.read(), source.name).split(b"\n"), 1):
            if line.strip():
                yield parse_json(line, source.name, line=number), number

    return _records(records(), source.name)


def _records(records: Any, name: str) -> dict[str, Any]:  # noqa: ANN401
    """Gather records: one per query with its results, or one per retrieved document."""
    found: dict[str, Any] = {}
    whole: set[str] = set()
    for record, line in records:
        if not isinstance(record, Mapping):
            raise InputError(name, "a record is no object", line=line)
        query_id = next((record[key] for key in _QUERY_IDS[:3] if key in record), None)
        listed = next((record[key] for key in _RESULTS if key in record), None)
        if not isinstance(query_id, str):
            raise InputError(name, "a record names no query_id, or none that is a string", line=line)
        if query_id in whole or (listed is not None and query_id in found):
            raise InputError(name, f"query {query_id!r} stands in two records; keep one of the two", line=line)
        if listed is None:
            found.setdefault(query_id, []).append(
                {key: value for key, value in record.items() if key not in _QUERY_IDS[:3]}
            )
        else:
            whole.add(query_id)
            found[query_id] = listed
    return found


def _scored(found: Any, query_id: str, name: str) -> dict[str, float]:  # noqa: ANN401
    if isinstance(found, Mapping):
        return {doc_id: _score(value, query_id, name) for doc_id, value in found.items()}
    if not isinstance(found, list):
        raise InputError(name, f"query {query_id!r}: neither an object of scores nor a list of documents")
    scored: dict[str, float] = {}
    for place, item in enumerate(found):
        doc_id, score = item, -float(place)
        if isinstance(item, Mapping):
            doc_id = next((item[key] for key in _IDS if key in item), None)
            score = _score(item["score"], query_id, name) if "score" in item else score
        elif isinstance(item, list) and len(item) == 2:
            doc_id, score = item[0], _score(item[1], query_id, name)
        if not isinstance(doc_id, str):
            raise InputError(name, f"query {query_id!r}, result {place + 1}: the document id is no string")
        if doc_id in scored:
            first = list(scored).index(doc_id) + 1
            raise InputError(
                name, f"query {query_id!r}: results {first} and {place + 1} are both {doc_id!r}; keep one of the two"
            )
        scored[doc_id] = score
    if len({isinstance(item, list) or (isinstance(item, Mapping) and "score" in item) for item in found}) > 1:
        raise InputError(name, f"query {query_id!r}: some results have a score and some have none")
    return scored


def _score(value: object, query_id: str, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(name, f"query {query_id!r}: a score is no number")
    try:
        score = float(value)
    except OverflowError:
        score = float("inf")
    if not isfinite(score):
        raise InputError(name, f"query {query_id!r}: a score is no finite number")
    return score


def _passages(found: Any, query_id: str, name: str) -> list[Passage]:  # noqa: ANN401
    if not isinstance(found, list):
        raise InputError(name, f"query {query_id!r}: no list of passages, which --match text needs")
    passages = []
    for place, item in enumerate(found, 1):
        text, score = item, None
        if isinstance(item, Mapping):
            text = next((item[key] for key in _TEXTS if key in item), None)
            score = _score(item["score"], query_id, name) if "score" in item else None
        if not isinstance(text, str):
            raise InputError(name, f"query {query_id!r}, result {place}: no text, which --match text needs")
        passages.append(Passage(text, score))
    if len({passage.score is None for passage in passages}) > 1:
        raise InputError(name, f"query {query_id!r}: some results have a score and some have none")
    if passages and passages[0].score is not None:
        passages.sort(key=lambda passage: -(passage.score or 0.0))
    return passages


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0][:200] or type(error).__name__
