"""Files of judgments in every format: TREC, BEIR, tables, JSON by query, and a gold set with ``relevant_docs``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipeline.errors import InputError
from pipeline.formats.runs.json_maps import read_json
from pipeline.formats.runs.packed_files import Source
from pipeline.formats.runs.run_tables import kind_of, read_table
from pipeline.formats.runs.trec import HIGHEST_GRADE, duplicate, grade_of, not_utf8, read_qrels, without_mark
from pipeline.measures.ranks.columns import judgments
from schemas.judgment import RELEVANT

Grades = dict[str, dict[str, int]]

_BEIR_HEADS = {("query-id", "corpus-id", "score"), ("query_id", "corpus_id", "score"), ("query-id", "doc-id", "score")}


def read_judgments(path: Path | str) -> tuple[Grades, int]:
    """Return the grade of each judged document by query, and the smallest grade that counts as relevant.

    Args:
        path: A file of judgments; ``-`` is standard input.

    Raises:
        InputError: The file cannot be read as judgments, or something in it is wrong.
    """
    source = Source(path)
    kind = kind_of(source)
    if kind == "json":
        return _read_json(source)
    grades = _read_file(source, kind)
    if not grades:
        raise InputError(source.name, "holds no judgment")
    return grades, 1


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
        return grades, level_of(grades)
    return grades, 1


def level_of(grades: Grades) -> int:
    """Return the smallest relevant grade of a gold set: 2 if documents have grade 1, which are no help, else 1."""
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
