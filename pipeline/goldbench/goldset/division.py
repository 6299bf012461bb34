"""A gold set divided into parts for development and test: queries that know of one another stay on one side.

Every part is a set of its own with the whole corpus. The parts appear together or not at all.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from goldbench.errors import InputError, UsageError
from goldbench.formats.jsonl import write_texts
from goldbench.goldset.dataset import GoldContents, passages, title_use
from goldbench.goldset.file_names import QUERIES, RENAMED
from goldbench.goldset.folder import Draft, GoldFolder, ReplacePolicy, stamp, with_reports
from goldbench.goldset.grading_counts import grading_counts
from goldbench.goldset.publication import new_folder
from goldbench.ports import StoredRecords
from goldbench.records.corpus import Chunk, Evidence
from goldbench.records.manifest import KindCount, Manifest, StageReport
from goldbench.records.query import DroppedQuery, Query, QueryKind
from goldbench.records.relevance import Relevance
from goldbench.records.testset import TestSet
from goldbench.stages.check.set_checks import alike
from goldbench.stages.select.near_duplicates import Sketches, cluster, write_sketch
from goldbench.text.display import queries as count_of
from goldbench.text.display import shown
from goldbench.text.draws import number_of
from goldbench.text.shares import quotas
from goldbench.text.similarity import normal

STAGE = "split"
ELSEWHERE = "in-another-part"
By = Literal["query", "source"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}")
_SHARE = re.compile(r"\d{0,6}\.?\d{1,12}")


@dataclass(frozen=True, slots=True)
class SplitPart:
    """One written part: its name, and how many queries it should have and has."""

    name: str
    folder: Path
    wanted: int
    queries: int


@dataclass(frozen=True, slots=True)
class Division:
    """A divided set: its parts, and how many groups of queries that stay together it has."""

    parts: tuple[SplitPart, ...]
    groups: int


def parse_shares(text: str) -> dict[str, Fraction]:
    """Return the shares of ``dev=0.3,test=0.7``, which must add up to 1.

    Raises:
        UsageError: It is not a list of names and shares, or they do not add up to 1.
    """
    shares: dict[str, Fraction] = {}
    for piece in text.split(","):
        name, _, share = (part.strip() for part in piece.partition("="))
        if not _NAME.fullmatch(name) or not _SHARE.fullmatch(share):
            raise UsageError(f"not a name with its share: {shown(piece)!r}; give dev=0.3,test=0.7", parameter="shares")
        if name.lower() in map(str.lower, shares):
            raise UsageError(f"{name} is named twice", parameter="shares")
        shares[name] = Fraction(share)
    total = sum(shares.values())
    if len(shares) < 2 or total != 1 or not all(shares.values()):
        raise UsageError(
            f"needs two shares or more, each above 0, with the sum 1, not {float(total):g}", parameter="shares"
        )
    return shares


def split_set(folder: Path, out: Path, *, shares: Mapping[str, Fraction], by: By, seed: int) -> Division:
    """Write the parts of a gold set as folders below a new folder.

    Queries stay together that share a passage they were written from or need, or a near-duplicate of one, that have
    almost the same words, that belong to one conversation, and noisy queries with their originals; by source also all
    queries on one document.

    Args:
        folder: The folder of a set.
        out: The folder of the parts, which must not exist.
        shares: The name and the share of each part; they add up to 1.
        by: What is kept on one side besides.
        seed: The same seed gives the same parts.

    Raises:
        InputError: The folder is not that of a finished set, or a part would have no query.
        OutputError: The new folder exists, or cannot be written.
    """
    started = time.monotonic()
    whole = _Whole.read(GoldFolder(folder))
    groups, part_of = _divided(whole, shares, by=by, seed=seed)
    counts = Counter(part_of[query.query_id] for query in whole.queries)
    empty = next((name for name in shares if not counts[name]), None)
    if empty is not None:
        groups_of = f"the {count_of(len(whole.queries))} form {len(groups)} groups that belong together"
        raise InputError(folder, f"part {empty} would have no query: {groups_of}; give other shares")
    fingerprint = _digest([whole.manifest.files, list(map(str, shares.items())), by, seed])
    wanted = quotas(shares, len(whole.queries))
    parts = []
    with new_folder(out) as staged:
        for name in shares:
            query_ids = {query_id for query_id, part in part_of.items() if part == name}
            note = {"part": name, "by": by, "seed": seed, "shares": {key: str(share) for key, share in shares.items()}}
            manifest = _write_part(whole, query_ids, staged / name, note, fingerprint, started)
            parts.append(SplitPart(name, out / name, wanted[name], manifest.queries))
    return Division(tuple(parts), len(groups))


@dataclass(frozen=True, slots=True)
class Group:
    """Queries that stay together, as positions; ``size`` counts those that the shares are about."""

    members: Sequence[int]
    size: int


@dataclass(frozen=True, slots=True)
class _Whole:
    """The set that is divided."""

    home: GoldFolder
    manifest: Manifest
    dataset: TestSet
    queries: list[Query]
    unanswerable: list[Query]
    dropped: list[DroppedQuery]

    @classmethod
    def read(cls, home: GoldFolder) -> _Whole:
        manifest = home.manifest()
        queries = list(home.queries.read())
        if len(queries) < 2:
            raise InputError(home.path, f"holds {count_of(len(queries))}: two are needed for two parts")
        dropped = list(home.ungraded.read_any())
        return cls(home, manifest, home.dataset(), queries, list(home.unanswerable.read_any()), dropped)

    def every(self) -> list[Query]:
        """Return all queries: those that count first, then those without an answer, then those that were left out."""
        return [*self.queries, *self.unanswerable, *(item.query for item in self.dropped)]


def _divided(whole: _Whole, shares: Mapping[str, Fraction], *, by: By, seed: int) -> tuple[list[Group], dict[str, str]]:
    """Return the groups of queries, and the part of every query by its id."""
    every = whole.every()
    chunks = whole.home.chunks.read()
    keys = [set(_own_keys(query)) for query in every]
    _add_passages(keys, every, chunks, by_source=by == "source")
    for first_number, second_number in alike(query.alone for query in every):
        keys[second_number].add(("alike", first_number))
        keys[first_number].add(("alike", first_number))
    groups = linked(keys)
    part_of: dict[int, str] = {}
    first = 0
    counted: list[Group] = []
    for many in (len(whole.queries), len(whole.unanswerable), len(whole.dropped)):
        within = range(first, first + many)
        first += many
        placed = Counter(part_of[number] for number in within if number in part_of)
        rest = [
            Group(members, size)
            for members in groups
            if members[0] not in part_of and (size := sum(member in within for member in members))
        ]
        rest.sort(key=lambda group: _order(group, every, seed))
        room = {part: number - placed[part] for part, number in quotas(shares, many).items()}
        for group in rest:
            part = next((part for part in room if room[part] >= group.size), max(room, key=lambda name: room[name]))
            room[part] -= group.size
            part_of |= dict.fromkeys(group.members, part)
        counted = counted or rest
    return counted, {query.query_id: part_of[position] for position, query in enumerate(every)}


def linked(keys: Sequence[Iterable[Hashable]]) -> list[list[int]]:
    """Return the groups of items that share a key, directly or through others; every group in ascending order.

    Args:
        keys: The keys of each item.
    """
    columns: dict[Hashable, int] = {}
    pairs = [(item, columns.setdefault(key, len(columns))) for item, named in enumerate(keys) for key in named]
    rows, places = zip(*pairs, strict=True) if pairs else ((), ())
    size = len(keys) + len(columns)
    links = coo_array((np.ones(len(pairs)), (rows, np.array(places, dtype=int) + len(keys))), shape=(size, size))
    _, labels = connected_components(links, directed=False)
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for item, label in enumerate(labels[: len(keys)].tolist()):
        groups[label].append(item)
    return list(groups.values())


def _order(group: Group, every: Sequence[Query], seed: int) -> tuple[int, str]:
    """Return a group's place in the seeded order: that of its first query, whatever joins later."""
    return min(
        (number_of("split", seed, normal(every[member].text)), every[member].query_id) for member in group.members
    )


