"""A set whose documents changed: what of the earlier set still holds, and what is asked about next."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from goldbench.errors import InputError, Message
from goldbench.formats.packed_files import Source
from goldbench.formats.runs.trec import read_qrels
from goldbench.generate.drawn_queries import DrawnQueries, EarlierQueries
from goldbench.goldset.file_names import CHUNKS, DOCUMENTS, OWN, USERS
from goldbench.goldset.folder import Draft, GoldFolder, is_graded
from goldbench.goldset.grading_counts import grading_counts
from goldbench.goldset.publication import sha256_of
from goldbench.goldset.transfer import ComparedCorpus, KeptQuery, OldSet, Transfer, transfer_queries
from goldbench.records.corpus import Chunk
from goldbench.records.manifest import Grading, KindCount, Manifest, RenewalCounts
from goldbench.records.query import RetiredQuery
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.text.display import shell_command

OF_USERS = "holds users' queries: give the documents and the log again, with " + shell_command("build", queries_from="")
RECHUNKED = f"was made by {shell_command('rechunk')}: refresh the set that it came from, and rechunk that again"
IMPORTED = "was not built from documents here (import or split), so nothing can be read again"


@dataclass(frozen=True, slots=True)
class Base:
    """The set whose documents changed, as it was before people's decisions.

    Args:
        home: Its folder.
        records: The folder with its queries, pool and judgments.
        labels: The file of its grades.
    """

    home: GoldFolder
    records: GoldFolder
    labels: Path

    @classmethod
    def of(cls, home: GoldFolder) -> Base:
        """Return the set in a folder, without the decisions of people that were applied to it."""
        if home.is_reviewed() and home.unreviewed.queries.exists():
            return cls(home, home.unreviewed, home.unreviewed_labels)
        return cls(home, home, home.labels)


def check_renewable(home: GoldFolder) -> Manifest:
    """Return the manifest of a set that can be made again from its documents.

    Raises:
        InputError: The folder holds no finished set, or one that was not built from documents.
    """
    manifest = home.manifest()
    if home.relevance.exists():
        raise InputError(home.path, RECHUNKED)
    if manifest.generator == USERS:
        raise InputError(home.path, OF_USERS)
    if not any(report.stage == "load" for report in manifest.stages) or not home.settings():
        raise InputError(home.path, IMPORTED)
    return manifest


@dataclass(frozen=True, slots=True)
class WriterName:
    """Who wrote the queries of a set, where nobody writes now."""

    name: str
    evidence_level: str


@dataclass(slots=True)
class Renewal:
    """What is done with the earlier set while a new one takes its place."""

    base: Base
    manifest: Manifest
    keeps_some: bool = False
    """Whether documents that hold the evidence of no query are refused."""
    standing: EarlierQueries = field(default_factory=EarlierQueries)
    left: Transfer | None = None
    unchanged: bool = False
    """Whether documents and chunks are the earlier ones, byte by byte."""
    stays: bool = False
    """Whether the set stays as it is; known once its queries are drawn."""
    unasked: int = 0
    """How many new documents no query asks about."""
    new_passages: int = 0
    """How many passages have a text that was not there before."""

    @property
    def retired(self) -> list[RetiredQuery]:
        """The queries that are retired now, each with its reason."""
        if self.left is None:
            return []
        return self.left.retired

    @property
    def graded(self) -> bool:
        """Whether the earlier set holds grades of a judge."""
        return is_graded(self.manifest)

    def target(self, wanted: int) -> int:
        """Return how many queries the set should have: a graded one as many as it had, since grading leaves some out.

        Args:
            wanted: The number that the settings ask for.
        """
        earlier = self.manifest.target
        if self.graded and self.left is not None and (earlier is None or wanted <= earlier):
            before = (*(kept_query.query for kept_query in self.left.queries), *self.left.unanswerable)
            return min(wanted, sum(query.generator != OWN for query in before))
        return wanted

    def compare_documents(self, draft: Draft) -> None:
        """Compare the documents with the earlier ones, and find out what of the earlier set holds.

        Args:
            draft: The draft with the documents and chunks of today.

        Raises:
            InputError: No query is kept, so these are documents of another set.
        """
        self.unchanged = self.has_same_texts(draft)
        chunks = draft.chunks.read()
        self.left = transfer_queries(self._old_set(), ComparedCorpus(draft.documents.read(), chunks))
        kept_queries = self.left.kept
        if self.keeps_some and self.left.queries and not kept_queries:
            remedy = Message("name the right ones, or build with {replace=True}")
            raise InputError(self.base.home.path, Message("the evidence of no query is in these documents; {}", remedy))
        self.standing = EarlierQueries(
            queries=tuple(kept_query.query for kept_query in kept_queries),
            positions=tuple(kept_query.positions for kept_query in kept_queries),
            unanswerable=self.left.unanswerable,
            judgments=tuple(self.left.pairs(self.base.home.unanswerable_judgments.read_any())),
        )
        self.unasked = self._unasked(self.left.new_documents)
        self.new_passages = len(chunks) - len(set(self.left.passages.values()))

    def has_same_texts(self, draft: Draft) -> bool:
        """Return whether documents and chunks are the earlier ones, byte by byte."""
        files = self.manifest.files
        now = {DOCUMENTS: draft.documents.path, CHUNKS: draft.chunks.path}
        return all(files.get(name) == sha256_of(path) for name, path in now.items())

    def is_settled(self, drawn: DrawnQueries) -> bool:
        """Return whether the set stays as it is: no document changed, and no query is new.

        Args:
            drawn: The queries of the new set.
        """
        self.stays = self.unchanged and self.new(drawn) == 0 and not self.retired
        return self.stays

    def new(self, drawn: DrawnQueries) -> int:
        """Return how many queries are not kept ones.

        Args:
            drawn: The queries of the new set.
        """
        return drawn.accepted - len(self.standing.every)

    def earlier_generator(self) -> WriterName:
        """Return the name and the level of evidence of who wrote the earlier queries."""
        return WriterName(self.manifest.generator, self.manifest.evidence_level)

    def kinds(self) -> dict[str, KindCount]:
        """Return how many queries of each kind are kept; empty if the kinds have no exact shares."""
        counts = Counter(query.kind.value for query in self.standing.every if query.kind is not None)
        return {kind: count.model_copy(update={"kept": counts[kind]}) for kind, count in self.manifest.kinds.items()}

    def metadata(self, *, judged: bool) -> dict[str, object]:
        """Return what the metadata of the earlier set tells about its grades.

        Args:
            judged: Whether these are taken over.
        """
        earlier = self.base.home.metadata().get("grading")
        return {"grading": earlier} if judged and self.graded and earlier is not None else {}

    def entered(self, manifest: Manifest, drawn: DrawnQueries, draft: Draft, judged: bool) -> Manifest:
        """Return the manifest with what was kept.

        Args:
            manifest: The record of the run.
            drawn: The queries of the new set.
            draft: Where pool and judgments are written if they are taken over.
        """
        grading = self.write_judged(draft) if judged else None
        if grading is not None:
            judging = {name: sha for name, sha in self.manifest.prompts.items() if name.startswith("grade")}
            manifest = manifest.model_copy(update={"prompts": {**manifest.prompts, **judging}})
        return manifest.model_copy(update={"renewed": self.record(self.new(drawn)), "grading": grading})

    def _old_set(self) -> OldSet:
        base = self.base
        labels = _labels(base.labels)
        quotes: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for judgment in base.records.judgments.read_any():
            if judgment.canary is None and judgment.relevance >= RELEVANT and judgment.evidence:
                quotes[judgment.query_id, judgment.chunk_id].append(judgment.evidence)
        return OldSet(
            corpus=ComparedCorpus(base.home.documents.read(), base.home.chunks.read()),
            queries=list(base.records.queries.read()),
            unanswerable=list(base.home.unanswerable.read_any()),
            left_out=[old_query.query for old_query in base.home.ungraded.read_any()],
            waiting=frozenset(old_query.query_id for old_query in base.home.unlabelled.read_any()),
            labels=labels,
            derived={} if self.graded else _derived(labels),
            quotes=quotes,
        )

    def _unasked(self, new: frozenset[str]) -> int:
        """Return how many of the new documents have no query."""
        return len(new - {evidence.doc_id for query in self.standing.queries for evidence in query.evidence})

    def order(
        self, order: npt.NDArray[np.integer[Any]], chunks: Iterable[Chunk], cluster_of: Callable[[int], Sequence[int]]
    ) -> npt.NDArray[np.integer[Any]]:
        """Return the positions to ask about: chunks that are new, changed or whose query died first, then the others.

        Chunks with a query that is kept are left out, and their near-duplicates.

        Args:
            order: The positions of the chunks that may be asked about, in drawing order.
            chunks: The chunks of today.
            cluster_of: Names the near-duplicates of a chunk, by positions.
        """
        assert self.left is not None
        needed = {position for positions in self.standing.positions for position in positions}
        members = {member for position in needed for member in (position, *cluster_of(position))}
        same = self.left.passages
        died = {same[retired.query.chunk_id] for retired in self.left.retired if retired.query.chunk_id in same}
        as_before = set(same.values()) - died
        first = {number for number, chunk in enumerate(chunks) if chunk.chunk_id not in as_before}
        free = [int(position) for position in order if int(position) not in members]
        return np.array(sorted(free, key=lambda position: position not in first), dtype=order.dtype)

    def relevance(
        self, grades_of_queries: Mapping[str, dict[str, Relevance]], *, judged: bool
    ) -> dict[str, dict[str, Relevance]]:
        """Return the labels of the new set: in a judged one those that are kept, in another one also new copies.

        Args:
            grades_of_queries: The labels that follow from the evidence, by query.
        """
        assert self.left is not None
        labels = dict(grades_of_queries)
        for kept_query in self.left.kept:
            own = {
                chunk_id: grade for chunk_id, grade in kept_query.labels.items() if chunk_id not in kept_query.derived
            }
            query_id = kept_query.query.query_id
            labels[query_id] = (
                dict(kept_query.labels) if judged and self.graded else {**grades_of_queries.get(query_id, {}), **own}
            )
        return labels

    def record(self, new_queries: int) -> RenewalCounts:
        """Return what became of the earlier queries.

        Args:
            new_queries: How many queries are new.
        """
        assert self.left is not None
        kept_queries = self.left.kept
        return RenewalCounts(
            kept=sum(not kept_query.moved for kept_query in kept_queries) + len(self.left.unanswerable),
            moved=sum(kept_query.moved for kept_query in kept_queries),
            asked=new_queries,
            retired=len(self.left.retired),
            unjudged=sum(kept_query.unjudged for kept_query in kept_queries),
            unasked=self.unasked,
            new_passages=self.new_passages,
        )

    def write_retired(self, draft: Draft) -> None:
        """Write the retired queries after those of earlier refreshes, and the queries that came without a label.

        What is pooled for the latter in a set that nobody graded is carried here; `write_judged` carries the rest.

        A query that got its label from a judge or a person waits again if the passage is gone.
        """
        before = list(self.base.home.retired.read_any())
        if self.base.home.unlabelled.exists():
            draft.unlabelled.write(self.base.home.unlabelled.read())
        if self.left is not None and not self.graded and self.base.records.pool.exists():
            draft.pool.write(self.left.pairs(self.base.records.pool.read()))
        dropped = (
            [dropped_query for dropped_query in self.left.left_out if isinstance(dropped_query, RetiredQuery)]
            if self.left
            else []
        )
        if every := [*before, *self.retired, *dropped]:
            draft.retired.write(every)

    def write_judged(self, draft: Draft) -> Grading | None:
        """Write the pool and the judgments that still hold, and return the grading with its counts made anew.

        None stands for a set that was not graded.
        """
        assert self.left is not None
        if not self.graded or self.manifest.grading is None:
            return None
        records = self.base.records
        pool = list(self.left.pairs(records.pool.read_any()))
        judgments = list(self.left.pairs(records.judgments.read_any()))
        draft.pool.write(pool)
        draft.judgments.write(judgments)
        draft.checks.write(self.left.pairs(records.checks.read_any()))
        stay = {item.query.query_id: item.query for item in self.left.left_out if isinstance(item, KeptQuery)}
        dropped = self.base.home.ungraded.read_any()
        draft.ungraded.write(
            dropped_query.model_copy(update={"query": stay[dropped_query.query.query_id]})
            for dropped_query in dropped
            if dropped_query.query.query_id in stay
        )
        counts = grading_counts(pool, judgments, [kept_query.query for kept_query in self.left.kept])
        return self.manifest.grading.model_copy(update=counts)


def _labels(path: Path) -> dict[str, dict[str, Relevance]]:
    if not path.is_file():
        raise InputError(path, Message("is missing; build the set again with {replace=True}"))
    qrels = read_qrels(Source(path))
    return {
        query_id: {chunk_id: Relevance(grade) for chunk_id, grade in grades.items()}
        for query_id, grades in qrels.items()
    }


def _derived(labels: Mapping[str, Mapping[str, Relevance]]) -> dict[str, list[str]]:
    """Return the labels of a set without judgments that nobody read: evidence gives 3, an equal answer 2."""
    return {
        query_id: [chunk_id for chunk_id, grade in grades.items() if grade is Relevance.HELPS]
        for query_id, grades in labels.items()
    }
