"""The set as grading reads it, and the pool of chunks to judge: what retrievers, runs and users' feedback bring."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from goldbench.config import Config
from goldbench.errors import InputError, Message, UsageError
from goldbench.formats.jsonl import RecordFile
from goldbench.generate.progress import counted
from goldbench.goldset.dataset import passages, title_use
from goldbench.goldset.file_names import CHUNKS
from goldbench.goldset.folder import GoldFolder, is_graded
from goldbench.ports import Progress, Retriever
from goldbench.records.corpus import Chunk, TitleUse
from goldbench.records.judgment import Feedback, Judgment, Origin, PooledPair
from goldbench.records.manifest import Manifest, StageUsage
from goldbench.records.query import DroppedQuery, Query
from goldbench.retrieval.system_settings import BM25Settings, LSISettings, SystemSettings
from goldbench.score.runs import Gold, Run, top_documents
from goldbench.stages.pool import SOUGHT_WITHIN, Reach, language_of, pool_query, reach
from goldbench.stages.select.near_duplicates import Sketches, cluster, write_sketch
from goldbench.systems import Systems, open_systems
from goldbench.text.display import shell_command
from goldbench.text.title_path import title_path, titled

Rankings = dict[str, dict[str, list[str]]]
"""By the name of a retriever and the id of a query: the ids of chunks, best first."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """The pool, judgments and source checks of an earlier grading of the same set."""

    pool: tuple[PooledPair, ...] = ()
    judgments: tuple[Judgment, ...] = ()
    checks: tuple[Judgment, ...] = ()


@dataclass(frozen=True)
class GradableSet:
    """A gold set as it is graded.

    ``queries`` are all queries the set was built with, in their order, also those that an earlier grading left out,
    and after them the ``unlabelled``, which came without a label. ``sources`` are the chunks known to hold what each
    query asks for, the chunk it was written from first; none for the unlabelled.
    """

    folder: GoldFolder
    manifest: Manifest
    chunks: RecordFile[Chunk]
    queries: tuple[Query, ...]
    sources: dict[str, tuple[str, ...]]
    metadata: dict[str, Any]
    earlier: Earlier = field(default_factory=Earlier)
    unlabelled: frozenset[str] = frozenset()

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of each chunk in the corpus."""
        return {chunk.chunk_id: position for position, chunk in enumerate(self.chunks)}

    def corpus(self) -> dict[str, str]:
        """Return the text of every chunk as it is indexed."""
        indexed = passages(self.chunks, title_use(self.metadata))
        return {passage.chunk_id: titled(passage.title, passage.text) for passage in indexed}

    def text_of(self, chunk_id: str) -> str:
        """Return a chunk as it is judged: its emitted title, and its text as it stands in its document."""
        chunk = self.chunks.at(self.positions[chunk_id])
        emits = title_use(self.metadata) is not TitleUse.NONE
        title = title_path(chunk) if emits else ""
        return chunk.text if chunk.text == title else titled(title, chunk.text)


def read_gradable(folder: GoldFolder, manifest: Manifest) -> GradableSet:
    """Return the set in a folder, to be graded.

    Raises:
        InputError: A file is missing or damaged, or they do not belong together.
    """
    chunks = folder.chunks.read()
    gold = folder.dataset()
    graded = is_graded(manifest)
    unlabelled = {query.query_id: query for query in folder.unlabelled.read_any()}
    labelled = (query for query in folder.queries.read() if query.query_id not in unlabelled)
    built = list(_merged(labelled, list(folder.ungraded.read()) if graded else []))
    queries = (*built, *(query.asked() for query in unlabelled.values()))
    earlier = _earlier(folder) if graded else Earlier()
    relevant = gold.relevant_docs
    if graded:
        pooled = {row.query_id for row in earlier.pool}
        relevant = {query_id: list(chunk_ids) for query_id, chunk_ids in relevant.items() if query_id not in pooled}
        for row in earlier.pool:
            if row.origin is Origin.SOURCE:
                relevant.setdefault(row.query_id, []).append(row.chunk_id)
    sources = {query.query_id: _ordered(query, relevant.get(query.query_id, ())) for query in built}
    sources |= dict.fromkeys(unlabelled, ())
    gradable_set = GradableSet(
        folder, manifest, chunks, queries, sources, gold.metadata, earlier, frozenset(unlabelled)
    )
    for query in queries:
        for chunk_id in sources[query.query_id]:
            if chunk_id not in gradable_set.positions:
                raise InputError(
                    folder.queries.path,
                    f"query {query.query_id} names chunk {chunk_id}, which is missing from {CHUNKS}",
                )
    return gradable_set


