"""Runs in JSON, JSON Lines, CSV, TSV and Parquet, and retrieved passages as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from goldbench.errors import Message
from goldbench.formats.faults import Fault, in_file, read_rows
from goldbench.formats.json_maps import parse_json, read_json
from goldbench.formats.packed_files import PACKINGS, Source, decoded

if TYPE_CHECKING:
    from goldbench.measures.ranks.columns import ColumnTable


Kind = Literal["trec", "json", "jsonl", "csv", "tsv", "parquet"]
_KINDS: dict[str, Kind] = {
    ".trec": "trec", ".run": "trec", ".res": "trec",
    ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet", ".pq": "parquet"
}  # fmt: skip
_PLAIN = (".tsv", ".txt")
"""Suffixes of files whose first bytes tell the format."""
_IDS = ("doc_id", "docid", "docno", "chunk_id", "corpus_id", "_id", "id", "pid")
_QUERY_IDS = ("query_id", "qid", "query-id")
_RESULTS = ("results", "retrieved", "documents", "docs", "passages", "ranking")
_TEXTS = ("text", "content", "page_content", "passage", "contents")

T = TypeVar("T")


class RetrievedText(NamedTuple):
    """A retrieved text, and its score if it has one."""

    text: str
    score: float | None


def kind_of(source: Source) -> Kind:
    """Return the format of a run or of judgments, by the suffix of its name or by its first bytes."""
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


def name_of_run(path: PurePath) -> str:
    """Return the name of a run's file without the suffixes of its format and of its packing."""
    name = path.with_suffix("") if path.suffix.lower() in PACKINGS else path
    known = name.suffix.lower() in _KINDS or name.suffix.lower() in _PLAIN
    return name.stem if known else name.name


def names_of_runs(paths: Sequence[PurePath]) -> list[str]:
    """Return the name of each run's file, with all its suffixes where two would be called the same."""
    names = [name_of_run(path) for path in paths]
    counts = Counter(names)
    return [name if counts[name] == 1 else path.name for name, path in zip(names, paths, strict=True)]


def read_json_run(source: Source) -> dict[str, dict[str, float]]:
    """Return a run in JSON: ``{query: {document: score}}`` or ``{query: [document, …]}``, best first; or JSON Lines.

    Raises:
        InputError: It holds something else, a score is not a finite number, or a query has a document twice.
    """
    return _by_query(source, _scored)


def read_passages(source: Source) -> dict[str, list[RetrievedText]]:
    """Return retrieved texts, best first: ``{query: [text, …]}`` or ``{query: [{"text": …, "score": …}, …]}``.

    Raises:
        InputError: It holds something else.
    """
    return _by_query(source, _passages)


def read_table(source: Source, kind: Kind) -> ColumnTable:
    """Return a CSV, TSV or Parquet file as a table.

    Raises:
        InputError: It cannot be read as one.
    """
    import polars as pl

    from goldbench.measures.ranks.columns import ColumnTable

    data = source.read()
    with in_file(source.name):
        if kind == "parquet":
            try:
                return ColumnTable(pl.read_parquet(data), source.name)
            except (pl.exceptions.PolarsError, OSError):
                raise Fault("is not a Parquet file, or is cut short") from None
        decoded(data)
        lone = data.replace(b"\r\n", b"\n\n").find(b"\r")
        if lone >= 0:
            line = data[:lone].count(b"\n") + 1
            raise Fault("a carriage return that ends no line; save the file with LF or CRLF", line=line)
        separator = "\t" if kind == "tsv" else ";" if data.split(b"\n")[0].count(b";") >= 2 else ","
        try:
            frame = pl.read_csv(data, separator=separator, infer_schema=False)
        except (pl.exceptions.PolarsError, ValueError) as error:
            problem = str(error).split("\n")[0][:200] or type(error).__name__
            raise Fault(f"is not a table in {kind.upper()}: {problem}") from None
        has_lines = b'"' not in data and b"\n\n" not in data and b"\n\r\n" not in data
        return ColumnTable(frame, source.name, has_lines)


