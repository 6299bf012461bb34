"""Files of judgments in every format: TREC, BEIR, tables, JSON by query, and a gold set with ``relevant_docs``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from goldbench.formats.faults import Fault, in_file, read_rows
from goldbench.formats.interchange_names import JUDGMENT_COLUMNS
from goldbench.formats.json_maps import read_json
from goldbench.formats.lines import json_objects
from goldbench.formats.packed_files import Source, decoded, without_mark
from goldbench.formats.runs.run_tables import Kind, kind_of, per_query, read_table
from goldbench.formats.runs.trec import duplicate, grade_of, is_grade, read_qrels
from goldbench.measures.ranks.columns import judgments
from goldbench.measures.ranks.judged_ranks import GRADES
from goldbench.records.relevance import RELEVANT
from goldbench.text.display import amount

Grades = dict[str, dict[str, int]]
Judged = tuple[int, str, str, int]
"""A line, a query, a document and its grade."""

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
    with in_file(source.name):
        if kind == "json":
            return _of_json(read_json(source))
        grades = _read_file(source, kind)
        if not grades:
            raise Fault("holds no judgment; give lines of query, 0, passage and grade, or the folder of a gold set")
        return grades, 1


def _read_file(source: Source, kind: Kind) -> Grades:
    if kind == "jsonl":
        return _gathered(read_rows(json_objects(source), _of_record))
    if kind not in {"csv", "parquet"}:
        with source.open() as file:
            head = without_mark(file.read(400)).split(b"\n")[0].decode("utf-8", "replace").strip().lower()
        if tuple(head.split("\t")) in _BEIR_HEADS:
            return _of_beir(source.read())
        if kind != "tsv":
            return read_qrels(source)
    return judgments(read_table(source, kind))


def _of_beir(block: bytes) -> Grades:
    lines = ((number, line.rstrip(b"\r")) for number, line in enumerate(block.split(b"\n"), 1) if number > 1)
    return _gathered(read_rows(((number, line) for number, line in lines if line), _of_tabbed))


def _of_tabbed(line: int, text: bytes) -> Judged:
    fields = text.split(b"\t")
    if len(fields) != 3:
        raise Fault(f"{amount(len(fields), 'column')}, BEIR's judgments have 3, separated by tabs")
    query_id, doc_id = (_unquoted(decoded(field)) for field in fields[:2])
    return line, query_id, doc_id, grade_of(fields[2].strip())


def _of_record(line: int, record: Mapping[str, Any]) -> Judged:
    query_id, doc_id, grade = (record.get(name) for name in JUDGMENT_COLUMNS)
    if not isinstance(query_id, str) or not isinstance(doc_id, str):
        raise Fault("has no query-id or no corpus-id that is a string")
    if not is_grade(grade):
        raise Fault(f"the score is not {GRADES}")
    return line, query_id, doc_id, int(record["score"])


def _gathered(rows: Iterable[Judged]) -> Grades:
    grades: Grades = {}
    lines: dict[tuple[str, str], int] = {}
    for line, query_id, doc_id, grade in rows:
        if not query_id or not doc_id:
            raise Fault("an id is empty", line=line)
        if (query_id, doc_id) in lines:
            raise duplicate(query_id, doc_id, lines[query_id, doc_id], line)
        lines[query_id, doc_id] = line
        grades.setdefault(query_id, {})[doc_id] = grade
    return grades


def _unquoted(field: str) -> str:
    """Return a field without the quotes that a CSV writer puts around one that holds quotes."""
    if len(field) >= 2 and field[0] == field[-1] == '"' and '"' not in field[1:-1].replace('""', ""):
        return field[1:-1].replace('""', '"')
    return field


def _of_json(content: object) -> tuple[Grades, int]:
    if not isinstance(content, Mapping):
        raise Fault("is JSON, but not an object of queries with their judgments")
    if "relevant_docs" not in content:
        return _graded(content), 1
    scores = content.get("relevance_scores")
    if content["relevant_docs"] == {} and not scores:
        raise Fault("holds 0 queries: relevant_docs is empty")
    if scores is None:
        return _graded(content["relevant_docs"]), 1
    grades = _graded(scores)
    return grades, level_of(grades)


def level_of(grades: Grades) -> int:
    """Return the smallest relevant grade of a gold set: 2 if documents have grade 1, which are no help, else 1.

    Grades of 0 and 1 alone are not on that scale: there, 1 is relevant.
    """
    seen = {grade for judged in grades.values() for grade in judged.values()}
    return int(RELEVANT) if max(seen, default=0) >= RELEVANT and any(0 < grade < RELEVANT for grade in seen) else 1


def _graded(judged: object) -> Grades:
    if not isinstance(judged, Mapping) or not judged:
        raise Fault("holds no judgments: neither relevant_docs nor grades by query")
    return per_query(judged, _grades)


def _grades(judged: object) -> dict[str, int]:
    if isinstance(judged, list):
        if not all(isinstance(doc_id, str) for doc_id in judged):
            raise Fault("a document id is not a string")
        if len(set(judged)) < len(judged):
            raise Fault("a document is named twice; keep one of the two")
        return dict.fromkeys(judged, 1)
    if not isinstance(judged, Mapping):
        raise Fault("neither an object of grades nor a list of documents")
    if not all(is_grade(grade) for grade in judged.values()):
        raise Fault(f"a grade is not {GRADES}")
    return {doc_id: int(grade) for doc_id, grade in judged.items()}
