"""Collections by their id, from the packages ``ir_datasets`` and ``datasets`` (extra ``benchmarks``)."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from goldbench.errors import InputError, MissingExtra, UsageError
from goldbench.formats.benchmarks.answered_rows import cited_ids, noted_topic
from goldbench.formats.benchmarks.collection import (
    Chosen,
    Collection,
    Entry,
    Qrel,
    Topic,
    entry_of_row,
    joined,
    topic_of_row,
)
from goldbench.formats.benchmarks.folders import read_beir
from goldbench.formats.benchmarks.msmarco import rows_collection
from goldbench.formats.benchmarks.squad import squad_collection
from goldbench.formats.exported_about import About, about_export
from goldbench.formats.faults import Fault, Location, in_file, read_rows
from goldbench.formats.interchange_names import BEIR_CORPUS, EXPORT_ABOUT
from goldbench.records.query import QueryKind
from goldbench.text.display import shown, without_credentials

T = TypeVar("T")
Rows = Iterable[Mapping[str, Any]]

EXTRA = "benchmarks"
_QUERY_FIELDS = ("text", "query", "title", "question")
_DOC_FIELDS = ("text", "body", "abstract", "contents")


def read_ir_datasets(name: str, chosen: Chosen) -> Collection:
    """Return a collection of ``ir_datasets`` by its id, as ``vaswani`` or ``beir/scifact/test``, or an exported folder.

    The module in the folder is not run.

    Raises:
        MissingExtra: The package is not installed.
        UsageError: The collection does not exist, or it lacks documents, queries or judgments.
        InputError: The collection cannot be fetched.
    """
    if any((Path(name) / file).is_file() for file in (BEIR_CORPUS, EXPORT_ABOUT)):
        return replace(read_beir(Path(name), chosen), kind="ir_datasets")
    try:
        import ir_datasets  # type: ignore[import-not-found, unused-ignore]  # of an extra
    except ImportError:
        raise MissingExtra("ir_datasets", EXTRA) from None
    try:
        dataset = ir_datasets.load(name)
    except KeyError:
        raise UsageError(f"ir_datasets knows no collection {shown(name)}") from None
    lacking = [part for part in ("docs", "queries", "qrels") if not getattr(dataset, f"has_{part}")()]
    if lacking:
        raise UsageError(f"ir_datasets: {shown(name)} has no {' and no '.join(lacking)}; name a split that has")
    where = f"ir_datasets {shown(name)}"
    return Collection(
        kind="ir_datasets",
        documents=lambda: (_entry(doc, where) for doc in _fetched(dataset.docs_iter, where)),
        queries=lambda: (_topic(query, where) for query in _fetched(dataset.queries_iter, where)),
        judgments=lambda: (
            Qrel(row.query_id, row.doc_id, int(row.relevance), f"judgment {number}")
            for number, row in enumerate(_fetched(dataset.qrels_iter, where), 1)
        ),
        names=(f"{where} docs", f"{where} queries", f"{where} qrels"),
        files=(),
        joins_titles=True,
    )


def _fetched(part: Callable[[], Iterator[Any]], where: str) -> Iterator[Any]:
    try:
        yield from part()
    except Exception as error:
        raise InputError(where, f"cannot be fetched ({type(error).__name__})") from error


def _first(record: Any, fields: Sequence[str]) -> str | None:  # noqa: ANN401  every collection has a record of its own
    return next((value for name in fields if isinstance(value := getattr(record, name, None), str)), None)


def _entry(doc: Any, where: str) -> Entry:  # noqa: ANN401  every collection has a record of its own
    location = f"document {doc.doc_id!r}"
    text = _first(doc, _DOC_FIELDS)
    if text is None and hasattr(doc, "default_text"):
        return Entry(doc.doc_id, "", doc.default_text(), location)
    if text is None:
        raise Fault("has no text").at(location).of(where)
    return Entry(doc.doc_id, _first(doc, ("title",)) or "", text, location)


def _topic(query: Any, where: str) -> Topic:  # noqa: ANN401  every collection has a record of its own
    text = query.default_text() if hasattr(query, "default_text") else _first(query, _QUERY_FIELDS)
    if not isinstance(text, str):
        raise Fault("has no text").at(f"query {query.query_id!r}").of(where)
    return Topic(query.query_id, text, f"query {query.query_id!r}")


def read_mteb(name: str, chosen: Chosen) -> Collection:
    """Return a data set of MTEB, as ``mteb/scifact``, or the one in an exported folder; else as `read_hugging_face`."""
    data = Path(name) / "data"
    collection = read_hugging_face(str(data) if _local(name) and data.is_dir() else name, chosen)
    return replace(collection, kind="mteb")


def read_hugging_face(name: str, chosen: Chosen) -> Collection:
    """Return a data set of ``datasets`` by its id or folder.

    It has the configurations ``corpus``, ``queries`` and ``default`` or ``qrels`` (or the judgments in ``<id>-qrels``),
    as the retrieval sets of BEIR and MTEB, or is one table with rows as those of SQuAD or MS MARCO.

    Raises:
        MissingExtra: The package is not installed.
        UsageError: The data set is of another kind.
        InputError: The data set cannot be fetched, or the card of a folder names a file outside it.
    """
    try:
        import datasets  # type: ignore[import-not-found, unused-ignore]  # of an extra
    except ImportError:
        raise MissingExtra("datasets", EXTRA) from None
    where = f"datasets {shown(name)}"
    configurations = _asked(lambda: datasets.get_dataset_config_names(name), where)
    if _local(name):
        _check_inside(datasets, name, configurations, where)
    if "corpus" in configurations and "queries" in configurations:
        about = _about(name)
        retrieval_set = _retrieval_set(datasets, name, configurations, chosen, where, own=about is not None)
        return (
            replace(retrieval_set, level=about.level or retrieval_set.level, notes=about.notes)
            if about
            else retrieval_set
        )
    split = chosen.split or "validation"
    rows = _loaded(datasets, name, configurations[0], where, split)
    columns = set(rows.column_names)
    if {"query", "query_id", "passages"} <= columns:
        return rows_collection("hf", lambda: _numbered("row", rows), where, _local(name))
    if {"context", "question", "answers"} <= columns:
        return squad_collection("hf", lambda: _numbered("row", rows), where, _local(name))
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
    *,
    own: bool,
) -> Collection:
    corpus, queries = (_only_split(datasets, name, part, where) for part in ("corpus", "queries"))
    split = chosen.split or "test"
    inside = next((part for part in ("qrels", "default") if part in configurations), None)
    judged = _loaded(
        datasets, name if inside else f"{name}-qrels", inside, f"{where} qrels, split {shown(split)}", split
    )
    parts = {
        part: _only_split(datasets, name, part, where) if own and part in configurations else ()
        for part in ("answers", "notes", "unanswerable")
    }
    read_topic = _reader_of_noted_topics(parts["answers"], parts["notes"], corpus) if own else topic_of_row
    return Collection(
        kind="hf",
        documents=lambda: _read(_numbered("corpus", corpus), entry_of_row, where),
        queries=lambda: itertools.chain(
            _read(_numbered("query", queries), read_topic, where),
            _read(_numbered("unanswerable query", parts["unanswerable"]), _unanswered, where),
        ),
        judgments=lambda: _read(_numbered("judgment", judged), _qrel, where),
        names=(f"{where} corpus", f"{where} queries", f"{where} qrels"),
        files=_local(name),
        joins_titles=True,
    )


def _reader_of_noted_topics(answers: Rows, notes: Rows, corpus: Rows) -> Callable[[Location, Mapping[str, Any]], Topic]:
    """Return the reader of the queries of an export, which knows their answers, quotes and notes.

    Args:
        answers: Rows with ``query-id``, ``answer`` and ``evidence``.
        notes: Rows with ``query-id``.
        corpus: The passages, read only if an answer has a quote.
    """
    answer_of = _by_query(answers)
    notes_of = _by_query(notes)
    quotes = {query_id: _quotes(row) for query_id, row in answer_of.items()}
    cited = {doc_id for cited in quotes.values() for doc_id in cited_ids(cited)}
    rows = (row for row in corpus if row.get("_id") in cited) if cited else ()
    passages = {row["_id"]: joined(row.get("title") or "", row.get("text") or "") for row in rows}

    def read(location: Location, row: Mapping[str, Any]) -> Topic:
        query_id = row.get("_id", "")
        known = {**notes_of.get(query_id, {}), "evidence": quotes.get(query_id)}
        return noted_topic(location, row, answer_of.get(query_id, {}).get("answer"), known, passages)

    return read


def _by_query(rows: Rows) -> dict[str, Mapping[str, Any]]:
    return {row["query-id"]: row for row in rows if isinstance(row.get("query-id"), str)}


def _quotes(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the quotes of an answer, as ``dataset.json`` has them."""
    quotes = row.get("evidence")
    listed = quotes if isinstance(quotes, list) else ()
    return [
        {"quote": citation.get("quote"), "chunk_id": citation.get("corpus-id")}
        for citation in listed
        if isinstance(citation, Mapping)
    ]


