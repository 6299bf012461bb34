"""Large TREC runs as frames of rows, a few megabytes at a time.

Polars reads a block of plain lines (six columns, separated by one space or one tab each); separators are counted to be
sure that the lines are plain. The strict reader reads any other block line by line, or tells what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import BinaryIO, TypeVar

import numpy as np
import polars as pl

from goldbench.errors import InputError
from goldbench.formats.faults import Fault, in_file
from goldbench.formats.packed_files import Source, without_mark
from goldbench.formats.runs.trec import duplicate, run_rows

T = TypeVar("T")

_BLOCK = 8 * 2**20
_TAIL = 2**14
"""The end of a block in which the end of a line is looked for."""
_IN_CACHE = 2**18
_LONGEST_LINE = 64 * 2**20
_COLUMNS = {f"column_{i}": pl.Float64 if i == 4 else pl.String for i in range(6)}
_NEEDED = {"column_0": "query", "column_2": "doc", "column_4": "score", "column_5": "tag"}
_ROWS = {"query": pl.String, "doc": pl.String, "score": pl.Float64}
_SPACE = ord(" ")


def run_frames(source: Source) -> Iterator[pl.DataFrame]:
    """Yield the rows of a run as frames with ``query``, ``doc`` and ``score``, in the order of the file, none empty.

    The next frame is made while the last one is in use, and the block after it is read and unpacked.

    Raises:
        InputError: A line is malformed; the message has its number.
    """
    return _ahead(_frames(source, _ahead(_blocks(source))))


def _ahead(items: Generator[T]) -> Generator[T]:
    """Yield the items; the next one is made in another thread while the last one is in use.

    The items are closed when this ends, after the one that is being made.
    """
    maker = ThreadPoolExecutor(1)
    following = maker.submit(next, items, None)
    try:
        while (item := following.result()) is not None:
            following = maker.submit(next, items, None)
            yield item
    finally:
        # The garbage collector may end this while another thread is being started, where waiting would never end.
        maker.shutdown(wait=False, cancel_futures=True)
        following.add_done_callback(lambda _: items.close())


def find_duplicate(source: Source, query_id: str, doc_id: str) -> InputError:
    """Return the error that names the two lines of a document that a query has twice.

    Args:
        source: The run.
        query_id: The query.
        doc_id: The document.
    """
    lines: list[int] = []
    number = 1
    for block in _blocks(source):
        if doc_id.encode() in block:
            rows = run_rows(block, first_line=number)
            lines += [line for query, doc, _, line in rows if (query, doc) == (query_id, doc_id)]
        if len(lines) > 1:
            break
        number += block.count(b"\n")
    return duplicate(query_id, doc_id, *lines[:2]).of(source.name)


def _frames(source: Source, blocks: Generator[bytes]) -> Generator[pl.DataFrame]:
    number = 1
    with closing(blocks):
        for block in blocks:
            frame = _plain(block)
            if frame is None:
                with in_file(source.name):
                    rows = [(query, doc, score) for query, doc, score, _ in run_rows(block, first_line=number)]
                frame = pl.DataFrame(rows, schema=_ROWS, orient="row")
                number += block.count(b"\n")
            else:
                number += frame.height
            if frame.height:
                yield frame


def _blocks(source: Source) -> Generator[bytes]:
    """Yield whole lines; the last one gets a line end if the file does not end with one."""
    rest = b""
    packed = source.is_packed()
    with source.open() as file:
        for part in _parts(file, packed=packed):
            end = part.rfind(b"\n") + 1
            if not end:
                rest += part
                if len(rest) > _LONGEST_LINE:
                    raise Fault(f"has a line of more than {_LONGEST_LINE // 2**20} MB: it is not a run")
                continue
            yield part if not rest and end == len(part) else b"".join((rest, memoryview(part)[:end]))
            rest = part[end:]
    if rest:
        yield rest + b"\n"


def _parts(file: BinaryIO, *, packed: bool) -> Iterator[bytes]:
    """Yield the bytes of a run without its mark; if it is not packed, in parts that end with a line where they can.

    Args:
        file: The bytes, unpacked.
        packed: Whether going back would unpack them again.
    """
    at = 0
    tail = min(_TAIL, _BLOCK)
    size = _BLOCK
    while True:
        if not packed:
            file.seek(at + _BLOCK - tail)
            size = _BLOCK - tail + file.read(tail).rfind(b"\n") + 1 or _BLOCK
            file.seek(at)
        part = file.read(size)
        if not part:
            return
        yield part if at else without_mark(part)
        at += len(part)


def _plain(block: bytes) -> pl.DataFrame | None:
    """Return the rows of a block of plain lines, ``None`` for any other.

    In a plain line one ``separator`` is between two of six words, and there is no other white space. A row with a tag
    has at least six words, which five separators and a line end part; if all rows together have six times as much white
    space as there are rows, no row has more words, and no word holds white space.
    """
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    whites = _single_whites(block)
    if not whites or block.startswith((b"#", b"\xef\xbb\xbf")) or (b"#" in block and b"\n#" in block):
        return None
    separator = "\t" if b"\t" in block[: block.index(b"\n")] else " "
    try:
        frame = pl.read_csv(
            block, has_header=False, separator=separator, quote_char=None, schema=_COLUMNS, columns=list(_NEEDED)
        )
    except pl.exceptions.PolarsError:
        return None
    if 6 * frame.height != whites or any(column.null_count() for column in frame.iter_columns()):
        return None
    frame.columns = list(_NEEDED.values())
    frame.drop_in_place("tag")
    return frame if np.isfinite(frame["score"].to_numpy()).all() else None


def _single_whites(block: bytes) -> int:
    """Return how many bytes of white space whole lines have; 0 if two stand together, or one at the beginning."""
    letters = np.frombuffer(block, np.uint8)
    if letters[0] <= _SPACE:
        return 0
    whites = 0
    for start in range(0, len(letters), _IN_CACHE):
        white = letters[start : start + _IN_CACHE + 1] <= _SPACE
        if (white[1:] & white[:-1]).any():
            return 0
        whites += int(np.count_nonzero(white[:_IN_CACHE]))
    return whites
