"""Draw a set in which every kind has its share: kinds beyond a single passage first, then queries about one passage."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from goldbench.pipeline.build.answer_search import AnswerSearch
from goldbench.pipeline.build.drawn_queries import Drawn, Standing
from goldbench.pipeline.build.kind_counts import PassageKinds
from goldbench.pipeline.build.one_kind import KindDrawing, Task
from goldbench.pipeline.build.query_attempts import Attempts
from goldbench.pipeline.build.waves import Drawing
from goldbench.pipeline.config import KINDS, SHARED, Generation
from goldbench.pipeline.errors import UsageError
from goldbench.pipeline.ports import Brief, KindWriter, PoolJudge
from goldbench.pipeline.stages.check import SetChecks, accepted, joined_context
from goldbench.pipeline.stages.generate import Companions, quotas
from goldbench.pipeline.stages.noise import Noise, noisy_forms
from goldbench.pipeline.text.draws import number_of
from goldbench.schemas.manifest import KindCount
from goldbench.schemas.query import QueryKind

NEIGHBOURS = 2
"""Passages that are shown beside the source for a query that nothing should answer."""


@dataclass(slots=True, kw_only=True)
class ShareDrawing:
    """Draws a set by its shares.

    Args:
        settings: The shares, and what the kinds are written about.
        passages: Draws the queries about one passage.
        order: The positions of the chunks that may be asked about, in drawing order.
        writer: Writes the kinds beyond a single passage; None if nobody can.
        judge: Looks for answers to queries that nothing should answer.
        why_not: Why nobody can.
        names: Returns the path of each document by its id.
        note: Shows a person one line.
        with_titles: Whether passages are emitted with their titles.
        batched: Whether requests are sent in batches, so that no reply is waited for before the others.
        standing: The queries that are kept of an earlier set; they count.
        own_words: Whether a share of the queries must be in other words than their passage.
    """

    settings: Generation
    passages: Drawing
    order: npt.NDArray[np.integer[Any]]
    writer: KindWriter | None
    judge: PoolJudge | None = None
    why_not: str = ""
    names: Callable[[], Mapping[str, str]]
    note: Callable[[str], None]
    with_titles: bool = True
    batched: bool = False
    standing: Standing = field(default_factory=Standing)
    own_words: bool = True
    dropped: dict[QueryKind, str] = field(default_factory=dict)
    wanted: dict[QueryKind, int] = field(default_factory=dict)
    _companions: Companions | None = None

    async def draw(self, target: int) -> tuple[Drawn, dict[str, KindCount]]:
        """Return ``target`` queries, as many of each kind as its share says, and what was reached of each kind.

        Raises:
            UsageError: None of the kinds can be written.
            ModelUnavailable: No call can work now, or every call failed.
            ModelUnfit: The first replies about single passages are useless.
        """
        checks = SetChecks(target=target)
        checks.hold(self.standing.every, own_words=self.own_words)
        drawings = await self._draw_kinds(target, checks)
        together = Drawn()
        self._begin_levels(drawings.values())
        missing = self._missing(target)
        single = {kind: count for kind, count in missing.items() if kind in KINDS and count}
        limit = next((one.drawn.limit for one in drawings.values() if one.drawn.limit), None)
        if single and limit is None:
            together = await self._draw_single(single, checks)
        for drawing in drawings.values():
            _add(together, drawing.drawn)
        self.standing.joined(together)
        together.limit = together.limit or limit
        self._add_noisy(together)
        return together, self._counts(together)

    def _missing(self, target: int) -> dict[QueryKind, int]:
        """Return how many queries of each kind are to be drawn beside those that are kept.

        A kind of which more are kept than wanted takes from the others, those about one passage last.
        """
        kept = Counter(query.kind for query in self.standing.every)
        left, missing = target - sum(kept.values()), dict[QueryKind, int]()
        shared = [kind for kind in self.wanted if kind in SHARED]
        for kind in shared:
            missing[kind] = max(0, min(self.wanted[kind] - kept[kind], left))
            left -= missing[kind]
        single = {kind: count - kept[kind] for kind, count in self.wanted.items() if kind in KINDS}
        open_ones = {kind: count for kind, count in single.items() if count > 0}
        if sum(open_ones.values()) != left and left > 0:
            open_ones = quotas(open_ones or {kind: self.wanted[kind] for kind in single}, left)
        return missing | (open_ones if left > 0 else {})

    def _begin_levels(self, drawings: Iterable[KindDrawing]) -> None:
        """Share out the levels of difficulty that the kinds beyond a single passage leave to the others."""
        levels = self.passages.levels
        if levels is None:
            return
        uncounted = {QueryKind.NOISY, QueryKind.UNANSWERABLE}
        total = sum(count for kind, count in self.wanted.items() if kind not in uncounted)
        drawn = [pair for one in drawings for pair in zip(one.drawn.queries, one.drawn.positions, strict=True)]
        kept = zip(self.standing.queries, self.standing.positions, strict=True)
        there = [
            levels.meter.measure(query.text, positions).level
            for query, positions in (*drawn, *(pair for pair in kept if pair[0].original is None))
        ]
        missing = self._missing(sum(self.wanted.values()))
        levels.begin(total, sum(count for kind, count in missing.items() if kind in KINDS), there)

    async def _draw_kinds(self, target: int, checks: SetChecks) -> dict[QueryKind, KindDrawing]:
        """Draw the kinds beyond a single passage; what one gives up goes to the others."""
        drawings: dict[QueryKind, KindDrawing] = {}
        while True:
            self._share_out(target)
            missing = self._missing(target)
            asked = [kind for kind in SHARED if missing.get(kind) and kind is not QueryKind.NOISY]
            for kind in asked:
                if self.writer is None:
                    self._drop(kind, self.why_not)
                    break
                drawing = drawings.setdefault(kind, self._drawing(kind, self.writer, checks))
                await drawing.draw(missing[kind])
                if drawing.dropped is not None:
                    drawing.give_up()
                    self._drop(kind, drawing.dropped)
                    break
                if drawing.drawn.limit is not None:
                    return drawings
            else:
                return drawings

    def _share_out(self, target: int) -> None:
        left = {kind: share for kind, share in self.settings.kinds.items() if share > 0 and kind not in self.dropped}
        if not left.keys() - {QueryKind.NOISY}:
            listed = "; ".join(f"{kind.value}: {reason}" for kind, reason in self.dropped.items())
            raise UsageError(f"generate.kinds: no kind can be written ({listed}); name other kinds")
        self.wanted = quotas(left, target)

    def _drop(self, kind: QueryKind, reason: str) -> None:
        self.dropped[kind] = reason
        self.note(f"The kind {kind.value} is left out, and its share goes to the other kinds: {reason}.")

    def _drawing(self, kind: QueryKind, writer: KindWriter, checks: SetChecks) -> KindDrawing:
        settings = self.settings.unanswerable
        search = AnswerSearch(self.passages.chunks, settings.depth, settings.passages_per_call, self.with_titles)
        attempts = Attempts(writer, self.judge, search)
        ways = {
            QueryKind.TEMPORAL: (self._dated_tasks, attempts.temporal),
            QueryKind.CONVERSATIONAL: (self._tasks_alone, attempts.conversational),
            QueryKind.UNANSWERABLE: (self._tasks_beside, attempts.unanswerable),
        }
        tasks, attempt = ways.get(kind, (self._joined_tasks, attempts.joined))
        return KindDrawing(
            kind=kind,
            tasks=self._new(tasks(kind), kind),
            attempt=attempt,
            checks=checks,
            concurrency=self.passages.concurrency,
            advance=self.passages.advance,
            tries=not self.batched,
        )

    def _new(self, tasks: Iterator[Task], kind: QueryKind) -> Iterator[Task]:
        """Yield the tasks about passages of which no query of the kind is kept."""
        asked = {query.chunk_id for query in self.standing.every if query.kind is kind}
        return (task for task in tasks if task.chunks[0].chunk_id not in asked)

    def _joined_tasks(self, kind: QueryKind) -> Iterator[Task]:
        """Yield what can be asked about several passages, in a seeded order."""
        compares, settings = kind is QueryKind.CROSS_COMPARISON, self.settings.multi_hop
        groups = self._known().groups(
            seed=self.settings.seed,
            purpose=kind.value,
            size=2 if compares else settings.passages,
            across_documents=compares or settings.across_documents,
        )
        for group in groups:
            chunks = tuple(self.passages.chunks.at(position) for position in group.positions)
            yield Task(self._brief(kind, self.passages.brief(chunks[0])), chunks, group.positions)

    def _tasks_beside(self, kind: QueryKind) -> Iterator[Task]:
        """Yield each passage with those that are most like it, in a seeded order."""
        known, chunks = self._known(), self.passages.chunks
        for source in known.sources(seed=self.settings.seed, purpose=kind.value):
            positions = (source, *known.near(source, count=NEIGHBOURS))
            texts = tuple(chunks.at(position) for position in positions)
            yield Task(self._brief(kind, self.passages.brief(texts[0])), texts, positions)

    def _tasks_alone(self, kind: QueryKind) -> Iterator[Task]:
        """Yield each passage, in a seeded order."""
        for source in self._known().sources(seed=self.settings.seed, purpose=kind.value):
            chunk = self.passages.chunks.at(source)
            yield Task(self._brief(kind, self.passages.brief(chunk)), (chunk,), (source,))

    def _dated_tasks(self, kind: QueryKind) -> Iterator[Task]:
        """Yield each passage with a date or a version, if there are passages of two, in a seeded order."""
        from goldbench.pipeline.stages.generate.moments import moment_of  # its patterns take a while to be made

        names, waiting, seen = self.names(), list[Task](), set[str]()
        for task in self._tasks_alone(kind):
            moment = moment_of(task.chunks[0], names[task.chunks[0].span.doc_id])
            if moment is None:
                continue
            seen.add(moment)
            waiting.append(dataclasses.replace(task, moment=moment))
            if len(seen) > 1:
                yield from waiting
                waiting.clear()

    def _known(self) -> Companions:
        self._companions = self._companions or Companions(self.passages.chunks, map(int, self.order))
        return self._companions

    @staticmethod
    def _brief(kind: QueryKind, brief: Brief) -> Brief:
        return dataclasses.replace(brief, assignment=brief.assignment.model_copy(update={"kind": kind}))

    async def _draw_single(self, single: Mapping[QueryKind, int], checks: SetChecks) -> Drawn:
        """Draw the queries about one passage; a model gives each of their kinds its number."""
        count = sum(single.values())
        kept = Counter(query.kind for query in self.standing.every)
        checks.aim(count + sum(number for kind, number in kept.items() if kind in KINDS))
        kinds = PassageKinds(dict(single), self.settings.seed) if self.writer is not None else None
        drawing = dataclasses.replace(self.passages, kinds=kinds, checks=checks)
        drawn = await drawing.draw(self.order, target=count, per_chunk=self.settings.constraints.per_chunk)
        if kinds is not None:
            self.wanted |= {kind: number + kept[kind] for kind, number in kinds.wanted.items()}
            for kind, reason in kinds.dropped.items():
                self._drop(kind, reason)
        return drawn

    def _add_noisy(self, drawn: Drawn) -> None:
        """Add noisy forms of the accepted queries in a seeded order, one of each before any gets two."""
        kept = sum(query.kind is QueryKind.NOISY for query in self.standing.queries)
        missing, seed = self.wanted.get(QueryKind.NOISY, 0) - kept, self.settings.seed
        if drawn.planned:
            drawn.planned += max(0, missing)
            return
        known = {query.query_id for query in drawn.queries}
        order = sorted(
            zip(drawn.queries, drawn.positions, strict=True),
            key=lambda item: (number_of(seed, "noisy", item[0].query_id), item[0].query_id),
        )
        for turn, (query, positions) in itertools.product(range(len(Noise)), order):
            if missing <= 0:
                return
            if query.original is not None:
                continue
            for candidate in noisy_forms(query, seed=seed, most=turn + 1)[turn:]:
                chunks = tuple(self.passages.chunks.at(position) for position in positions)
                noisy = accepted(candidate, joined_context(chunks, self.passages.brief(chunks[0])))
                if noisy.query_id in known:
                    continue
                known.add(noisy.query_id)
                drawn.candidates.append(candidate)
                drawn.queries.append(noisy)
                drawn.positions.append(positions)
                drawn.groups_drawn += 1
                drawn.chunks_with_candidates += 1
                missing -= 1

    def _counts(self, drawn: Drawn) -> dict[str, KindCount]:
        """Return how many of each kind are wanted and there; those about one passage only where a model writes them."""
        kept = Counter(query.kind for query in (*drawn.queries, *drawn.unanswerable))
        counted = [kind for kind, share in self.settings.kinds.items() if share > 0]
        return {
            kind.value: KindCount(
                wanted=self.wanted.get(kind, 0), kept=kept.get(kind, 0), dropped=self.dropped.get(kind)
            )
            for kind in counted
            if self.writer is not None or kind in SHARED
        }


def _add(to: Drawn, other: Drawn) -> None:
    """Add the results of another drawing, about groups of chunks."""
    for name in ("candidates", "queries", "positions", "unanswerable", "judgments", "rejections", "failures"):
        getattr(to, name).extend(getattr(other, name))
    to.groups_drawn += other.groups_drawn
    to.chunks_with_candidates += other.chunks_with_candidates
    to.chunks_skipped += other.chunks_skipped
    to.chunks_failed += other.chunks_failed
    to.planned += other.planned