def _unanswered(location: Location, row: Mapping[str, Any]) -> Topic:
    """Return a query that no passage answers; one without its source is left out of a set, and counted."""
    source = row.get("source")
    near = source if isinstance(source, str) else None
    return topic_of_row(location, row)._replace(kind=QueryKind.UNANSWERABLE, near=near)


def _numbered(what: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Location, Mapping[str, Any]]]:
    return ((f"{what} {number}", row) for number, row in enumerate(rows, 1))


def _read(
    rows: Iterator[tuple[Location, Mapping[str, Any]]], read: Callable[[Location, Mapping[str, Any]], T], where: str
) -> Iterator[T]:
    with in_file(where):
        yield from read_rows(rows, read)


def _qrel(location: Location, row: Mapping[str, Any]) -> Qrel:
    try:
        grade = float(row["score"])
        qrel = Qrel(str(row["query-id"]), str(row["corpus-id"]), int(grade), location)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise Fault("has no query-id, no corpus-id or no score") from None
    if grade != qrel.grade:
        raise Fault("has a score that is not a whole number")
    return qrel


def _only_split(datasets: Any, name: str, part: str, where: str) -> Any:  # noqa: ANN401  an optional package
    dataset = _loaded(datasets, name, part, f"{where} {part}")
    return dataset[next(iter(dataset))]


