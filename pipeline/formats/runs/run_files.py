"""Writing results as a TREC run."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from pipeline.formats.jsonl import write_texts


def write_run(path: Path | None, run: Mapping[str, Mapping[str, float]], *, tag: str) -> int:
    """Write a run and return its number of lines; the file appears only when it is whole.

    Args:
        path: The file; None is standard output.
        run: query id -> document id -> score, in the order to be written; scores keep every digit.
        tag: The name of the system: no white space.

    Raises:
        OSError: The file cannot be written.
    """
    if path is not None:
        return write_texts(path, _lines(run, tag))
    sys.stdout.buffer.writelines(f"{line}\n".encode() for line in _lines(run, tag))
    sys.stdout.buffer.flush()
    return sum(map(len, run.values()))


def _lines(run: Mapping[str, Mapping[str, float]], tag: str) -> Iterator[str]:
    for query_id, found in run.items():
        for rank, (doc_id, score) in enumerate(found.items(), start=1):
            yield f"{query_id} Q0 {doc_id} {rank} {score!r} {tag}"
