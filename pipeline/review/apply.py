"""Putting people's decisions into a gold set: their grades, the queries they edited, those they rejected.

What the set was before is kept below ``unreviewed/``, so that applying once more starts from there: it depends on the
set as built and on the ledger alone, and a decision taken back is taken back in the set as well. The ledger is only
read.
"""

from __future__ import annotations

import functools
import json
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import InputError
from pipeline.formats.jsonl import RecordFile
from pipeline.goldset.dataset import GoldSet, passages, write_gold
from pipeline.goldset.folder import check_usable, explained, publish, read_manifest, staging
from pipeline.review.decisions import Decided, answered, decide
from pipeline.review.ledger import RUBRIC_SHA
from pipeline.review.people import Grades, Reviewed, load_reviewed, people_of
from pipeline.review.unreviewed import (
    CHECKS,
    JUDGMENTS,
    POOL,
    QUERIES,
    Unreviewed,
    digest,
    keep,
    renamed,
    unreviewed_set,
)
from schemas.corpus import Chunk
from schemas.judgment import Judgment, Pooled, Relevance
from schemas.manifest import Manifest, StageReport
from schemas.query import DroppedQuery, Query

CHUNKS, DROPPED = "1-chunks.jsonl", "5-rejections.jsonl"
STAGE = "review"


@dataclass(frozen=True, slots=True)
class Applied:
    """What applying came to, in queries and in judgments; ``undecided`` queries are called bad, but not rejected."""

    folder: Path
    queries: int
    accepted: int
    edited: int
    dropped: dict[str, int]
    people: int
    model: int
    carried: int
    undecided: int


def apply_review(folder: Path, *, ledger: str | None, out: Path | None = None, reject_bad: bool = False) -> Applied:
    """Return what came of putting a ledger's decisions into a set: in its own folder, or in a new one.

    Args:
        folder: the folder of a build.
        ledger: where the decisions are; None for the file in the folder.
        out: where the new set goes; None for the folder itself.
        reject_bad: whether a query that somebody called bad, and nobody accepted or edited, is rejected.

    Raises:
        InputError: The folder is no build, or has no ledger, or one of another set.
        OutputError: The target holds something else or cannot be written.
    """
    manifest = read_manifest(folder)
    target = folder if out is None or _same(out, folder) else out
    if target is not folder:
        check_usable(
            target, settings={}, config_sha256=manifest.config_sha256, replace=False, grades=True, reviewed=True
        )
    reviewed = load_reviewed(folder, ledger)
    start = unreviewed_set(folder, reviewed.material.metadata)
    decided = decide(start, reviewed, reject_bad=reject_bad)
    people = _people(reviewed, decided, start)
    grades = answered(decided, start, people)
    with staging(target) as place, explained(target):
        made = _write(
            place, target, folder, start=start, decided=decided, grades=grades, reviewed=reviewed, people=people
        )
        stale = (*manifest.files, *_files_of(target))
        unchanged = {} if target is not folder else {n: d for n, d in manifest.files.items() if _stays(n, place)}
        publish(place, target, _manifest(manifest, start, decided), stale=stale, kept=unchanged)
    return made


def _same(one: Path, other: Path) -> bool:
    return one.exists() and one.samefile(other)


