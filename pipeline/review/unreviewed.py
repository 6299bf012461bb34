"""The set as it was before people decided anything of it, and the files in it that speak of single queries."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pipeline.errors import InputError
from pipeline.formats.jsonl import RecordFile
from pipeline.formats.runs.packed_files import Source
from pipeline.formats.runs.trec import read_qrels
from pipeline.goldset.folder import UNREVIEWED
from pipeline.review.people import Grades
from schemas.judgment import Judgment, Pooled
from schemas.query import Query

QUERIES, QRELS = "3-queries.jsonl", "trec/qrels.txt"
POOL, JUDGMENTS, CHECKS = "4-pool.jsonl", "4-judgments.jsonl", "4-source-checks.jsonl"

R = TypeVar("R", Pooled, Judgment)


@dataclass(frozen=True, slots=True)
class Unreviewed:
    """The set before people: its queries in order, its grades, and the folder its files of single queries are in.

    ``kept`` says that this is what an earlier applying put aside; else it is the set as it stands.
    """

    folder: Path
    queries: tuple[Query, ...]
    grades: Grades
    kept: bool


def unreviewed_set(folder: Path, metadata: Mapping[str, Any]) -> Unreviewed:
    """Return the set before people: as it was put aside, unless it was built or graded anew since.

    Raises:
        InputError: A file is missing or damaged.
    """
    aside = folder / UNREVIEWED
    said = metadata.get("review")
    files = said.get("files") if isinstance(said, Mapping) else None
    kept = isinstance(files, Mapping) and all(digest(folder / str(name)) == sha for name, sha in files.items())
    kept = kept and (aside / QUERIES).is_file()
    place, qrels = (aside, aside / "qrels.txt") if kept else (folder, folder / QRELS)
    if not qrels.is_file():
        raise InputError(qrels, "is missing; run the build again")
    return Unreviewed(place, tuple(RecordFile.open(place / QUERIES, Query)), read_qrels(Source(qrels)), kept)


def keep(start: Unreviewed, place: Path) -> None:
    """Put the set as it was before people aside, below the place that is written to."""
    aside = place / UNREVIEWED
    aside.mkdir(parents=True, exist_ok=True)
    for name in (QUERIES, POOL, JUDGMENTS, CHECKS):
        if (start.folder / name).is_file():
            shutil.copyfile(start.folder / name, aside / name)
    shutil.copyfile(start.folder / ("qrels.txt" if start.kept else QRELS), aside / "qrels.txt")


def digest(path: Path) -> str | None:
    """Return the SHA-256 of a file, None where there is none."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def renamed(path: Path, kind: type[R], now: Mapping[str, str]) -> Iterator[R]:
    """Yield the records of the queries that are left, under the ids these have now.

    Args:
        path: a file of records.
        kind: what they are.
        now: the present id by every id a query ever had; the others are left out.
    """
    for record in RecordFile.open(path, kind):
        name = now.get(record.query_id)
        if name == record.query_id:
            yield record
        elif name is not None:
            ranked_by_the_old_wording: dict[str, Any] = {"ranks": {}} if isinstance(record, Pooled) else {}
            yield record.model_copy(update={"query_id": name, **ranked_by_the_old_wording})
