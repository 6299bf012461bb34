"""Collections by their id, through the packages ``ir_datasets`` and ``datasets`` (extra ``benchmarks``)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.errors import InputError, MissingExtra, UsageError
from pipeline.formats.benchmarks.collection import Chosen, Collection, Entry, Qrel, Topic, at, member
from pipeline.formats.benchmarks.msmarco import rows_collection, shown_of_row
from pipeline.formats.benchmarks.squad import asked_of_row, squad_collection
from pipeline.text.display import shown

EXTRA = "benchmarks"
_QUERY_FIELDS = ("text", "query", "title", "question")
_DOC_FIELDS = ("text", "body", "abstract", "contents")


def read_ir_datasets(name: str) -> Collection:
    """Return a collection of ``ir_datasets`` by its id, as ``vaswani`` or ``beir/scifact/test``.

    Raises:
        MissingExtra: the package is not installed.
        UsageError: there is no such collection, or it lacks documents, queries or judgments.
        InputError: it cannot be fetched.
    """
    try:
        import ir_datasets  # type: ignore[import-not-found, unused-ignore]  # of an extra
    except ImportError:
        raise MissingExtra("ir_datasets", EXTRA) from None
    try:
        found = ir_datasets.load(name)
    except KeyError:
        raise UsageError(f"ir_datasets knows no collection {shown(name)}") from None
    lacking = [part for part in ("docs", "queries", "qrels") if not getattr(found, f"has_{part}")()]
    if lacking:
        raise UsageError(f"ir_datasets: {shown(name)} has no {' and no '.join(lacking)}; name a split that has")
    where = f"ir_datasets {shown(name)}"
    return Collection(
        kind="ir_datasets",
        documents=lambda: (_entry(doc, where) for doc in _fetched(found.docs_iter, where)),
        queries=lambda: (_topic(query, where) for query in _fetched(found.queries_iter, where)),
        judgments=lambda: (
            Qrel(row.query_id, row.doc_id, int(row.relevance), f"judgment {number}")
            for number, row in enumerate(_fetched(found.qrels_iter, where), 1)
        ),
        names=(f"{where} docs", f"{where} queries", f"{where} qrels"),
        files=(),
        joins_titles=True,
    )


def _fetched(part: Callable[[], Iterator[Any]], where: str) -> Iterator[Any]:
    try:
        yield from part()
    except GeneratorExit:
        raise
    except (InputError, UsageError):
        raise
    except Exception as error:
        raise InputError(where, f"cannot be fetched ({type(error).__name__})") from error


def _first(record: Any, fields: Sequence[str]) -> str | None:  # noqa: ANN401  every collection has a record of its own
    return next((value for name in fields if isinstance(value := getattr(record, name, None), str)), None)


def _entry(doc: Any, where: str) -> Entry:  # noqa: ANN401  every collection has a record of its own
    text = _first(doc, _DOC_FIELDS)
    if text is None and hasattr(doc, "default_text"):
        return Entry(doc.doc_id, "", doc.default_text(), f"document {doc.doc_id!r}")
    if text is None:
        raise at(where, f"document {doc.doc_id!r}", "has no text")
    return Entry(doc.doc_id, _first(doc, ("title",)) or "", text, f"document {doc.doc_id!r}")


def _topic(query: Any, where: str) -> Topic:  # noqa: ANN401  every collection has a record of its own
    text = query.default_text() if hasattr(query, "default_text") else _first(query, _QUERY_FIELDS)
    if not isinstance(text, str):
        raise at(where, f"query {query.query_id!r}", "has no text")
    return Topic(query.query_id, text, f"query {query.query_id!r}")


def read_hugging_face(name: str, chosen: Chosen) -> Collection:
    """Return a data set of ``datasets`` by its id or folder.

    It has configurations ``corpus``, ``queries`` and ``default`` or ``qrels`` (or the judgments in ``<id>-qrels``), as
    BEIR's and MTEB's retrieval sets have, or is one table with rows as SQuAD's or MS MARCO's.

    Raises:
        MissingExtra: the package is not installed.
        UsageError: it is of another kind.
        InputError: it cannot be fetched.
    """
    try:
        import datasets  # type: ignore[import-not-found, unused-ignore]  # of an extra
    except ImportError:
        raise MissingExtra("datasets", EXTRA) from None
    where = f"datasets {shown(name)}"
    configurations = _asked(lambda: datasets.get_dataset_config_names(name), where)
    if "corpus" in configurations and "queries" in configurations:
        return _retrieval_set(datasets, name, configurations, chosen, where)
    split = chosen.split or "validation"
    rows = _asked(lambda: datasets.load_dataset(name, configurations[0], split=split), where)
    columns = set(rows.column_names)
    if {"query", "query_id", "passages"} <= columns:
        return rows_collection(
            "hf", lambda: (shown_of_row(row, where, f"row {n}") for n, row in enumerate(rows, 1)), where, _local(name)
        )
    if {"context", "question", "answers"} <= columns:
        return squad_collection(
            "hf", lambda: (asked_of_row(row, where, f"row {n}") for n, row in enumerate(rows, 1)), where, _local(name)
        )
    raise UsageError(
        f"{where}: neither has configurations corpus and queries, nor rows as of SQuAD (context, question, answers) "
        "or MS MARCO (query, query_id, passages)"
    )


def _retrieval_set(
    datasets: Any,  # noqa: ANN401  an optional package
    name: str,
    configurations: Sequence[str],
    chosen: Chosen,
    where: str,
) -> Collection:
    corpus, queries = (_only_split(datasets, name, part, where) for part in ("corpus", "queries"))
    split = chosen.split or "test"
    inside = next((part for part in ("qrels", "default") if part in configurations), None)
    judged = _asked(
        lambda: (
            datasets.load_dataset(name, inside, split=split)
            if inside
            else datasets.load_dataset(f"{name}-qrels", split=split)
        ),
        f"{where} qrels, split {shown(split)}",
    )
    return Collection(
        kind="hf",
        documents=lambda: (
            Entry(
                member(row, "id", where, f"corpus {n}"),
                row.get("title") or "",
                member(row, "text", where, f"corpus {n}"),
                f"corpus {n}",
            )
            for n, row in enumerate(corpus, 1)
        ),
        queries=lambda: (
            Topic(member(row, "id", where, f"query {n}"), member(row, "text", where, f"query {n}"), f"query {n}")
            for n, row in enumerate(queries, 1)
        ),
        judgments=lambda: (_qrel(row, where, n) for n, row in enumerate(judged, 1)),
        names=(f"{where} corpus", f"{where} queries", f"{where} qrels"),
        files=_local(name),
        joins_titles=True,
    )


def _qrel(row: Mapping[str, Any], where: str, number: int) -> Qrel:
    try:
        grade = float(row["score"])
        found = Qrel(str(row["query-id"]), str(row["corpus-id"]), int(grade), f"judgment {number}")
    except (KeyError, TypeError, ValueError, OverflowError):
        raise at(where, f"judgment {number}", "has no query-id, no corpus-id or no score") from None
    if grade != found.grade:
        raise at(where, f"judgment {number}", "has a score that is no whole number")
    return found


def _only_split(datasets: Any, name: str, part: str, where: str) -> Any:  # noqa: ANN401  an optional package
    found = _asked(lambda: datasets.load_dataset(name, part), f"{where} {part}")
    return found[next(iter(found))]


def _asked(ask: Callable[[], Any], where: str) -> Any:  # noqa: ANN401  an optional package
    try:
        return ask()
    except Exception as error:
        raise InputError(where, f"cannot be fetched ({type(error).__name__}: {_reason(error)})") from error


def _reason(error: Exception) -> str:
    return shown(str(error).split("\n")[0])[:200]


def _local(name: str) -> tuple[Path, ...]:
    """Return the files of a data set that is a folder here; none where it is fetched."""
    with contextlib.suppress(OSError, ValueError):
        folder = Path(name)
        if folder.is_dir():
            return tuple(sorted(path for path in folder.rglob("*") if path.is_file()))
    return ()
