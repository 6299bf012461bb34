"""TREC files, read line by line: runs of six columns and judgments of four; every line is checked. And runs written.

Columns are separated by any white space. Lines that begin with ``#`` and empty lines are skipped, as by trec_eval 10.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path

from goldbench.formats.faults import Fault, in_file
from goldbench.formats.packed_files import NOT_UTF8, Source
from goldbench.measures.ranks.judged_ranks import GRADES, HIGHEST_GRADE
from goldbench.text.display import amount

RUN_COLUMNS = "a run has 6: query Q0 document rank score tag"
QRELS_COLUMNS = "judgments have 4: query 0 document grade"

_GRADE = re.compile(rb"[+-]?[0-9]{1,18}")


def run_rows(block: bytes, *, first_line: int = 1) -> Iterator[tuple[str, str, float, int]]:
    """Yield query, document, score and line number of every line of a run.

    Args:
        block: Whole lines.
        first_line: The number of the first line of ``block`` in the file, from 1.

    Raises:
        Fault: A line has another number of columns, a score that is not a finite number, or bytes that are not UTF-8.
    """
    for number, line in enumerate(block.split(b"\n"), first_line):
        fields = line.split()
        if len(fields) != 6:
            if not fields or line.startswith(b"#"):
                continue
            if number == 1 and line.lstrip().startswith((b"{", b"[")):
                raise Fault(
                    f"begins with {line.lstrip()[:1].decode()}: name a run in JSON .json or .jsonl", line=number
                )
            raise Fault(f"{amount(len(fields), 'column')}, {RUN_COLUMNS}", line=number)
        query_id, _, doc_id, _, text, _ = fields
        if query_id.startswith(b"#") and line.startswith(b"#"):
            continue
        try:
            score = float(text)
        except ValueError:
            score = float("nan")
        if not isfinite(score) or b"_" in text:
            raise Fault(f"the score (column 5) is {_shown(text)}, not a finite number", line=number)
        try:
            yield query_id.decode(), doc_id.decode(), score, number
        except UnicodeDecodeError:
            raise Fault(NOT_UTF8, line=number) from None


def qrels_rows(block: bytes) -> Iterator[tuple[str, str, int, int]]:
    """Yield query, document, grade and line number of every line of judgments.

    Raises:
        Fault: A line has another number of columns, a grade that is not a whole number, or bytes that are not UTF-8.
    """
    for number, line in enumerate(block.split(b"\n"), 1):
        fields = line.split()
        if not fields or line.startswith(b"#"):
            continue
        if len(fields) != 4:
            raise Fault(f"{amount(len(fields), 'column')}, {QRELS_COLUMNS}", line=number)
        query_id, _, doc_id, text = fields
        try:
            yield query_id.decode(), doc_id.decode(), grade_of(text), number
        except UnicodeDecodeError:
            raise Fault(NOT_UTF8, line=number) from None
        except Fault as fault:
            raise fault.at(number) from None


def grade_of(text: bytes) -> int:
    """Return the grade that ``text`` spells.

    Raises:
        Fault: The text is not a whole number from -1000 to 1000.
    """
    if not _GRADE.fullmatch(text) or abs(int(text)) > HIGHEST_GRADE:
        raise Fault(f"the grade is {_shown(text)}, not {GRADES}")
    return int(text)


def is_grade(value: object) -> bool:
    """Whether a value of JSON or a table is a number that can be a grade: whole, from -1000 to 1000."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= HIGHEST_GRADE and value % 1 == 0


def read_run(source: Source) -> dict[str, dict[str, float]]:
    """Return a run as a score per document and query.

    Raises:
        InputError: A line is malformed, or a query has a document twice.
    """
    run: dict[str, dict[str, float]] = {}
    block = source.read()
    with in_file(source.name):
        for query_id, doc_id, score, line in run_rows(block):
            documents = run.get(query_id)
            if documents is None:
                documents = run[query_id] = {}
            elif doc_id in documents:
                lines = (number for q, d, _, number in run_rows(block) if (q, d) == (query_id, doc_id))
                raise duplicate(query_id, doc_id, next(lines), line)
            documents[doc_id] = score
    return run


def read_qrels(source: Source) -> dict[str, dict[str, int]]:
    """Return judgments as a grade per document and query.

    Raises:
        InputError: A line is malformed, or a document is judged twice for a query.
    """
    qrels: dict[str, dict[str, int]] = {}
    block = source.read()
    with in_file(source.name):
        for query_id, doc_id, grade, line in qrels_rows(block):
            judged = qrels.setdefault(query_id, {})
            if doc_id in judged:
                lines = (number for q, d, _, number in qrels_rows(block) if (q, d) == (query_id, doc_id))
                raise duplicate(query_id, doc_id, next(lines), line)
            judged[doc_id] = grade
    return qrels


def duplicate(query_id: str, doc_id: str, first: int, second: int) -> Fault:
    """Return the fault for a document that a query has twice.

    Args:
        query_id: The query.
        doc_id: The document.
        first: The line that names it first, from 1.
        second: The line that names it again.
    """
    problem = f"query {query_id!r} has document {doc_id!r} already in line {first}; keep one of the two"
    return Fault(problem, line=second)


def write_run(path: Path | None, run: Mapping[str, Mapping[str, float]], *, tag: str) -> int:
    """Write a run and return its number of lines; the file appears only when it is complete.

    Args:
        path: The file; None is standard output.
        run: Query id -> document id -> score, in the order to be written; scores keep every digit.
        tag: The name of the system, without white space.

    Raises:
        OSError: The file cannot be written.
    """
    from goldbench.formats.jsonl import write_texts

    lines = (
        f"{query_id} Q0 {doc_id} {rank} {score!r} {tag}"
        for query_id, results in run.items()
        for rank, (doc_id, score) in enumerate(results.items(), start=1)
    )
    return write_texts(path, lines)


def _shown(text: bytes) -> str:
    return repr(text[:40].decode("ascii", "backslashreplace"))