def _own_keys(query: Query) -> Iterator[Hashable]:
    """Yield by what a query is linked to others, but for passages and likeness."""
    yield "id", query.query_id
    if query.original:
        yield "id", query.original
    yield "turn", normal(query.text)
    for turn in query.history:
        yield "turn", normal(turn.question)


def _add_passages(
    keys: Sequence[set[Hashable]], every: Sequence[Query], chunks: StoredRecords[Chunk], *, by_source: bool
) -> None:
    """Add the passages that each query was written from or needs (as clusters of near-duplicates), and documents."""
    named: defaultdict[str, list[int]] = defaultdict(list)
    evidence: defaultdict[str, list[tuple[int, Evidence]]] = defaultdict(list)
    for number, query in enumerate(every):
        for chunk_id in {query.chunk_id, *query.needs}:
            named[chunk_id].append(number)
        for item in query.evidence:
            evidence[item.doc_id].append((number, item))
    sketches = Sketches.empty(len(chunks))
    holders: list[tuple[int, int]] = []
    for position, chunk in enumerate(chunks):
        write_sketch(chunk.text, sketches, position)
        held = [number for number, item in evidence.get(chunk.span.doc_id, ()) if chunk.span.contains(item)]
        for number in (*named.get(chunk.chunk_id, ()), *held):
            holders.append((number, position))
            if by_source:
                keys[number].add(("document", chunk.span.doc_id))
    labels = cluster(sketches, text_at=lambda position: chunks.at(position).text)
    for number, position in holders:
        keys[number].add(("passage", int(labels[position])))


