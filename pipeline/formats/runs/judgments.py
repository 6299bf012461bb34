"""Judgments in every format: TREC and BEIR files, tables, JSON, ``dataset.json``, a BEIR folder, the folder of a build.

And what stands beside them: the texts of queries and passages, and what a build noted of each query.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pipeline.errors import InputError
from pipeline.formats.runs.json_maps import read_json
from pipeline.formats.runs.packed_files import Source
from pipeline.formats.runs.run_tables import kind_of, read_table
from pipeline.formats.runs.trec import HIGHEST_GRADE, duplicate, grade_of, not_utf8, read_qrels, without_mark
from pipeline.measures.ranks.columns import judgments
from pipeline.text.display import shown
from schemas.judgment import RELEVANT

if TYPE_CHECKING:
    from io import RawIOBase

Grades = dict[str, dict[str, int]]

_BEIR_HEADS = {("query-id", "corpus-id", "score"), ("query_id", "corpus_id", "score"), ("query-id", "doc-id", "score")}


def read_judgments(path: Path | str) -> tuple[Grades, int]:
    """Return the grade of each judged document by query, and the smallest grade that counts as relevant.

    That is 1, as everywhere in the field, but 2 in a gold set of goldset with documents of grade 1: these are of the
    same topic and no help, and its ``relevant_docs`` leaves them out.

    Args:
        path: a file of judgments, a ``dataset.json``, a folder with one, or a BEIR folder; ``-`` is standard input.

    Raises:
        InputError: there is nothing there that can be read as judgments, or something in it is wrong.
    """
    place = Path(path)
    if os.path.isdir(place):  # noqa: PTH112  Path's own raises on a name too long
        return _read_folder(place)
    source = Source(path)
    kind = kind_of(source)
    if kind == "json":
        return _read_json(source)
    grades = _read_file(source, kind)
    if not grades:
        raise InputError(source.name, "holds no judgment")
    return grades, 1


def texts_of_queries(path: Path) -> dict[str, str]:
    """Return the text of each query; nothing where ``path`` has none."""
    found = _beside(path, "queries.jsonl")
    if found is not None:
        return {query_id: text for query_id, text, _ in _texts(found)}
    return _strings(_dataset(path), "queries")


def texts_of_documents(path: Path, doc_ids: Collection[str] | None = None) -> dict[str, str]:
    """Return the text of each document, or of those asked for; nothing where ``path`` has none."""
    found = _beside(path, "corpus.jsonl")
    if found is None:
        texts = _strings(_dataset(path), "corpus")
        return texts if doc_ids is None else {doc_id: texts[doc_id] for doc_id in doc_ids if doc_id in texts}
    wanted = None if doc_ids is None else set(doc_ids)
    return {
        doc_id: f"{title}\n{text}" if title else text
        for doc_id, text, title in _texts(found)
        if wanted is None or doc_id in wanted
    }


def notes_of_queries(path: Path) -> dict[str, dict[str, Any]]:
    """Return what a build noted of each query (style, kind, language …); nothing where ``path`` is no build."""
    lines = (path if path.is_dir() else path.parent) / "3-queries.jsonl"
    if not lines.is_file():
        return {}
    found = {}
    for record, _ in _objects(lines):
        query_id = record.pop("query_id", None)
        if isinstance(query_id, str):
            found[query_id] = record
    return found


def _read_folder(folder: Path) -> tuple[Grades, int]:
    dataset, qrels = folder / "dataset.json", folder / "trec" / "qrels.txt"
    if dataset.is_file():
        if not qrels.is_file():
            return _read_json(Source(dataset))
        grades = read_qrels(Source(qrels))
        return grades, _level(grades)
    for parent in (folder / "qrels", folder / "beir" / "qrels", folder):
        found = (
            sorted(parent.glob("*.tsv"))
            if parent.name == "qrels"
            else [p for p in (parent / "qrels.tsv",) if p.is_file()]
        )
        chosen = [file for file in found if file.name == "test.tsv"] or found
        if len(chosen) > 1:
            names = ", ".join(file.name for file in chosen)
            raise InputError(shown(parent), f"holds several sets of judgments ({names}); name the file of one")
        if chosen:
            return read_judgments(chosen[0])
    raise InputError(shown(folder), "holds no dataset.json and no qrels/*.tsv; name the file of the judgments")


def _read_file(source: Source, kind: str) -> Grades:
    if kind in {"csv", "parquet"}:
        table, where = read_table(source, "csv" if kind == "csv" else "parquet")
        return judgments(table, source.name, where)
    if kind == "jsonl":
        raise InputError(source.name, "is JSON Lines; judgments come as TREC, BEIR, CSV, Parquet or JSON")
    with source.open() as file:
        head = without_mark(file.read(400), source.name).split(b"\n")[0].decode("utf-8", "replace").strip().lower()
    return _read_beir(source) if tuple(head.split("\t")) in _BEIR_HEADS else _read_trec_or_table(source, kind)


def _read_trec_or_table(source: Source, kind: str) -> Grades:
    if kind == "tsv":
        table, where = read_table(source, "tsv")
        return judgments(table, source.name, where)
    return read_qrels(source)


def _read_beir(source: Source) -> Grades:
    grades: Grades = {}
    lines: dict[tuple[str, str], int] = {}
    block = without_mark(source.read(), source.name)
    for number, line in enumerate(block.split(b"\n"), 1):
        fields = line.rstrip(b"\r").split(b"\t")
        if number == 1 or fields == [b""]:
            continue
        if len(fields) != 3:
            raise InputError(
                source.name, f"{len(fields)} columns, BEIR's judgments have 3, parted by tabs", line=number
            )
        try:
            query_id, doc_id = (_unquoted(field.decode()) for field in fields[:2])
        except UnicodeDecodeError:
            raise not_utf8(source.name, number) from None
        if not query_id or not doc_id:
            raise InputError(source.name, "an id is empty", line=number)
        if (query_id, doc_id) in lines:
            raise duplicate(source.name, query_id, doc_id, lines[query_id, doc_id], number)
        lines[query_id, doc_id] = number
        grades.setdefault(query_id, {})[doc_id] = grade_of(fields[2].strip(), source.name, number)
    return grades


def _unquoted(field: str) -> str:
    """Return a field without the quotes that a CSV writer puts around one that holds quotes."""
    if len(field) >= 2 and field[0] == field[-1] == '"' and '"' not in field[1:-1].replace('""', ""):
        return field[1:-1].replace('""', '"')
    return field


def _read_json(source: Source) -> tuple[Grades, int]:
    found = read_json(source)
    if not isinstance(found, Mapping):
        raise InputError(source.name, "is JSON, but no object of queries with their judgments")
    if "relevant_docs" not in found:
        grades = _graded(found, source.name)
        return grades, 1
    scores = found.get("relevance_scores")
    if found["relevant_docs"] == {} and not scores:
        raise InputError(source.name, "holds 0 queries: relevant_docs is empty")
    grades = _graded(found["relevant_docs"] if scores is None else scores, source.name)
    if scores is not None:
        return grades, _level(grades)
    return grades, 1


def _level(grades: Grades) -> int:
    return int(RELEVANT) if any(0 < g < RELEVANT for judged in grades.values() for g in judged.values()) else 1


def _graded(found: object, name: str) -> Grades:
    if not isinstance(found, Mapping) or not found:
        raise InputError(name, "holds no judgments: neither relevant_docs nor grades by query")
    return {query_id: _grades(judged, query_id, name) for query_id, judged in found.items()}


def _grades(judged: object, query_id: str, name: str) -> dict[str, int]:
    if isinstance(judged, list):
        if not all(isinstance(doc_id, str) for doc_id in judged):
            raise InputError(name, f"query {query_id!r}: a document id is no string")
        if len(set(judged)) < len(judged):
            raise InputError(name, f"query {query_id!r} names a document twice; keep one of the two")
        return dict.fromkeys(judged, 1)
    if not isinstance(judged, Mapping):
        raise InputError(name, f"query {query_id!r}: neither an object of grades nor a list of documents")
    for grade in judged.values():
        if (
            isinstance(grade, bool)
            or not isinstance(grade, int | float)
            or abs(grade) > HIGHEST_GRADE
            or grade != int(grade)
        ):
            limits = f"from -{HIGHEST_GRADE} to {HIGHEST_GRADE}"
            raise InputError(name, f"query {query_id!r}: a grade is no whole number {limits}")
    return {doc_id: int(grade) for doc_id, grade in judged.items()}


def _beside(path: Path, name: str) -> Path | None:
    """Return the file of texts that belongs to judgments at ``path``."""
    if path.is_dir():
        places = [path / "beir", path]
    elif path.name == "dataset.json":
        places = [path.parent / "beir"]
    else:
        places = [path.parent, path.parent.parent]
    return next((place / name for place in places if (place / name).is_file()), None)


def _dataset(path: Path) -> Mapping[str, Any]:
    file = path / "dataset.json" if path.is_dir() else path
    if file.suffixes[:1] != [".json"] or not file.is_file():
        return {}
    found = read_json(Source(file))
    return found if isinstance(found, Mapping) and "relevant_docs" in found else {}


def _strings(dataset: Mapping[str, Any], member: str) -> dict[str, str]:
    found = dataset.get(member)
    return {key: text for key, text in found.items() if isinstance(text, str)} if isinstance(found, Mapping) else {}


def _texts(path: Path) -> Iterator[tuple[str, str, str]]:
    for record, line in _objects(path):
        identity, text, title = record.get("_id"), record.get("text"), record.get("title", "")
        if not isinstance(identity, str) or not isinstance(text, str):
            raise InputError(shown(path), "has no _id or no text that is a string", line=line)
        yield identity, text, title if isinstance(title, str) else ""


def _objects(path: Path) -> Iterator[tuple[dict[str, Any], int]]:
    # A plain file comes without a buffer, and lines would be read byte by byte.
    with Source(path).open() as file, io.BufferedReader(cast("RawIOBase", file)) as lines:
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                raise InputError(shown(path), "is no JSON", line=number) from None
            if not isinstance(record, dict):
                raise InputError(shown(path), "is no JSON object", line=number)
            yield record, number
