"""The stage functions and the state they share; `flow` walks them."""

from __future__ import annotations

import functools
import math
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from goldbench.config import Config, PromptStyle
from goldbench.errors import InputError, Message, UnreadableDocument
from goldbench.formats.documents.chunker import cut_documents
from goldbench.formats.documents.encodings import Encodings
from goldbench.formats.documents.reader import read_documents
from goldbench.formats.documents.site_lines import LeftOutLines
from goldbench.formats.documents.sources import SourceFiles
from goldbench.formats.documents.worker_pool import memory_note
from goldbench.formats.jsonl import RecordFile
from goldbench.generate.answer_search import AnswerSearch
from goldbench.generate.attempts import FOREIGN, Attempts
from goldbench.generate.books import described, rejected_by
from goldbench.generate.draw import Draw
from goldbench.generate.drawn_queries import DrawnQueries, EarlierQueries
from goldbench.generate.inputs import brief_for, reading, workers_for
from goldbench.generate.progress import calls_shown, counted
from goldbench.generate.prompt_trial import TRIAL_PASSAGES, in_better_style, trial_of
from goldbench.generate.query_ranks import MEASURED_UP_TO, measure_difficulty
from goldbench.generate.task_source import TaskSource
from goldbench.generate.writers import OpenWriter
from goldbench.goldset.dataset import GoldContents, passages
from goldbench.goldset.file_names import CANDIDATES, CHUNKS, DATASET, DOCUMENTS, QUERIES
from goldbench.goldset.folder import Draft
from goldbench.ports import Author, Progress, QueryGenerator
from goldbench.records.corpus import Chunk, Document, TitleUse
from goldbench.records.manifest import UNREADABLE, Failure, KindCount, StageReport
from goldbench.stages.assemble import add_derived, label_needed
from goldbench.stages.same_answers import same_answers
from goldbench.stages.select import Selection, select
from goldbench.text.display import amount, shell_command

if TYPE_CHECKING:
    from goldbench.generate.renewal import Renewal

FAILURES_SHOWN = 20
FAILURES_LISTED = 1000
"""How many unreadable documents are named on the screen and in the manifest; all are counted."""

DRAWING_ORDER = "drawing order"

UP_TO = 300
"""How many queries are drawn if no number is asked for: enough to tell systems apart (fewer than 100 are not)."""

WriterFactory: TypeAlias = Callable[[RecordFile[Chunk]], AbstractAsyncContextManager[OpenWriter]]


@dataclass(slots=True, kw_only=True)
class BuildRun:
    """What the stages of one run pass on; each stage sets what it makes.

    Args:
        config: The configuration.
        sources: The files to read.
        draft: Where the set is written.
        progress: Shows how far the run is.
        accept: Takes the documents, or refuses those of another corpus.
        opened: Opens who writes the queries, for a corpus.
        take_style: Is told in which prompt style the writer is to ask.
        renewal: What is kept of the set before, None if the set is built from nothing.
    """

    config: Config
    sources: SourceFiles
    draft: Draft
    progress: Progress
    accept: Callable[[RecordFile[Document]], None]
    opened: WriterFactory
    take_style: Callable[[PromptStyle], None] = lambda _: None
    renewal: Renewal | None = None
    grades_stay: bool = False
    """Whether the grades of a judge are taken over, because no judge grades the new set."""
    started: float = field(default_factory=time.monotonic)
    reports: list[StageReport] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    documents: RecordFile[Document] = field(init=False)
    chunks: RecordFile[Chunk] = field(init=False)
    selection: Selection = field(init=False)
    generator: Author = field(init=False)
    drawn: DrawnQueries = field(init=False)
    kinds: dict[str, KindCount] = field(default_factory=dict)

    @property
    def standing(self) -> EarlierQueries:
        """The queries that are kept of the set before."""
        return self.renewal.standing if self.renewal else EarlierQueries()

    @property
    def target(self) -> int:
        """How many queries the set should have."""
        wanted = self.config.generate.queries or UP_TO
        return self.renewal.target(wanted) if self.renewal else wanted

    @property
    def missing(self) -> int:
        """How many queries are drawn beside those that are kept."""
        return max(0, self.target - self.standing.written)


class _Skips:
    """The documents that one stage cannot use: counted, the first of them named, or the end of the run when strict."""

    def __init__(self, run: BuildRun, stage: str) -> None:
        self._run = run
        self._stage = stage
        self.failures: list[Failure] = []
        self.count = 0

    def __call__(self, error: UnreadableDocument) -> None:
        if self._run.config.documents.strict:
            raise error
        self.count += 1
        if self.count <= FAILURES_LISTED:
            self.failures.append(Failure(stage=self._stage, item=str(error.path), kind=UNREADABLE, message=str(error)))
        if self.count <= FAILURES_SHOWN:
            self._run.progress.note(Message("skipped {}", error.message))

    def tell_others(self) -> None:
        """Tell how many were not named."""
        if self.count > FAILURES_SHOWN:
            self._run.progress.note(f"skipped {self.count - FAILURES_SHOWN:,} more, {self.count:,} in all")


