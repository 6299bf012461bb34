"""Writing results as a TREC run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipeline.formats.jsonl import write_texts


def write_run(path: Path, run: Mapping[str, Mapping[str, float]], *, tag: str) -> int:
    """Write a run and return its number of lines; the file appears only when it is whole.

    Args:
        path: The file.
        run: query id -> document id -> score, in the order to be written; scores keep every digit.
        tag: The name of the system: no white space.

    Raises:
        OSError: The file cannot be written.
    """
    return write_texts(
        path,
        (
            f"{query_id} Q0 {doc_id} {rank} {score!r} {tag}"
            for query_id, found in run.items()
            for rank, (doc_id, score) in enumerate(found.items(), start=1)
        ),
    )