def _loaded(datasets: Any, name: str, part: str | None, where: str, split: str | None = None) -> Any:  # noqa: ANN401
    """Return a configuration of a data set. A folder is read anew: the cache does not notice that its files changed.

    Args:
        datasets: The package.
        name: The id or the folder.
        part: The configuration, or None for the only one.
        where: The name in messages.
        split: The split, or None for all.
    """
    if not _local(name):
        return _asked(lambda: datasets.load_dataset(name, part, split=split), where)
    anew = datasets.DownloadMode.FORCE_REDOWNLOAD
    with _quiet(datasets):
        return _asked(lambda: datasets.load_dataset(name, part, split=split, download_mode=anew), where)


@contextlib.contextmanager
def _quiet(datasets: Any) -> Iterator[None]:  # noqa: ANN401  an optional package
    """Keep the package's progress bars and logs off the terminal: a fault is one line."""
    bars = not datasets.are_progress_bars_disabled()
    level = datasets.logging.get_verbosity()
    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    try:
        yield
    finally:
        datasets.logging.set_verbosity(level)
        if bars:
            datasets.enable_progress_bars()


def _asked(ask: Callable[[], Any], where: str) -> Any:  # noqa: ANN401  an optional package
    try:
        return ask()
    except Exception as error:
        cause = error.__cause__ if isinstance(error.__cause__, Exception) else error  # names the fault, not the step
        problem = shown(without_credentials(str(cause)).split("\n")[0])[:200]
        raise InputError(where, f"cannot be loaded ({type(cause).__name__}: {problem})") from error


def _about(name: str) -> About | None:
    """Return what an export says of the set; None for a data set that was not exported."""
    if _local(name):
        return about_export(Path(name)) if (Path(name) / EXPORT_ABOUT).is_file() else None
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    def fetched() -> str | None:
        with contextlib.suppress(EntryNotFoundError):
            return str(hf_hub_download(name, EXPORT_ABOUT, repo_type="dataset"))
        return None

    file = _asked(fetched, f"datasets {shown(name)}")
    return about_export(Path(file).parent) if file else None


def _check_inside(datasets: Any, name: str, configurations: Sequence[str], where: str) -> None:  # noqa: ANN401
    """Refuse a folder whose card names files elsewhere: they would come into the set, and out with it.

    Args:
        datasets: The package.
        name: The folder.
        configurations: Its configurations.
        where: Its name in messages.

    Raises:
        InputError: A file lies outside the folder.
    """
    roots = (os.path.normpath(Path.cwd() / name), Path(name).resolve())
    for configuration in configurations:
        builder = _asked(partial(datasets.load_dataset_builder, name, configuration), where)
        for file in itertools.chain.from_iterable((builder.config.data_files or {}).values()):
            if not any(Path(os.path.normpath(file)).is_relative_to(root) for root in roots):
                problem = f"its card names {shown(file)}, which is outside the folder; take the path out of README.md"
                raise InputError(where, problem)


def _local(name: str) -> tuple[Path, ...]:
    """Return the files of a data set that is a local folder; empty if it is fetched."""
    with contextlib.suppress(OSError, ValueError):
        folder = Path(name)
        if folder.is_dir():
            return tuple(sorted(path for path in folder.rglob("*") if path.is_file()))
    return ()