async def load(run: BuildRun) -> StageReport:
    """Decode files and rows into the texts that every span refers to.

    A bad one is skipped, counted and named, or ends the run when strict.
    """
    skips = _Skips(run, "load")
    shared = list[LeftOutLines]()
    read = list[Encodings]()
    for problem in run.sources.failures:
        skips(problem)
    with run.progress.stage("load", None) as step, workers_for(run.config) as workers:
        if note := memory_note():
            run.progress.note(note)
        texts = read_documents(
            run.sources.files,
            reading(run.config),
            workers,
            on_failure=skips,
            on_left_out=shared.append,
            on_encodings=read.append,
        )
        run.documents = run.draft.documents.write(counted(texts, step))
    skips.tell_others()
    left_out = next(iter(shared), LeftOutLines(0))
    encodings = next(iter(read), Encodings())
    for note in (*left_out.notes(), *encodings.notes()):
        run.progress.note(note)
    count = len(run.documents)
    if not count:
        raise _nothing_read(skips.failures, skips.count)
    run.accept(run.documents)
    run.failures.extend(skips.failures)
    parts = {"shared-lines": left_out.lines, "page-lines": left_out.page_lines, "unseen-characters": left_out.unseen}
    return StageReport(
        stage="load",
        reads="files",
        writes=DOCUMENTS,
        read=count + skips.count,
        written=count,
        failed=skips.count,
        left_out={part: number for part, number in sorted(parts.items()) if number},
        shared=list(left_out.shared),
        encodings=dict(sorted(encodings.counts.items())),
        uncertain=list(encodings.listed()),
    )


def _nothing_read(failures: list[Failure], failed: int) -> InputError:
    source = failures[0].item if failures else "documents"
    first = f", the first: {failures[0].message.removeprefix(f'{source}: ')}" if failures else ""
    return InputError(source, f"no document could be read, {amount(failed, 'bad document')}{first}")


async def chunk(run: BuildRun) -> StageReport:
    """Cut the documents into passages, each an exact span; those without any word give no chunk.

    A document that takes too long is skipped, counted and named, or ends the run when strict.
    """
    count = len(run.documents)
    settings = run.config.chunk
    skips = _Skips(run, "chunk")
    with run.progress.stage("chunk", count) as step, workers_for(run.config) as workers:
        documents = counted(run.documents, step)
        overlap = settings.overlap_characters
        chunks = cut_documents(documents, workers, size=settings.size, overlap=overlap, on_failure=skips)
        run.chunks = run.draft.chunks.write(chunks)
    skips.tell_others()
    run.failures.extend(skips.failures)
    written = count - skips.count
    return StageReport(stage="chunk", reads=DOCUMENTS, writes=CHUNKS, read=count, written=written, failed=skips.count)


async def choose(run: BuildRun) -> StageReport:
    """Leave out chunks that cannot stand alone and all but one of near-duplicates, and order the others."""
    seed = run.config.generate.seed
    ready = run.config.documents.no_chunk
    with run.progress.stage("select", len(run.chunks)) as step:
        run.selection = select(run.chunks, seed=seed, ready=ready, advance=step.advance, tell=step.tell)
    rules = {**run.selection.ineligible, "near-duplicate": run.selection.near_duplicates}
    read = len(run.chunks)
    written = len(run.selection.order)
    return StageReport(
        stage="select", reads=CHUNKS, writes=DRAWING_ORDER, read=read, written=written, **rejected_by(rules)
    )


async def generate(run: BuildRun) -> StageReport:
    """Propose queries, one prompt per chunk, first chunks first, until there are enough.

    The yield of a wave of chunks decides how large the next one is, so candidates are checked as they come.
    """
    if run.renewal is not None:
        run.renewal.compare_documents(run.draft)
        if not run.missing:
            return _nothing_drawn(run, run.renewal)
    await _draw(run)
    drawn = run.drawn
    eligible = len(run.selection.order)
    foreign = Counter(item.reason for item in drawn.rejections if item.filter == FOREIGN)
    if foreign:
        languages = ", ".join(f"{amount(count, 'passage')}: {reason}" for reason, count in foreign.most_common())
        run.progress.note(f"Left out, {languages}. {shell_command('models')} lists models that know more languages.")
    run.draft.candidates.write(drawn.candidates)
    run.failures.extend(drawn.failures)
    return StageReport(
        stage="generate",
        reads=DRAWING_ORDER,
        writes=CANDIDATES,
        read=eligible + drawn.groups_drawn,
        written=drawn.chunks_with_candidates,
        failed=drawn.chunks_failed,
        unused=eligible - drawn.chunks_drawn,
        **rejected_by({"skipped": drawn.chunks_skipped - foreign.total(), FOREIGN: foreign.total()}),
    )