def _files_of(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(read_manifest(folder).files)
    except InputError:
        return ()


def _stays(name: str, place: Path) -> bool:
    """Whether a file of the set is not written again."""
    return not (place / name).exists()


def _people(reviewed: Reviewed, decided: Decided, start: Unreviewed) -> Grades:
    """Return people's grades by the ids that queries have from now on."""
    pool = renamed(start.folder / POOL, Pooled, decided.now()) if (start.folder / POOL).is_file() else ()
    return people_of(
        reviewed.state,
        [query.query_id for query in decided.queries],
        corpus=reviewed.material.corpus,
        pool=pool,
        earlier=decided.earlier,
    )


def _write(
    place: Path,
    target: Path,
    folder: Path,
    *,
    start: Unreviewed,
    decided: Decided,
    grades: Mapping[str, Mapping[str, Relevance]],
    reviewed: Reviewed,
    people: Grades,
) -> Applied:
    if target is not folder:
        _copy(folder, place)
    keep(start, place)
    RecordFile.write(place / QUERIES, Query, decided.queries)
    RecordFile.write(place / DROPPED, DroppedQuery, decided.dropped)
    if (start.folder / POOL).is_file():
        RecordFile.write(place / POOL, Pooled, renamed(start.folder / POOL, Pooled, decided.now()))
    for name in (JUDGMENTS, CHECKS):
        if (start.folder / name).is_file():
            RecordFile.write(place / name, Judgment, renamed(start.folder / name, Judgment, decided.now()))
    kept = {query_id: people.get(query_id, {}) for query_id in grades}
    by_people = sum(len(given) for given in kept.values())
    made = Applied(
        folder=target,
        queries=len(decided.queries),
        accepted=sum(note.get("verdict") == "accepted" for note in decided.notes.values()),
        edited=sum(query.query_id in decided.earlier for query in decided.queries),
        dropped=dict(sorted(Counter(one.filter for one in decided.dropped).items())),
        people=by_people,
        model=sum(len(graded) for graded in grades.values()) - by_people,
        carried=_carried(reviewed, decided, kept),
        undecided=len(_undecided(reviewed, decided)),
    )
    metadata = {**reviewed.material.metadata, "review": _described(place, made, decided, reviewed)}
    corpus = functools.partial(passages, RecordFile.open(folder / CHUNKS, Chunk), decided.queries)
    write_gold(place, GoldSet(decided.queries, corpus, grades, metadata))
    return made


def _described(place: Path, made: Applied, decided: Decided, reviewed: Reviewed) -> dict[str, Any]:
    names = [name for name in (QUERIES, POOL, JUDGMENTS, CHECKS) if (place / name).is_file()]
    return {
        "data_sha": reviewed.material.data_sha,
        "rubric_sha": RUBRIC_SHA,
        "judgments": {"people": made.people, "model": made.model, "people_on_an_earlier_wording": made.carried},
        "annotators": len({review.annotator for review in reviewed.state.reviews()}),
        "queries": decided.notes,
        "dropped": made.dropped,
        "files": {name: digest(place / name) for name in names},
    }


def _carried(reviewed: Reviewed, decided: Decided, people: Grades) -> int:
    """Return how many of people's grades were given to an earlier wording of their query."""
    said = reviewed.state.gold()
    return sum(
        len(given.keys() - said.get(query_id, {}).keys())
        for query_id, given in people.items()
        if query_id in decided.earlier
    )


def _undecided(reviewed: Reviewed, decided: Decided) -> set[str]:
    return reviewed.state.bad_queries().keys() & {query.query_id for query in decided.queries}


def _copy(folder: Path, place: Path) -> None:
    """Copy every file that the manifest of a set names."""
    for name in read_manifest(folder).files:
        source = folder / name
        if not source.resolve().is_relative_to(folder.resolve()):
            raise InputError(folder / "manifest.json", f"names {name!r}, which is no file of this folder")
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place / name)


def _manifest(manifest: Manifest, start: Unreviewed, decided: Decided) -> Manifest:
    stage = StageReport(
        stage=STAGE,
        reads=QUERIES,
        writes="dataset.json",
        read=len(start.queries),
        written=len(decided.queries),
        rejected=len(decided.dropped),
        rules=dict(sorted(Counter(one.filter for one in decided.dropped).items())),
    )
    before = [report for report in manifest.stages if report.stage != STAGE]
    return manifest.model_copy(update={"queries": len(decided.queries), "stages": [*before, stage]})


def as_json(made: Applied) -> str:
    """Return what applying came to as JSON."""
    return json.dumps({name: getattr(made, name) for name in made.__slots__ if name != "folder"}, indent=2)
