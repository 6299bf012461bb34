"""Folders for tools that evaluate retrieval: ir_datasets, MTEB, AutoRAG, the Hub.

Every text is the one that goldbench searches.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from goldbench.exports.exported_set import ExportedQuery, ExportedSet
from goldbench.exports.packages import package
from goldbench.exports.records import write_json, write_json_lines
from goldbench.formats.dataset_card import CardTable, Columns, Contents, contents_of, dataset_card
from goldbench.formats.interchange_names import (
    AUTORAG_CORPUS,
    AUTORAG_QA,
    BEIR_CARD,
    BEIR_CORPUS,
    BEIR_QUERIES,
    BEIR_TEST_QRELS,
    EXPORT_ABOUT,
    JUDGMENT_COLUMNS,
)
from goldbench.records.relevance import RELEVANT, RUBRIC, Relevance
from goldbench.text.language import main_language

DATA = "data"
"""The folder of the data set in an export for MTEB."""
_UNFIT = re.compile(r"[^A-Za-z0-9]+")
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
_AUTORAG_QA: Columns = {
    "qid": "string",
    "query": "string",
    "retrieval_gt": (("string",),),
    "generation_gt": ("string",),
    "goldbench": "string",
}
_AUTORAG_CORPUS: Columns = {
    "doc_id": "string",
    "contents": "string",
    "metadata": {"prev_id": "string", "next_id": "string"},
}
_LANGUAGE_UNKNOWN = "und-Zyyy"
"""The code of a language that is not known, in a script that is not known."""


def identifier(name: str) -> str:
    """Return a name that is valid wherever other tools keep one: letters and digits in words, joined by hyphens."""
    return _UNFIT.sub("-", name).strip("-")[:60] or "set"


def about(exported: ExportedSet) -> dict[str, Any]:
    """Return what a reader of the files must know of the set, and what `goldbench import` keeps of it."""
    seen = {grade for _, _, grade in judgments(exported)}
    meanings = {grade: "relevant" if grade >= exported.level else "not relevant" for grade in seen}
    if exported.level == RELEVANT and seen <= set(Relevance):
        meanings = {grade: RUBRIC[Relevance(grade)] for grade in seen}
    return {
        "name": identifier(exported.name),
        "relevant_from": exported.level,
        "languages": languages(exported),
        "grades": {str(grade): meanings[grade] for grade in sorted(seen)},
        **exported.trust,
    }


def languages(exported: ExportedSet) -> list[str]:
    """Return the languages of the queries (ISO 639-1), the most frequent first; empty if they are not clear."""
    noted = Counter(code for query in exported.queries if isinstance(code := query.notes.get("language"), str))
    if noted:
        return sorted(noted, key=lambda code: (-noted[code], code))
    language = main_language([query.alone for query in exported.queries])
    return [language] if language else []


def corpus_rows(exported: ExportedSet) -> Iterator[dict[str, Any]]:
    """Yield BEIR's row of each passage. The title is part of the text, so that none is joined to it twice."""
    return ({"_id": doc_id, "title": "", "text": text} for doc_id, text in exported.corpus())


def judgments(exported: ExportedSet) -> Iterator[tuple[str, str, int]]:
    """Yield query, passage and grade of each judgment, in the order of the queries and of the passages' ids."""
    for query in exported.queries:
        for doc_id in sorted(query.grades):
            yield query.query_id, doc_id, query.grades[doc_id]


def write_ir_datasets(exported: ExportedSet, folder: Path) -> None:
    """Write documents, queries and judgments, and a module by which ``ir_datasets`` reads them."""
    write_json_lines(folder / BEIR_CORPUS, corpus_rows(exported))
    write_json_lines(folder / BEIR_QUERIES, (_query_row(query) for query in exported.queries))
    table = folder / BEIR_TEST_QRELS
    table.parent.mkdir(exist_ok=True)
    with table.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, delimiter="\t", lineterminator="\n")
        rows.writerow(JUDGMENT_COLUMNS)
        rows.writerows(judgments(exported))
    files_of = {"corpus": BEIR_CORPUS, "queries": BEIR_QUERIES, "qrels": BEIR_TEST_QRELS}
    write_json(folder / EXPORT_ABOUT, {**about(exported), "files": files_of})
    _copy_module("ir_dataset.py", folder)


def _query_row(query: ExportedQuery) -> dict[str, Any]:
    metadata = {} if query.answer is None else {"answer": {"text": query.answer}}
    return {"_id": query.query_id, "text": query.alone, "answer": query.answer or "", "metadata": metadata}


def _copy_module(name: str, folder: Path) -> None:
    (folder / name).write_bytes((files("goldbench.exports.standalone") / name).read_bytes())


def ir_dataset(folder: Path) -> Any:  # noqa: ANN401  a class of ir_datasets
    """Return the data set in an export.

    Raises:
        MissingPackage: ir_datasets is not installed, or cannot be imported.
    """
    with package("ir-datasets"):
        from goldbench.exports.standalone.ir_dataset import dataset

    return dataset(folder)


def write_dataset(exported: ExportedSet, folder: Path) -> None:
    """Write a data set for the Hugging Face Hub: Parquet files, and the card by which ``datasets`` loads each."""
    contents = {table: _write_table(table, rows, folder) for table, rows in _tables(exported)}
    card = dataset_card(contents, exported.metadata, languages(exported), exported.level)
    (folder / BEIR_CARD).write_text(card, encoding="utf-8", newline="\n")
    write_json(folder / EXPORT_ABOUT, about(exported))