def _nothing_drawn(run: BuildRun, renewal: Renewal) -> StageReport:
    """Take what is kept as the whole set; nobody who writes is needed."""
    run.generator = renewal.earlier_generator()
    run.drawn = renewal.standing.joined(DrawnQueries())
    run.kinds = renewal.kinds()
    run.draft.candidates.write(run.drawn.candidates)
    eligible = len(run.selection.order)
    return StageReport(
        stage="generate", reads=DRAWING_ORDER, writes=CANDIDATES, read=eligible, written=0, unused=eligible
    )


async def _draw(run: BuildRun) -> None:
    async with run.opened(run.chunks) as writing:
        with run.progress.stage("generate", None) as step:
            async with calls_shown(writing, step, run.progress, calls=run.missing, unit="queries"):
                await _write_queries(run, writing, step.advance)


async def _write_queries(run: BuildRun, writing: OpenWriter, advance: Callable[[int], None]) -> None:
    order: npt.NDArray[np.integer[Any]] = run.selection.order
    if run.renewal is not None:
        order = run.renewal.order(order, run.chunks, run.selection.cluster_of)
    source = TaskSource(
        chunks=run.chunks,
        order=order,
        brief=lambda passage: brief_for(run.config, passage),
        settings=run.config.generate,
        names=lambda: {document.doc_id: document.source for document in run.documents},
    )
    unanswerable = run.config.generate.unanswerable
    with_titles = run.config.corpus.title is not TitleUse.NONE
    attempts = Attempts(
        generator=writing.generator,
        cluster_of=run.selection.cluster_of,
        kind_writer=writing.kinds,
        judge=writing.pool_judge,
        search=AnswerSearch(run.chunks, unanswerable.depth, unanswerable.passages_per_call, with_titles),
        advance=advance,
    )
    attempts = await _choose_style(run, attempts, source, writing.other_style)
    run.generator = attempts.generator
    draw = Draw(
        source=source,
        attempts=attempts,
        target=run.target,
        concurrency=writing.at_once
        or 2 * run.config.model.calls_at_once,  # so that a slot is never idle while an answer is being stored
        trial=None if writing.at_once or run.standing.every else trial_of(run.config),
        standing=run.standing,
        waits=writing.at_once is None,
        note=run.progress.note,
    )
    run.drawn = await draw.draw()
    run.kinds = draw.kind_counts()


async def _choose_style(
    run: BuildRun, attempts: Attempts, source: TaskSource, other_style: QueryGenerator | None
) -> Attempts:
    """Return the attempts in the prompt style that the first passages speak for."""
    settings = run.config.generate
    count = min(TRIAL_PASSAGES, math.ceil(run.missing / settings.constraints.per_chunk))
    style, attempts, figures = await in_better_style(run.config, attempts, other_style, source, count=count)
    if figures is not None:
        run.progress.note(figures)
    if style is not settings.prompt_style:
        run.config = run.config.in_style(style)
        run.take_style(style)
    return attempts


async def check(run: BuildRun) -> StageReport:
    """Write the queries that passed every check, and the rest with its reason; the checks ran during `generate`."""
    drawn = run.drawn
    if drawn.queries and len(run.chunks) <= MEASURED_UP_TO:
        drawn.queries[:] = measure_difficulty(
            drawn.queries, drawn.positions, run.chunks, run.config.corpus.title, run.selection.cluster_of
        )
    run.draft.queries.write(drawn.queries)
    if drawn.unanswerable:
        run.draft.unanswerable_judgments.write(drawn.judgments)
    run.draft.rejections.write(drawn.rejections)
    return StageReport(
        stage="check",
        reads=CANDIDATES,
        writes=QUERIES,
        read=len(drawn.candidates),
        written=len(drawn.queries) + len(drawn.unanswerable),
        failed=sum(failure.stage != "generate" for failure in drawn.failures),
        **rejected_by(Counter(item.filter for item in drawn.rejections if item.candidate is not None)),
    )


async def assemble(run: BuildRun) -> StageReport:
    """Label the chunks that hold the evidence and write the gold set; its corpus holds every chunk."""
    queries = run.drawn.queries
    chunks = run.chunks
    relevance = {
        query.query_id: label_needed(query, needed, chunks=chunks, cluster_of=run.selection.cluster_of)
        for query, needed in zip(queries, run.drawn.positions, strict=True)
    }
    graded = run.renewal is not None and run.grades_stay
    derived = {} if graded else add_derived(relevance, queries, same_answers(queries, chunks))
    if run.renewal is not None:
        relevance = run.renewal.relevance(relevance, judged=graded)
    titles = run.config.corpus.title
    corpus = functools.partial(passages, chunks, titles)
    metadata = described(run.config, run.drawn, run.generator)
    if run.renewal is not None:
        run.renewal.write_retired(run.draft)
        metadata |= run.renewal.metadata(judged=graded)
    run.draft.write_gold(GoldContents(queries, corpus, relevance, metadata, run.drawn.unanswerable, derived))
    return StageReport(stage="assemble", reads=QUERIES, writes=DATASET, read=len(queries), written=len(queries))
