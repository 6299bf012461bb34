"""The union of two gold sets written as a folder of its own."""

from __future__ import annotations

import functools
import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from goldbench.pipeline.formats.jsonl import write_texts
from goldbench.pipeline.formats.packed_files import Source
from goldbench.pipeline.formats.runs.trec import read_qrels
from goldbench.pipeline.goldset.dataset import GoldContents, passages, title_use
from goldbench.pipeline.goldset.file_names import QUERIES
from goldbench.pipeline.goldset.folder import Draft, GoldFolder, Records, ReplacePolicy, made_from, stamp, with_reports
from goldbench.pipeline.goldset.publication import new_folder, taken
from goldbench.pipeline.goldset.union import Conflict, Ids, Side, Union, dropped_of_other, unite
from goldbench.schemas.judgment import Judgment, Pooled
from goldbench.schemas.manifest import Grading, KindCount, Manifest, StageReport
from goldbench.schemas.query import Query, QueryKind

STAGE = "merge"
SAME = "same-query"
Prefer = Literal["first", "second"]
LEVELS = ("smoke", "model", "users", "human")
"""Levels of evidence, the weakest first; a merged set has the weaker one of its two."""

_R = TypeVar("_R", Pooled, Judgment)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Merged:
    """A merged set: its manifest (None if conflicts stopped it), the conflicts, and what was taken and left out.

    ``untested`` counts the queries without an answer that nobody judged against the new passages.
    """

    manifest: Manifest | None
    conflicts: tuple[Conflict, ...]
    same: int
    left_out: Mapping[str, str]
    untested: int

    def reasons(self) -> dict[str, int]:
        """Return how many queries were left out for each reason."""
        return dict(Counter(self.left_out.values()))


def merge_sets(first: Path, second: Path, out: Path, *, prefer: Prefer | None = None) -> Merged:
    """Write the union of two gold sets as a new folder; with a conflict and no preference nothing is written.

    Args:
        first: The folder of a set.
        second: The folder of another.
        out: The folder of the union, which must not exist.
        prefer: The set that stands in every conflict and whose ids stay.

    Raises:
        InputError: A folder is not that of a finished set, or the sets were cut or titled differently.
        OutputError: The folder exists, or cannot be written.
    """
    started = time.monotonic()
    if out.exists():
        raise taken(out)
    sides = Side.read(first), Side.read(second)
    base, other = reversed(sides) if prefer == "second" else sides
    made = unite(base, other)
    same = len(base.every()) + len(other.every()) - len(made.left_out) - len(made.queries) - len(made.unanswerable)
    untested = len(_in_other_corpus(made, made.unanswerable))
    if made.conflicts and prefer is None:
        return Merged(None, made.conflicts, same, made.left_out, untested)
    fingerprint = hashlib.sha256(
        json.dumps([base.manifest.files, other.manifest.files, prefer], sort_keys=True).encode()
    ).hexdigest()
    noted: dict[str, Any] = {"conflicts": dict(sorted(Counter(one.kind for one in made.conflicts).items()))}
    if prefer is not None:
        noted["prefer"] = prefer
    with new_folder(out) as folder, GoldFolder(folder).replacing(ReplacePolicy({}, fingerprint)) as place:
        _write(made, place, noted)
        manifest = _manifest(made, fingerprint, same).model_copy(update=stamp(started))
        place.finish(manifest, made_from(STAGE, base.folder, other.folder))
    return Merged(GoldFolder(out).manifest(), made.conflicts, same, made.left_out, untested)