def _ordered(query: Query, chunk_ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({query.chunk_id, *chunk_ids}, key=lambda chunk_id: (chunk_id != query.chunk_id, chunk_id)))


def _merged(queries: Iterable[Query], dropped: Sequence[DroppedQuery]) -> Iterator[Query]:
    """Yield all queries in the order they had before some were left out."""
    waiting = {item.position: item.query for item in dropped}
    position = 0
    for query in queries:
        while position in waiting:
            yield waiting.pop(position)
            position += 1
        yield query
        position += 1
    yield from (waiting[position] for position in sorted(waiting))


def _earlier(folder: GoldFolder) -> Earlier:
    return Earlier(tuple(folder.pool.read()), tuple(folder.judgments.read()), tuple(folder.checks.read()))


def carried_rankings(folder: GoldFolder) -> Rankings:
    """Return what users' runs brought into the pool of a graded folder: by run and query, best first."""
    if not folder.is_finished():
        return {}
    manifest = folder.manifest()
    names = set(manifest.grading.runs) if manifest.grading and is_graded(manifest) else set()
    rankings = rankings_of(folder.pool.read()) if names else {}
    return {name: by_query for name, by_query in rankings.items() if name in names}


def carried_feedback(folder: GoldFolder) -> dict[str, list[str]]:
    """Return what users' clicks and votes brought into the pool of a graded folder: the chunks by query."""
    if not folder.is_finished() or not is_graded(folder.manifest()):
        return {}
    return feedback_of(folder.pool.read())


def feedback_of(pool: Iterable[PooledPair]) -> dict[str, list[str]]:
    """Return the chunks that users clicked or voted on, by query."""
    clicked: dict[str, list[str]] = {}
    for row in pool:
        if row.origin is Origin.FEEDBACK:
            clicked.setdefault(row.query_id, []).append(row.chunk_id)
    return clicked


def rankings_of(pool: Iterable[PooledPair]) -> Rankings:
    """Return the rankings that a pool was made of."""
    ranked: dict[str, dict[str, dict[int, str]]] = {}
    for row in pool:
        for name, rank in row.ranks.items():
            ranked.setdefault(name, {}).setdefault(row.query_id, {})[rank] = row.chunk_id
    return {
        name: {query_id: [by_rank[rank] for rank in sorted(by_rank)] for query_id, by_rank in by_query.items()}
        for name, by_query in ranked.items()
    }


@dataclass(frozen=True, slots=True)
class Pool:
    """The pairs of each query in the order of judging, and which retrievers reach the sources, where they are known."""

    pairs: dict[str, list[PooledPair]]
    reached: dict[str, Reach]
    retrievers: tuple[str, ...]
    runs: tuple[str, ...]

    def __len__(self) -> int:
        """How many pairs there are."""
        return sum(map(len, self.pairs.values()))


