"""The set as it was before people's decisions, and its files whose records belong to single queries."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from goldbench.errors import InputError
from goldbench.formats.packed_files import Source
from goldbench.formats.runs.trec import read_qrels
from goldbench.goldset.file_names import BY_QUERY
from goldbench.goldset.folder import Draft, GoldFolder, Records
from goldbench.goldset.publication import sha256_of
from goldbench.records.judgment import Judgment, PooledPair
from goldbench.records.query import Query
from goldbench.review.people import Grades

R = TypeVar("R", PooledPair, Judgment)


@dataclass(frozen=True, slots=True)
class UnreviewedSet:
    """The set before people's decisions: its queries in order, its grades and their file, its other files' folder.

    ``kept`` marks a set that an earlier review put aside; otherwise it is the set as it stands.
    """

    folder: GoldFolder
    qrels: Path
    queries: tuple[Query, ...]
    grades: Grades
    kept: bool


def unreviewed_set(folder: GoldFolder, metadata: Mapping[str, Any]) -> UnreviewedSet:
    """Return the set before people's decisions: the copy put aside, unless the set was built or graded anew since.

    Raises:
        InputError: A file is missing or damaged.
    """
    review = metadata.get("review")
    files = review.get("files") if isinstance(review, Mapping) else None
    same = isinstance(files, Mapping) and all(
        sha256_if_there(folder.file(str(name))) == sha for name, sha in files.items()
    )
    is_kept = same and folder.unreviewed.queries.exists()
    home, qrels = (folder.unreviewed, folder.unreviewed_labels) if is_kept else (folder, folder.labels)
    if not qrels.is_file():
        raise InputError(qrels, "is missing; run the build again")
    return UnreviewedSet(home, qrels, tuple(home.queries.read()), read_qrels(Source(qrels)), is_kept)


def with_waiting(start: UnreviewedSet, folder: GoldFolder, judge: Grades) -> UnreviewedSet:
    """Return the set before people's decisions with the queries that wait for a label, and the judge's grades of these.

    Args:
        start: The set before people's decisions.
        folder: The folder that holds the waiting queries.
        judge: The judge's grades.
    """
    waiting = [query.asked() for query in folder.unlabelled_but(start.queries)]
    grades = {query.query_id: judge[query.query_id] for query in waiting if query.query_id in judge}
    return replace(start, queries=(*start.queries, *waiting), grades={**start.grades, **grades})


def keep(start: UnreviewedSet, draft: Draft) -> None:
    """Copy the set before people's decisions into the draft's ``unreviewed/``."""
    draft.unreviewed.path.mkdir(parents=True, exist_ok=True)
    for name in BY_QUERY:
        if start.folder.file(name).is_file():
            shutil.copyfile(start.folder.file(name), draft.unreviewed.file(name))
    shutil.copyfile(start.qrels, draft.unreviewed_labels)


def sha256_if_there(path: Path) -> str | None:
    """Return the SHA-256 of a file, or None if there is none."""
    return sha256_of(path) if path.is_file() else None


def renamed(records: Records[R], now: Mapping[str, str]) -> Iterator[R]:
    """Yield the records of the queries that are left, under the ids these have now; nothing if the file is missing.

    Args:
        records: The file of records.
        now: The present id by every id a query ever had; the others are left out.
    """
    for record in records.read_any():
        name = now.get(record.query_id)
        if name == record.query_id:
            yield record
        elif name is not None:
            ranked_by_the_old_wording: dict[str, Any] = {"ranks": {}} if isinstance(record, PooledPair) else {}
            yield record.model_copy(update={"query_id": name, **ranked_by_the_old_wording})