def _write(made: Union, place: Draft, noted: Mapping[str, Any]) -> None:
    base, other = made.base.folder, made.other.folder
    new = (one for one in other.documents.read() if one.doc_id in made.new_documents)
    place.documents.write(_both(base.documents.read(), new))
    added = (one for one in other.chunks.read() if one.chunk_id in made.new_chunks)
    chunks = place.chunks.write(_both(base.chunks.read(), added))
    queries = _measured(made)
    place.queries.write(queries)
    skipped = {(one.base[0], one.base[1]) for one in made.conflicts if one.kind == "grade"}
    judged = _pairs(base.judgments)
    _write_both(base.pool, other.pool, place.pool, made.ids, _pairs(base.pool))
    _write_both(base.judgments, other.judgments, place.judgments, made.ids, judged | skipped)
    _write_both(base.checks, other.checks, place.checks, made.ids, _pairs(base.checks))
    judgments = base.unanswerable_judgments, other.unanswerable_judgments, place.unanswerable_judgments
    _write_both(*judgments, made.ids, _pairs(judgments[0]))
    if base.ungraded.exists() or other.ungraded.exists():
        place.ungraded.write(_both(base.ungraded.read_any(), dropped_of_other(made)))
    _write_given(made, place)
    metadata = _metadata(made.base, made.other, made.ids, noted)
    corpus = functools.partial(passages, chunks, queries, title_use(metadata))
    place.write_gold(GoldContents(queries, corpus, made.grades, metadata, made.unanswerable, made.derived))
    settings = made.base.folder.settings()
    settings.pop("split", None)
    place.write_settings({**settings, STAGE: dict(noted)})


def _measured(made: Union) -> list[Query]:
    """Return the queries; what was measured by searching another corpus than that of the union is left out."""
    moved = _in_other_corpus(made, made.queries)
    unknown: dict[str, Any] = {"difficulty": None, "reached_by": None, "unreachable": None}
    return [query.model_copy(update=unknown) if query.query_id in moved else query for query in made.queries]


def _in_other_corpus(made: Union, queries: Iterable[Query]) -> set[str]:
    """Return the ids of those queries whose own set lacks some of the union's documents."""
    of_base = {query.query_id for query in made.base.every()}
    shared = len(made.ids.documents) - len(made.new_documents)
    lacking = {True: bool(made.new_documents), False: shared < made.base.manifest.documents}
    return {query.query_id for query in queries if lacking[query.query_id in of_base]}


def _both(first: Iterable[_T], second: Iterable[_T]) -> Iterator[_T]:
    yield from first
    yield from second


def _pairs(records: Records[_R]) -> set[tuple[str, str]]:
    return {(one.query_id, one.chunk_id) for one in records.read_any()}


def _write_both(
    base: Records[_R], other: Records[_R], written: Records[_R], ids: Ids, known: set[tuple[str, str]]
) -> None:
    """Write the records of both sets; of the other set those of pairs that are not known yet, by their present ids."""

    def moved() -> Iterator[_R]:
        yield from base.read_any()
        for one in other.read_any():
            query_id, chunk_id = ids.queries.get(one.query_id), ids.chunks.get(one.chunk_id)
            shared = ids.chunks.get(one.shared_from) if one.shared_from else None
            lost = query_id is None or chunk_id is None or (one.shared_from is not None and shared is None)
            if not lost and (query_id, chunk_id) not in known:
                yield one.model_copy(update={"query_id": query_id, "chunk_id": chunk_id, "shared_from": shared})

    if base.exists() or other.exists():
        written.write(moved())


def _write_given(made: Union, place: Draft) -> None:
    """Write the labels from before a grading, if a set was graded: those of the base, and of queries it lacks."""
    files = made.base.folder.given_labels, made.other.folder.given_labels
    if not any(file.is_file() for file in files):
        return
    place.given_labels.parent.mkdir(parents=True, exist_ok=True)
    given = [
        read_qrels(Source(file if file.is_file() else side.folder.labels))
        for file, side in zip(files, (made.base, made.other), strict=True)
    ]
    rows = dict(given[0])
    for query_id, found in given[1].items():
        now = made.ids.queries.get(query_id)
        if now is not None and now not in rows:
            rows[now] = {made.ids.chunks[one]: grade for one, grade in found.items() if one in made.ids.chunks}
    write_texts(
        place.given_labels, (f"{one} 0 {c} {grade}" for one, found in rows.items() for c, grade in found.items())
    )


