"""TREC files, line by line: runs of six columns and judgments of four, every line checked.

Any white space parts columns. Lines that begin with ``#`` and empty lines are passed over, as by trec_eval 10.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isfinite

from pipeline.errors import InputError
from pipeline.formats.runs.packed_files import Source

RUN_COLUMNS = "a run has 6: query Q0 document rank score tag"
QRELS_COLUMNS = "judgments have 4: query 0 document grade"
HIGHEST_GRADE = 1000

_GRADE = re.compile(rb"[+-]?[0-9]{1,18}")


def run_rows(block: bytes, name: str, *, first_line: int = 1) -> Iterator[tuple[str, str, float, int]]:
    """Yield query, document, score and line number of every line of a run.

    Args:
        block: whole lines.
        name: the file, for messages.
        first_line: the number of the first line of ``block``.

    Raises:
        InputError: a line has another number of columns, a score that is no finite number, or bytes that are not UTF-8.
    """
    for number, line in enumerate(block.split(b"\n"), first_line):
        fields = line.split()
        if len(fields) != 6:
            if not fields or line.startswith(b"#"):
                continue
            raise InputError(name, f"{len(fields)} columns, {RUN_COLUMNS}", line=number)
        query_id, _, doc_id, _, text, _ = fields
        if query_id.startswith(b"#") and line.startswith(b"#"):
            continue
        try:
            score = float(text)
        except ValueError:
            score = float("nan")
        if not isfinite(score) or b"_" in text:
            raise InputError(name, f"the score (column 5) is {_shown(text)}, no finite number", line=number)
        try:
            yield query_id.decode(), doc_id.decode(), score, number
        except UnicodeDecodeError:
            raise not_utf8(name, number) from None


def qrels_rows(block: bytes, name: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield query, document, grade and line number of every line of judgments.

    Raises:
        InputError: a line has another number of columns, a grade that is no whole number, or bytes that are not UTF-8.
    """
    for number, line in enumerate(block.split(b"\n"), 1):
        fields = line.split()
        if not fields or line.startswith(b"#"):
            continue
        if len(fields) != 4:
            raise InputError(name, f"{len(fields)} columns, {QRELS_COLUMNS}", line=number)
        query_id, _, doc_id, text = fields
        try:
            yield query_id.decode(), doc_id.decode(), grade_of(text, name, number), number
        except UnicodeDecodeError:
            raise not_utf8(name, number) from None


def grade_of(text: bytes, name: str, line: int) -> int:
    """Return the grade that ``text`` spells.

    Raises:
        InputError: it is no whole number from -1000 to 1000.
    """
    if not _GRADE.fullmatch(text) or abs(int(text)) > HIGHEST_GRADE:
        raise InputError(
            name, f"the grade is {_shown(text)}, no whole number from -{HIGHEST_GRADE} to {HIGHEST_GRADE}", line=line
        )
    return int(text)


def not_utf8(name: str, line: int | None) -> InputError:
    """Return the error for bytes that are not UTF-8."""
    return InputError(name, "is not UTF-8 here; convert the file to UTF-8, the whole of it", line=line)


def without_mark(block: bytes, name: str) -> bytes:
    """Return the first bytes of a file without a byte order mark.

    Raises:
        InputError: the mark is one of UTF-16.
    """
    if block.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(name, "is UTF-16; convert the file to UTF-8")
    return block.removeprefix(b"\xef\xbb\xbf")


def read_run(source: Source) -> dict[str, dict[str, float]]:
    """Return a run as a score per document and query.

    Raises:
        InputError: a line is bad, or a query has a document twice.
    """
    run: dict[str, dict[str, float]] = {}
    block = without_mark(source.read(), source.name)
    for query_id, doc_id, score, line in run_rows(block, source.name):
        documents = run.get(query_id)
        if documents is None:
            documents = run[query_id] = {}
        elif doc_id in documents:
            lines = (number for q, d, _, number in run_rows(block, source.name) if (q, d) == (query_id, doc_id))
            raise duplicate(source.name, query_id, doc_id, next(lines), line)
        documents[doc_id] = score
    return run


def read_qrels(source: Source) -> dict[str, dict[str, int]]:
    """Return judgments as a grade per document and query.

    Raises:
        InputError: a line is bad, or a document is judged twice for a query.
    """
    qrels: dict[str, dict[str, int]] = {}
    block = without_mark(source.read(), source.name)
    for query_id, doc_id, grade, line in qrels_rows(block, source.name):
        judged = qrels.setdefault(query_id, {})
        if doc_id in judged:
            lines = (number for q, d, _, number in qrels_rows(block, source.name) if (q, d) == (query_id, doc_id))
            raise duplicate(source.name, query_id, doc_id, next(lines), line)
        judged[doc_id] = grade
    return qrels


def duplicate(name: str, query_id: str, doc_id: str, first: int, second: int) -> InputError:
    """Return the error for a document that stands twice under a query."""
    return InputError(
        name, f"query {query_id!r} has document {doc_id!r} already in line {first}; keep one of the two", line=second
    )


def _shown(text: bytes) -> str:
    return repr(text[:40].decode("ascii", "backslashreplace"))