@dataclass(frozen=True, slots=True)
class Pools:
    """What a pool is made of.

    Args:
        names: The built-in retrievers.
        build: Makes these retrievers for a language (ISO 639-1), or for None if the corpus has no known language.
        runs: The users' runs, by name.
        again: Whether the pool of an earlier grading stays as it is, and only the runs are added.
        depth: How many results of each retriever are taken; None takes the number of the configuration.
        carried: What users' runs brought into the pool of the set that is replaced.
        feedback: The chunks that users clicked or voted on, by query; they are judged first.
        carried_feedback: The same, in the pool of the set that is replaced.
        usage: Returns what the retrievers themselves cost.
    """

    names: tuple[str, ...]
    build: Callable[[str | None], Mapping[str, Retriever]]
    runs: Mapping[str, Run] = field(default_factory=dict)
    again: bool = False
    depth: int | None = None
    carried: Rankings = field(default_factory=dict)
    feedback: Mapping[str, Sequence[str]] = field(default_factory=dict)
    carried_feedback: Mapping[str, Sequence[str]] = field(default_factory=dict)
    usage: Callable[[], Mapping[str, StageUsage]] = dict


def pool_of(gold: GradableSet, pools: Pools, progress: Progress, *, depth: int) -> Pool:
    """Return the pool of a set.

    What users' runs and their feedback brought into an earlier pool stays in. The built-in retrievers are not asked
    again if the earlier pool has the same depth and the same retrievers, except about queries added since.

    Args:
        gold: The set.
        pools: What the pool is made of.
        progress: Shows how far the work is.
        depth: How many results of each retriever are taken, 1 or more.

    Raises:
        RetrieverFailed: A retriever cannot index or search.
        UsageError: A run has the name of another run or retriever.
        InputError: A run names a chunk that is not in the corpus, or feedback is about another set.
    """
    names = tuple(sorted(pools.names))
    old = rankings_of(gold.earlier.pool)
    grading = gold.manifest.grading if is_graded(gold.manifest) else None
    same = grading is not None and (pools.again or (grading.depth == depth and grading.retrievers == [*names]))
    if grading is not None and pools.again:
        names = tuple(grading.retrievers)
    theirs = {name: old[name] for name in (grading.runs if grading else ()) if name in old}
    theirs |= {name: _still_there(by, gold) for name, by in pools.carried.items()}
    theirs |= _checked_runs(pools.runs, depth, gold, {*names, *theirs}, theirs)
    used = _used(gold, pools)
    cluster_of = near_duplicates(gold, progress)
    built_in: Rankings = {name: {} for name in names}
    reached: dict[str, Reach] = {}
    pooled = {judgment.query_id for judgment in gold.earlier.judgments} if same else set()
    if same:
        built_in = {name: old.get(name, {}) for name in names}
        known = (query for query in gold.queries if query.reached_by is not None)
        reached = {query.query_id: Reach(query.reached_by or (), bool(query.unreachable)) for query in known}
    new = [query for query in gold.queries if query.query_id not in pooled]
    if new and not pools.again:
        ranked = _ranked(gold, new, pools, progress, depth=max(depth, SOUGHT_WITHIN))
        for name in names:
            built_in[name] |= {key: ids[:depth] for key, ids in ranked[name].items()}
        reached |= _reach_of(gold, new, ranked, cluster_of)
    rankings = built_in | theirs
    pairs = {
        query.query_id: pool_query(
            query.query_id,
            rankings={name: by.get(query.query_id, []) for name, by in rankings.items()},
            sources=gold.sources[query.query_id],
            cluster_of=cluster_of,
            feedback=used.get(query.query_id, ()),
        )
        for query in gold.queries
    }
    return Pool(pairs, reached, names, tuple(sorted(theirs)))


def waiting_pool(
    gold: GradableSet, queries: Sequence[Query], pools: Pools, progress: Progress, *, depth: int
) -> list[PooledPair]:
    """Return the pool of queries without a label, made by the built-in retrievers alone.

    Args:
        gold: The set.
        queries: The queries.
        pools: What the pool is made of.
        progress: Shows how far the work is.
        depth: How many results of each retriever are taken, 1 or more.

    Raises:
        RetrieverFailed: A retriever cannot index or search.
    """
    ranked = _ranked(gold, queries, pools, progress, depth=depth)
    cluster_of = near_duplicates(gold, progress)
    return [
        row
        for query in queries
        for row in pool_query(
            query.query_id,
            rankings={name: by.get(query.query_id, []) for name, by in ranked.items()},
            sources=(),
            cluster_of=cluster_of,
        )
    ]


