"""What can be asked about the passages of a corpus, in drawing order: one task after another."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from goldbench.config import Generation
from goldbench.generate.drawn_queries import Task
from goldbench.ports import Brief, StoredRecords
from goldbench.records.corpus import Chunk
from goldbench.records.query import QueryKind
from goldbench.stages.generate import Companions

NEIGHBOURS = 2
"""Passages that are shown beside the source for a query that nothing should answer."""


@dataclass(slots=True, kw_only=True)
class TaskSource:
    """Makes the tasks of each kind.

    Args:
        chunks: The chunks of the corpus.
        order: The positions of the chunks that may be asked about, in drawing order.
        brief: Says what to ask about a chunk.
        settings: The seed, and what the kinds beyond one passage are written about.
        names: Returns the path of each document by its id.
    """

    chunks: StoredRecords[Chunk]
    order: Iterable[int]
    brief: Callable[[Chunk], Brief]
    settings: Generation
    names: Callable[[], Mapping[str, str]] = dict
    _companions: Companions | None = field(default=None, init=False)

    def task(self, *positions: int) -> Task:
        """Return the task about these passages, of the kind that the brief about the first one names."""
        chunks = tuple(self.chunks.at(position) for position in positions)
        return Task(self.brief(chunks[0]), chunks, positions)

    def about_one_passage(self) -> Iterator[Task]:
        """Yield a task for each passage."""
        return (self.task(int(position)) for position in self.order)

    def beyond_one_passage(self, kind: QueryKind, *, without: Container[str] = ()) -> Iterator[Task]:
        """Yield the tasks of a kind in an order that the seed decides.

        Args:
            kind: The kind.
            without: Ids of the chunks that are no sources.
        """
        for task in self._tasks(kind):
            if task.chunks[0].chunk_id not in without:
                yield task.asking_for(kind)

    def _tasks(self, kind: QueryKind) -> Iterator[Task]:
        self._companions = self._companions or Companions(self.chunks, map(int, self.order))
        if kind in {QueryKind.MULTI_HOP, QueryKind.CROSS_COMPARISON}:
            return self._joined(kind)
        tasks = self._with_neighbours if kind is QueryKind.UNANSWERABLE else self.task
        sources = self._companions.sources(seed=self.settings.seed, purpose=kind.value)
        each = (tasks(source) for source in sources)
        return self._dated(each) if kind is QueryKind.TEMPORAL else each

    def _joined(self, kind: QueryKind) -> Iterator[Task]:
        """Yield groups of passages that belong together."""
        assert self._companions is not None
        compares = kind is QueryKind.CROSS_COMPARISON
        groups = self._companions.groups(
            seed=self.settings.seed,
            purpose=kind.value,
            size=2 if compares else self.settings.multi_hop.passages,
            across_documents=compares or self.settings.multi_hop.across_documents,
        )
        return (self.task(*group) for group in groups)

    def _with_neighbours(self, source: int) -> Task:
        """Return the task about a passage and those that are most like it."""
        assert self._companions is not None
        return self.task(source, *self._companions.near(source, count=NEIGHBOURS))

    def _dated(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Yield each passage with a date or a version, if there are passages of two."""
        from goldbench.stages.generate.moments import moment_of  # its patterns take a while to be made

        names = self.names()
        waiting: list[Task] = []
        moments: set[str] = set()
        for task in tasks:
            moment = moment_of(task.chunks[0], names[task.chunks[0].span.doc_id])
            if moment is None:
                continue
            moments.add(moment)
            waiting.append(replace(task, moment=moment))
            if len(moments) > 1:
                yield from waiting
                waiting.clear()
