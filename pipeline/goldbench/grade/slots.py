"""The pairs to be judged, judge checks mixed in, and the answers about them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from goldbench.grade.gradable_set import GradableSet
from goldbench.grade.panel import CANARY, CHECK, GRADING
from goldbench.grade.retriever_pool import Pool
from goldbench.grade.thresholds import held_out_grades
from goldbench.records.judgment import Canary, Judgment, Origin
from goldbench.records.manifest import Failure
from goldbench.records.query import Query
from goldbench.records.relevance import Relevance
from goldbench.stages.canaries import CHECKS, TRAPS, Planted, how_many, plant
from goldbench.stages.pool import shuffled

SOURCES_FIRST = 20
"""How many queries' sources are asked about before other passages: a judge that finds nothing in them is given up."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One pair to be judged; ``check`` marks a source shown with its answer, ``planted`` a judge check."""

    query: Query
    chunk_id: str
    source: bool = False
    check: bool = False
    planted: Planted | None = None

    @property
    def stage(self) -> str:
        """The account of its first call."""
        return CHECK if self.check else CANARY if self.planted else GRADING

    @property
    def name(self) -> str:
        """Query and chunk."""
        return f"{self.query.query_id} {self.chunk_id}"


@dataclass(frozen=True, slots=True)
class Answered:
    """The judgments about a slot, the first judge's first; none if the slot is unjudged."""

    slot: Slot
    judgments: tuple[Judgment, ...] = ()
    failures: tuple[Failure, ...] = ()
    limit: str | None = None


@dataclass(slots=True)
class Answers:
    """All answers, in the order of asking."""

    slots: list[Answered] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    limit: str | None = None

    def pairs(self) -> dict[tuple[str, str], tuple[Judgment, ...]]:
        """Return the judgments of each pair of the pool."""
        kept = (item for item in self.slots if item.slot.stage == GRADING)
        return {(item.slot.query.query_id, item.slot.chunk_id): item.judgments for item in kept}

    def checks(self) -> dict[str, tuple[Judgment, ...]]:
        """Return the judgments of each query's source, made with the answer in sight."""
        return {item.slot.query.query_id: item.judgments for item in self.slots if item.slot.check}

    def sources(self) -> list[Relevance]:
        """Return the first judge's grade of each query's source: shown with the answer if there is one, else alone."""
        shown: dict[str, list[Relevance]] = {}
        alone: dict[str, list[Relevance]] = {}
        for item in self.slots:
            if item.slot.source and item.judgments:
                grades = shown if item.slot.check else alone
                grades.setdefault(item.slot.query.query_id, []).append(item.judgments[0].relevance)
        return [max(grades) for grades in (alone | shown).values()]

    def canaries(self) -> list[Judgment]:
        """Return the judgments of all canaries, no grade by thresholds that were set on the same pair.

        A judge by yes or no has thresholds that these pairs set. Graded by them, it would look better than it is: each
        half of the pairs is graded by the thresholds that the other half suggests.
        """
        judgments = [judgment for item in self.slots if item.slot.planted for judgment in item.judgments]
        known = self._known_pairs()
        grades: dict[Judgment, Relevance] = {}
        for pairs, held_out in zip(known, held_out_grades(*self.probabilities()), strict=True):
            grades.update(zip(pairs, held_out, strict=True))
        return [item.model_copy(update={"relevance": grades.get(item, item.relevance)}) for item in judgments]

    def probabilities(self) -> tuple[list[float], list[float]]:
        """Return the probabilities of yes about known answers, and about planted fakes."""
        answers, fakes = ([item.probability or 0.0 for item in pairs] for pairs in self._known_pairs())
        return answers, fakes

    def _known_pairs(self) -> tuple[list[Judgment], list[Judgment]]:
        """Return the judgments by yes or no of known answers (planted, then first sources), and of planted fakes."""
        planted = [item.judgments[0] for item in self.slots if item.slot.planted and item.judgments]
        sources: dict[str, Judgment] = {}
        for item in self.slots:
            if item.slot.source and item.judgments and len(sources) < SOURCES_FIRST:
                sources.setdefault(item.slot.query.query_id, item.judgments[0])
        answers = [item for item in planted if item.canary is Canary.EVIDENCE_ALONE] + [*sources.values()]
        fakes = [item for item in planted if item.canary in TRAPS]
        asked = [[item for item in pairs if item.probability is not None] for pairs in (answers, fakes)]
        return asked[0], asked[1]

    def unanswered_canaries(self) -> Counter[Canary]:
        """Return how many canaries of each kind were asked about without a usable reply."""
        return Counter(
            item.slot.planted.kind for item in self.slots if item.slot.planted and item.failures and not item.judgments
        )


def own_answers_missing(gold: GradableSet, judge: str) -> str | None:
    """Return why no answer of the set is known to be written by the judge's model, or None if there are some.

    Args:
        gold: The set.
        judge: The judge's model.
    """
    if not any(query.answer and query.evidence for query in gold.queries):
        return "the set holds no answers written by a model"
    if gold.manifest.model != judge:
        return f"the answers were written by {gold.manifest.model or 'no known model'}, not by the judge's model"
    return None


def slots_of(gold: GradableSet, pool: Pool, *, share: float, judge: str) -> list[Slot]:
    """Return the pairs to judge, query by query so that a cap leaves whole queries judged, judge checks mixed in.

    Args:
        gold: The set.
        pool: Its pool.
        share: How many judge checks there are per call (0.05 = 5 %).
        judge: The first judge's model.
    """
    by_query: dict[str, list[Slot]] = {}
    calls = 0
    for query in gold.queries:
        rows = [row for row in pool.pairs[query.query_id] if row.shared_from is None]
        slots = [Slot(query, row.chunk_id, source=row.origin is Origin.SOURCE) for row in rows]
        if query.answer and gold.sources[query.query_id]:
            slots.insert(0, Slot(query, query.chunk_id, source=True, check=True))
        by_query[query.query_id] = slots
        calls += len(slots)
    pooled = {query_id: {row.chunk_id for row in rows} for query_id, rows in pool.pairs.items()}
    own = own_answers_missing(gold, judge) is None
    kinds = [*CHECKS, Canary.EMPTY, *([Canary.OWN_ANSWER] if own else [])]
    count = how_many(calls, share, kinds=len(kinds))
    for canary in plant(gold.queries, count=count, chunks=gold.chunks, pooled=pooled.__getitem__, kinds=kinds):
        slots = by_query[canary.query.query_id]
        place = shuffled(canary.query.query_id, [slot.chunk_id for slot in slots] + [canary.chunk_id])
        slots.insert(max(1, place.index(canary.chunk_id)), Slot(canary.query, canary.chunk_id, planted=canary))
    return [slot for query in gold.queries for slot in by_query[query.query_id]]