def _ranked(gold: GradableSet, queries: Sequence[Query], pools: Pools, progress: Progress, *, depth: int) -> Rankings:
    """Return what the built-in retrievers find for some queries; arguments as in `waiting_pool`."""
    retrievers = pools.build(language_of(gold.chunks))
    return retrieve(gold, retrievers, queries, depth=depth, progress=progress)


def _reach_of(
    gold: GradableSet, queries: Sequence[Query], rankings: Rankings, cluster_of: Callable[[str], tuple[str, ...]]
) -> dict[str, Reach]:
    """Return which retrievers reach the sources of queries; queries without a known source are left out."""
    reached = {}
    for query in queries:
        sources = [near for chunk_id in gold.sources[query.query_id] for near in cluster_of(chunk_id)]
        if sources:
            reached[query.query_id] = reach(
                {name: by.get(query.query_id, []) for name, by in rankings.items()}, sources
            )
    return reached


def _used(gold: GradableSet, pools: Pools) -> dict[str, list[str]]:
    """Return the chunks that users clicked or voted on, by query: those of earlier pools, and those given now."""
    query_ids = {query.query_id for query in gold.queries}
    for query_id, chunk_ids in pools.feedback.items():
        unknown = next((chunk_id for chunk_id in chunk_ids if chunk_id not in gold.positions), None)
        if query_id not in query_ids or unknown is not None:
            what = f"query {query_id!r}" if query_id not in query_ids else f"passage {unknown!r}"
            problem = f"{what} is not in this set; make the file again with {shell_command('feedback')}"
            raise InputError(Message("{feedback}"), problem)
    rankings: dict[str, list[str]] = {}
    for by_query in (feedback_of(gold.earlier.pool), _still_there(pools.carried_feedback, gold), pools.feedback):
        for query_id, chunk_ids in by_query.items():
            rankings.setdefault(query_id, []).extend(chunk_ids)
    return rankings


def _still_there(by_query: Mapping[str, Sequence[str]], gold: GradableSet) -> dict[str, list[str]]:
    return {key: [chunk_id for chunk_id in ids if chunk_id in gold.positions] for key, ids in by_query.items()}


def _checked_runs(
    given: Mapping[str, Run], depth: int, gold: GradableSet, names: set[str], rankings: Rankings
) -> Rankings:
    runs: Rankings = {}
    known: dict[str, dict[str, int]] = {query.query_id: {} for query in gold.queries}
    for name, run in given.items():
        top = top_documents(Gold(gold.folder.path, known), run, depth=depth)
        cut = {query_id: [item.doc_id for item in results] for query_id, results in top.items() if results}
        if not cut:
            raise InputError(f"run {name}", "holds no result for a query of this set; check that it belongs to the set")
        for query_id, ids in cut.items():
            unknown = next((chunk_id for chunk_id in ids if chunk_id not in gold.positions), None)
            if unknown is not None:
                raise InputError(f"run {name}", f"query {query_id!r} finds {unknown!r}, not a chunk of this set")
        if name in names and cut != rankings.get(name):
            raise UsageError(
                f"the pool already has another system {name}; give the run a new name, NAME=FILE", parameter="run"
            )
        runs[name] = cut
    return runs