def _write_part(
    whole: _Whole, query_ids: Collection[str], folder: Path, note: Mapping[str, Any], fingerprint: str, started: float
) -> Manifest:
    queries = [query for query in whole.queries if query.query_id in query_ids]
    unanswerable = [query for query in whole.unanswerable if query.query_id in query_ids]
    grades = {query.query_id: _grades(whole.dataset, query.query_id) for query in queries}
    settings = {**whole.home.settings(), STAGE: dict(note)}
    with GoldFolder(folder).replacing(ReplacePolicy(settings, fingerprint)) as draft:
        draft.documents.write(whole.home.documents.read())
        chunks = draft.chunks.write(whole.home.chunks.read())
        draft.queries.write(queries)
        _write_followers(whole, query_ids, draft)
        metadata = {**whole.dataset.metadata, STAGE: dict(note)}
        metadata.pop("unanswerable", None)  # counts of the whole set
        if "review" in metadata:
            verdicts = metadata["review"].get("queries", {})
            metadata["review"] = {"queries": {key: note for key, note in verdicts.items() if key in query_ids}}
        corpus = functools.partial(passages, chunks, title_use(metadata))
        derived = {key: chunk_ids for key, chunk_ids in whole.dataset.derived.items() if key in query_ids}
        draft.write_gold(GoldContents(queries, corpus, grades, metadata, unanswerable, derived))
        draft.write_settings(settings)
        manifest = _manifest(whole, queries, unanswerable, fingerprint, started)
        if manifest.grading is not None:
            figures = grading_counts(draft.pool.read_any(), draft.judgments.read_any(), queries)
            manifest = manifest.model_copy(update={"grading": manifest.grading.model_copy(update=figures)})
        draft.finish(manifest)
    return manifest


def _grades(dataset: TestSet, query_id: str) -> dict[str, Relevance]:
    graded = (dataset.relevance_scores or {}).get(query_id)
    return dict(graded) if graded is not None else dict.fromkeys(dataset.relevant_docs[query_id], Relevance.ANSWERS)


def _write_followers(whole: _Whole, query_ids: Collection[str], draft: Draft) -> None:
    """Write every other record that belongs to a query of the part."""
    home = whole.home
    for name in ("unanswerable_judgments", "pool", "judgments", "checks"):
        records = getattr(home, name)
        if records.exists():
            getattr(draft, name).write(record for record in records.read() if record.query_id in query_ids)
    if home.relevance.exists():
        draft.relevance.write(item for item in home.relevance.read() if item.query.query_id in query_ids)
    if home.ungraded.exists():
        draft.ungraded.write(item for item in whole.dropped if item.query.query_id in query_ids)
    if home.given_labels.is_file():
        lines = home.given_labels.read_text(encoding="utf-8").splitlines()
        draft.given_labels.parent.mkdir(parents=True, exist_ok=True)
        write_texts(draft.given_labels, (line for line in lines if line.split(" ")[0] in query_ids))
    if home.file(RENAMED).is_file():
        draft.file(RENAMED).write_bytes(home.file(RENAMED).read_bytes())


def _manifest(
    whole: _Whole, every: Sequence[Query], unanswerable: Sequence[Query], fingerprint: str, started: float
) -> Manifest:
    report = StageReport(
        stage=STAGE,
        reads=QUERIES,
        writes=QUERIES,
        read=len(whole.queries),
        written=len(every),
        rejected=len(whole.queries) - len(every),
        rules={ELSEWHERE: len(whole.queries) - len(every)},
    )
    kinds = Counter(query.kind for query in (*every, *unanswerable) if query.kind)
    counts = {kind: kinds[QueryKind(kind)] for kind in whole.manifest.kinds}
    counts_by_kind = {kind: KindCount(wanted=count, kept=count) for kind, count in counts.items()}
    return whole.manifest.model_copy(
        update={
            **stamp(started),
            "config_sha256": fingerprint,
            "queries": len(every),
            "target": None,
            "generators": dict(sorted(Counter(query.generator for query in every).items())),
            "mix": {},
            "kinds": counts_by_kind,
            "stages": with_reports(whole.manifest.stages, [report]),
            "usage": {},
        }
    )


def _digest(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
