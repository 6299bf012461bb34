"""Large TREC runs as frames of rows.

Polars reads a block of plain lines: six columns, separated by one space or one tab each. The strict reader reads any
other block line by line, or tells what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from goldbench.errors import InputError
from goldbench.formats.faults import Fault, in_file
from goldbench.formats.packed_files import Source, without_mark
from goldbench.formats.runs.trec import duplicate, run_rows

_BLOCK = 16 * 2**20
_LONGEST_LINE = 64 * 2**20
_ROWS = {"query": pl.String, "doc": pl.String, "score": pl.Float64}
_COLUMNS = dict.fromkeys(("query", "q0", "doc", "rank", "score", "tag"), pl.String) | _ROWS


def run_frame(source: Source) -> pl.DataFrame:
    """Return the rows of a run with ``query``, ``doc`` and ``score``, in the order of the file.

    Raises:
        InputError: A line is malformed; the message has its number.
    """
    frames = [pl.DataFrame(schema=_ROWS)]
    number = 1
    with in_file(source.name):
        for block in _blocks(source):
            frame = _plain(block)
            if frame is None:
                rows = [(query, doc, score) for query, doc, score, _ in run_rows(block, first_line=number)]
                frame = pl.DataFrame(rows, schema=_ROWS, orient="row")
            frames.append(frame)
            number += block.count(b"\n")
    return pl.concat(frames)


def find_duplicate(source: Source, query_id: str, doc_id: str) -> InputError:
    """Return the error that names the two lines of a document that a query has twice."""
    lines: list[int] = []
    number = 1
    for block in _blocks(source):
        if doc_id.encode() in block:
            rows = run_rows(block, first_line=number)
            lines += [line for query, doc, _, line in rows if (query, doc) == (query_id, doc_id)]
        number += block.count(b"\n")
    return duplicate(query_id, doc_id, *lines[:2]).of(source.name)


def _blocks(source: Source) -> Iterator[bytes]:
    """Yield whole lines without the mark of the file."""
    rest = b""
    with source.open() as file:
        part = without_mark(file.read(_BLOCK))
        while part:
            end = part.rfind(b"\n") + 1
            if end:
                yield rest + part[:end]
                rest = b""
            rest += part[end:]
            if len(rest) > _LONGEST_LINE:
                raise Fault(f"has a line of more than {_LONGEST_LINE // 2**20} MB: it is not a run")
            part = file.read(_BLOCK)
    if rest:
        yield rest


def _plain(block: bytes) -> pl.DataFrame | None:
    """Return the rows of a block of plain lines, None for any other.

    Two separators together, or one at an end of a line, leave a field empty, and without other white space no word
    holds any.
    """
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    separator = "\t" if b"\t" in block[: block.find(b"\n") + 1] else " "
    if any(white.encode() in block for white in " \t\r\v\f".replace(separator, "")):
        return None
    try:
        frame = pl.read_csv(block, has_header=False, separator=separator, quote_char=None, schema=_COLUMNS)
    except pl.exceptions.PolarsError:
        return None
    rows = frame.select("query", "doc", "score")
    is_plain = not any(column.null_count() for column in frame.iter_columns())
    if is_plain and not rows["query"].str.starts_with("#").any() and np.isfinite(rows["score"].to_numpy()).all():
        return rows
    return None