def _metadata(base: Side, other: Side, ids: Ids, noted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of the union: the base's, then the other's, with the weaker evidence and both warnings."""
    first, second = base.dataset.metadata, other.dataset.metadata
    found = {key: value for key, value in {**second, **first}.items() if key not in {"split", "review", "members"}}
    found["evidence_level"] = _weaker(base.manifest.evidence_level, other.manifest.evidence_level)
    notices = dict.fromkeys(str(one["notice"]) for one in (first, second) if one.get("notice"))
    if notices:
        found["notice"] = " ".join(notices)
    reviews = [one["review"] for one in (first, second) if isinstance(one.get("review"), Mapping)]
    if reviews:
        found["review"] = _review(first.get("review"), second.get("review"), ids)
    return {**found, STAGE: dict(noted)}


def _review(first: object, second: object, ids: Ids) -> dict[str, Any]:
    """Return what a union says about people's decisions: the verdicts of both sets, and counts only if both have them.

    The digest by which a ledger is recognised stays if it is the same in both, as in parts of one set.
    """
    both = [one for one in (first, second) if isinstance(one, Mapping)]
    verdicts: dict[str, Any] = {}
    if isinstance(second, Mapping) and isinstance(second.get("queries"), Mapping):
        verdicts |= {ids.queries[one]: note for one, note in second["queries"].items() if one in ids.queries}
    if isinstance(first, Mapping) and isinstance(first.get("queries"), Mapping):
        verdicts |= first["queries"]
    found: dict[str, Any] = {"queries": verdicts}
    for key in ("data_sha", "of_the_whole_set"):
        said = [one.get(key) for one in both]
        if len(both) == 2 and said[0] == said[1] and said[0] is not None:
            found[key] = said[0]
    return found


def _weaker(one: str, other: str) -> str:
    ranks = {level: rank for rank, level in enumerate(LEVELS)}
    return min(one, other, key=lambda level: ranks.get(level, -1))


def _manifest(made: Union, fingerprint: str, same: int) -> Manifest:
    base, other = made.base.manifest, made.other.manifest
    every = [*made.queries, *made.unanswerable]
    kinds = Counter(query.kind for query in every if query.kind)
    counted = {kind: kinds[QueryKind(kind)] for kind in {**base.kinds, **other.kinds}}
    rules = Counter(made.left_out.values())
    if same:
        rules[SAME] = same
    read = len(made.base.every()) + len(made.other.every())
    report = StageReport(
        stage=STAGE,
        reads=QUERIES,
        writes=QUERIES,
        read=read,
        written=read - rules.total(),
        rejected=rules.total(),
        rules=dict(sorted(rules.items())),
    )
    return base.model_copy(
        update={
            "generator": base.generator if base.generator == other.generator else STAGE,
            "generators": dict(sorted(Counter(query.generator for query in made.queries).items())),
            "evidence_level": _weaker(base.evidence_level, other.evidence_level),
            "model": base.model if base.model == other.model else None,
            "prompts": {**other.prompts, **base.prompts},
            "config_sha256": fingerprint,
            "documents": base.documents + len(made.new_documents),
            "target": None,
            "queries": len(made.queries),
            "mix": {},
            "kinds": {kind: KindCount(wanted=count, kept=count) for kind, count in counted.items()},
            "stages": with_reports([one for one in base.stages if one.stage != "split"], [report]),
            "failures": [*base.failures, *(one for one in other.failures if one not in base.failures)],
            "usage": {},
            "grading": _grading(base.grading, other.grading),
            "difficulty": None,
            "refused_grading": None,
        }
    )


_COUNTED = (
    "feedback", "pairs", "judged", "shared", "unjudged", "escalated", "capped", "too_broad", "unreachable",
)  # fmt: skip


def _grading(one: Grading | None, other: Grading | None) -> Grading | None:
    """Return how the pools of both sets were judged, counts added; None unless both were."""
    if one is None or other is None or one == other:
        return one if one == other else None
    added: dict[str, Any] = {}
    for name in _COUNTED:
        added[name] = getattr(one, name) + getattr(other, name)
    for name in ("flagged", "spread", "grades"):
        added[name] = dict(Counter(getattr(one, name)) + Counter(getattr(other, name)))
    for name in ("assessors", "retrievers", "runs"):
        added[name] = list(dict.fromkeys([*getattr(one, name), *getattr(other, name)]))
    added["depth"] = min(one.depth, other.depth)
    added["agreement_measured"] = one.agreement_measured and other.agreement_measured
    return one.model_copy(update=added)