def _by_query(source: Source, read: Callable[[Any], T]) -> dict[str, T]:
    """Return what ``read`` makes of the results of each query."""
    with in_file(source.name):
        if kind_of(source) == "jsonl":
            content: Any = _gathered(read_rows(_lines(source), lambda line, text: (line, parse_json(text))))
        else:
            content = read_json(source)
            content = _gathered((None, record) for record in content) if isinstance(content, list) else content
        if not isinstance(content, Mapping):
            raise Fault("is JSON, but not an object of queries with their results")
        return per_query(content, read)


def per_query(content: Mapping[str, Any], read: Callable[[Any], T]) -> dict[str, T]:
    """Return what ``read`` makes of each query's value; a fault that it raises gets the query."""
    results = {}
    for query_id, value in content.items():
        try:
            results[query_id] = read(value)
        except Fault as fault:
            raise fault.at(f"query {query_id!r}") from None
    return results


def _lines(source: Source) -> Iterator[tuple[int, bytes]]:
    return ((number, line) for number, line in enumerate(source.read().split(b"\n"), 1) if line.strip())


def _gathered(records: Iterable[tuple[int | None, Any]]) -> dict[str, Any]:
    """Gather records, of which each is a query with its results, or one retrieved document."""
    gathered: dict[str, Any] = {}
    whole: set[str] = set()
    for line, record in records:
        if not isinstance(record, Mapping):
            raise Fault("a record is not an object", line=line)
        query_id = next((record[key] for key in _QUERY_IDS if key in record), None)
        listed = next((record[key] for key in _RESULTS if key in record), None)
        if not isinstance(query_id, str):
            raise Fault("a record has no query_id that is a string", line=line)
        if query_id in whole or (listed is not None and query_id in gathered):
            raise Fault(f"query {query_id!r} is in two records; keep one of the two", line=line)
        if listed is None:
            rest = {key: value for key, value in record.items() if key not in _QUERY_IDS}
            gathered.setdefault(query_id, []).append(rest)
        else:
            whole.add(query_id)
            gathered[query_id] = listed
    return gathered


def _scored(results: Any) -> dict[str, float]:  # noqa: ANN401
    if isinstance(results, Mapping):
        return {doc_id: _score(value) for doc_id, value in results.items()}
    if not isinstance(results, list):
        raise Fault("neither an object of scores nor a list of documents")
    scored: dict[str, float] = {}
    for position, item in enumerate(results):
        doc_id = item
        score = -float(position)
        if isinstance(item, Mapping):
            doc_id = next((item[key] for key in _IDS if key in item), None)
            score = _score(item["score"]) if "score" in item else score
        elif isinstance(item, list) and len(item) == 2:
            doc_id = item[0]
            score = _score(item[1])
        if not isinstance(doc_id, str):
            raise Fault(f"result {position + 1}: the document id is not a string")
        if doc_id in scored:
            first = list(scored).index(doc_id) + 1
            raise Fault(f"results {first} and {position + 1} are both {doc_id!r}; keep one of the two")
        scored[doc_id] = score
    if len({isinstance(item, list) or (isinstance(item, Mapping) and "score" in item) for item in results}) > 1:
        raise Fault("some results have a score and some have none")
    return scored


def _score(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Fault("a score is not a number")
    try:
        score = float(value)
    except OverflowError:
        score = float("inf")
    if not isfinite(score):
        raise Fault("a score is not a finite number")
    return score


def _passages(results: Any) -> list[RetrievedText]:  # noqa: ANN401
    if not isinstance(results, list):
        raise Fault(Message("no list of passages, which {match='text'} needs"))
    passages = []
    for position, item in enumerate(results, 1):
        text = item
        score = None
        if isinstance(item, Mapping):
            text = next((item[key] for key in _TEXTS if key in item), None)
            score = _score(item["score"]) if "score" in item else None
        if not isinstance(text, str):
            raise Fault(Message("result {}: no text, which {match='text'} needs", position))
        passages.append(RetrievedText(text, score))
    if len({passage.score is None for passage in passages}) > 1:
        raise Fault("some results have a score and some have none")
    if passages and passages[0].score is not None:
        passages.sort(key=lambda passage: -(passage.score or 0.0))
    return passages