def retrieve(
    gold: GradableSet, retrievers: Mapping[str, Retriever], queries: Sequence[Query], *, depth: int, progress: Progress
) -> Rankings:
    """Return what each retriever finds for some queries.

    Args:
        gold: The set.
        retrievers: The retrievers, by name.
        queries: The queries.
        depth: How many results are wanted per query.
        progress: Shows how far the work is.

    Raises:
        RetrieverFailed: A retriever cannot index or search.
    """
    query_texts = {query.query_id: query.alone for query in queries}
    corpus = gold.corpus()
    rankings: Rankings = {}
    with progress.stage("retrieve", len(retrievers)) as step:
        for name in sorted(retrievers):
            step.tell(name)
            retrievers[name].index(corpus)
            results = retrievers[name].search(query_texts, k=min(depth, len(corpus)))
            rankings[name] = {query_id: list(scores) for query_id, scores in results.items()}
            step.advance(1)
        step.tell("")
    return rankings


def near_duplicates(gold: GradableSet, progress: Progress) -> Callable[[str], tuple[str, ...]]:
    """Return a function that names the near-duplicates of a chunk and the chunk itself, in the order of the corpus."""
    chunks = gold.chunks
    sketches = Sketches.empty(len(chunks))
    with progress.stage("near-duplicates", len(chunks)) as step:
        for position, chunk in enumerate(counted(chunks, step)):
            write_sketch(chunk.text, sketches, position)
        labels = cluster(sketches, text_at=lambda position: chunks.at(position).text)
    alike = np.flatnonzero(np.bincount(labels, minlength=len(chunks))[labels] > 1)
    wanted = set(alike.tolist())
    members: dict[int, list[str]] = {}
    for chunk_id, position in gold.positions.items():
        if position in wanted:
            members.setdefault(int(labels[position]), []).append(chunk_id)

    def cluster_of(chunk_id: str) -> tuple[str, ...]:
        return tuple(members.get(int(labels[gold.positions[chunk_id]]), (chunk_id,)))

    return cluster_of


@contextlib.contextmanager
def open_pools(config: Config, store: Path, *, replay: bool = False, dry_run: bool = False) -> Iterator[Pools]:
    """Open what a pool is made of: retrievers of three families.

    A dry run sends no request, so LSI stands in for the embedding model.

    Args:
        config: The configuration.
        store: The store of answers.
        replay: Whether every answer comes from the store.
        dry_run: Whether no request may be sent.

    Raises:
        RetrieverFailed: A retriever cannot be built.
    """
    config.machines.check_available()
    dense = "embedding" if config.model.embedding and not dry_run else "lsi"
    names = ("bm25", "ngrams", dense)
    opened: list[Systems] = []
    with contextlib.ExitStack() as stack:

        def build(language: str | None) -> dict[str, Retriever]:
            systems = open_systems(
                names,
                pool_settings(language),
                config=config,
                answers=store if dense == "embedding" else None,
                replay=replay,
                engine=config.machines.engine,
            )
            opened.append(stack.enter_context(systems))
            return {name: opened[-1].retriever(name) for name in names}

        yield Pools(names, build, usage=lambda: opened[-1].usage() if opened else {})


def feedback_in(path: Path) -> dict[str, list[str]]:
    """Return the chunks that users clicked or voted on, by query, of a file of ``goldbench feedback``.

    Raises:
        InputError: It is missing, holds something else, or nothing.
    """
    if not path.is_file():
        raise InputError(path, f"file not found; give the output of {shell_command('feedback')}")
    chunks: dict[str, list[str]] = {}
    try:
        for row in RecordFile.open(path, Feedback):
            chunks.setdefault(row.query_id, []).append(row.chunk_id)
    except InputError as error:
        raise InputError(
            path, f"is not the output of {shell_command('feedback')} ({error.problem})", line=error.line
        ) from None
    if not chunks:
        raise InputError(path, f"holds no feedback; give the output of {shell_command('feedback')}")
    return chunks


def pool_settings(language: str | None) -> dict[str, SystemSettings]:
    """Return how the lexical retrievers of a pool cut texts in a language: stemmed, without function words."""
    return {"bm25": BM25Settings(language=language), "lsi": LSISettings(language=language)}