def _write_table(table: CardTable, rows: Iterable[Mapping[str, Any]], folder: Path) -> Contents:
    """Write a table by way of JSON Lines, so that the memory does not grow with it; every string stays as it is."""
    import polars as pl

    lines = folder / f"{table.name}.jsonl"
    write_json_lines(lines, rows)
    with lines.open("rb") as file:
        contents = contents_of(file)
    schema = {name: _type_of(kind) for name, kind in table.columns.items()}
    pl.scan_ndjson(lines, schema=schema).sink_parquet(folder / table.file)
    lines.unlink()
    return contents


def _type_of(columns: str | Columns | tuple[Any]) -> Any:  # noqa: ANN401  a type of polars
    import polars as pl

    if isinstance(columns, str):
        return {"string": pl.String, "int32": pl.Int32, "int64": pl.Int64, "float64": pl.Float64}[columns]
    if isinstance(columns, tuple):
        return pl.List(_type_of(columns[0]))
    return pl.Struct({name: _type_of(inner) for name, inner in columns.items()})


def _tables(exported: ExportedSet) -> Iterator[tuple[CardTable, Iterable[Mapping[str, Any]]]]:
    """Yield the configurations of the data set, each with its rows."""
    answerable = [query for query in exported.queries if query.answerable]
    unanswerable = [query for query in exported.queries if not query.answerable]
    yield _table("corpus", {**_TEXTS, "title": "string"}), corpus_rows(exported)
    yield _table("queries", _TEXTS), map(_text_row, answerable)
    columns: Columns = dict(zip(JUDGMENT_COLUMNS, ("string", "string", "int32"), strict=True))
    judged = (dict(zip(JUDGMENT_COLUMNS, judgment, strict=True)) for judgment in judgments(exported))
    yield _table("qrels", columns, _TEST), judged
    if exported.references:
        yield _table("answers", _ANSWERS, _TEST), (_answer_row(query) for query in answerable if query.answer)
    notes = []
    for query in answerable:
        known = {name: value for name, value in query.described().items() if name in _NOTES}
        notes.append({"query-id": query.query_id, **known})
    columns = {name: kind for name, kind in _NOTES.items() if any(name in row for row in notes)}
    if columns:
        yield _table("notes", {**_KEY, **columns}, _TEST), notes
    if unanswerable:
        rows = ({**_text_row(query), "source": query.source} for query in unanswerable)
        yield _table("unanswerable", {**_TEXTS, "source": "string"}, _TEST), rows


def _table(name: str, columns: Columns, split: str | None = None) -> CardTable:
    return CardTable(name, split or name, f"{name}.parquet", columns)


def _text_row(query: ExportedQuery) -> dict[str, Any]:
    return {"_id": query.query_id, "text": query.alone}


def _answer_row(query: ExportedQuery) -> dict[str, Any]:
    evidence = [{"quote": citation.quote, "corpus-id": citation.chunk_id} for citation in query.evidence]
    return {"query-id": query.query_id, "answer": query.answer, "evidence": evidence}


def write_mteb(exported: ExportedSet, folder: Path) -> None:
    """Write a module with a retrieval task of MTEB, what it says of the task, and the data set that it evaluates."""
    data = folder / DATA
    data.mkdir()
    write_dataset(exported, data)
    digest = hashlib.sha256((data / BEIR_CARD).read_bytes())  # the card has the digest of every file
    level = exported.metadata.get("evidence_level")
    evidence = f" Evidence level: {level}." if isinstance(level, str) else ""
    task = {
        "name": f"Goldbench-{identifier(exported.name)}",
        "revision": digest.hexdigest()[:40],
        "description": f"A retrieval test set made with goldbench.{evidence}",
        "languages": [_LANGUAGE_UNKNOWN],
    }
    write_json(folder / "task.json", task)
    write_json(folder / EXPORT_ABOUT, about(exported))
    _copy_module("mteb_task.py", folder)


def mteb_task(folder: Path) -> Any:  # noqa: ANN401  a class of mteb
    """Return the task in an export.

    Raises:
        MissingPackage: mteb is not installed, or cannot be imported.
    """
    with package("mteb"):
        from goldbench.exports.standalone.mteb_task import task

    return task(folder)


def write_autorag(exported: ExportedSet, folder: Path) -> None:
    """Write ``qa.parquet`` and ``corpus.parquet``, as AutoRAG's evaluator reads them."""
    _write_table(CardTable("qa", "qa", AUTORAG_QA, _AUTORAG_QA), autorag_questions(exported), folder)
    _write_table(CardTable("corpus", "corpus", AUTORAG_CORPUS, _AUTORAG_CORPUS), autorag_corpus(exported), folder)
    write_json(folder / EXPORT_ABOUT, about(exported))


def autorag_questions(exported: ExportedSet) -> Iterator[dict[str, Any]]:
    """Yield a row for each query; the column ``goldbench`` holds in JSON what AutoRAG has no column for."""
    for query in exported.queries:
        yield {
            "qid": query.query_id,
            "query": query.alone,
            "retrieval_gt": _groups(query),
            "generation_gt": [query.answer] if query.answer is not None else [],
            "goldbench": json.dumps(query.described()),
        }


def _groups(query: ExportedQuery) -> list[list[str]]:
    """Return the relevant passages: of each group at least one has to be found.

    They are one group of passages each of which will do, or a group for each passage that is needed, which the other
    relevant passages join: any of these may stand for it.
    """
    relevant = [context.doc_id for context in query.contexts]
    rest = [doc_id for doc_id in relevant if doc_id not in query.needs]
    return [[needed, *rest] for needed in query.needs] or [relevant]


def autorag_corpus(exported: ExportedSet) -> Iterator[dict[str, Any]]:
    """Yield a row for each passage; AutoRAG itself sets the time of a passage that has none."""
    neighbours = {"prev_id": None, "next_id": None}
    return ({"doc_id": doc_id, "contents": text, "metadata": neighbours} for doc_id, text in exported.corpus())
