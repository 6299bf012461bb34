"""The way of the data, top to bottom: documents, chunks, selection, candidates, queries, gold set.

``STAGES`` is the table of contents and the program: a build and a dry run walk it with the same loop. There are no
checkpoints. What a stage writes is a function of what it reads and of the stored answers of the model, so running
again resumes, and running again with more documents adds to the set.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from goldbench.pipeline.build.books import Books, Counts, described
from goldbench.pipeline.build.drawn_queries import Drawn, Standing, failure_of
from goldbench.pipeline.build.exact_shares import ShareDrawing
from goldbench.pipeline.build.first_replies import MOST_USELESS, Trial
from goldbench.pipeline.build.inputs import brief_for, reading, workers_for
from goldbench.pipeline.build.level_shares import LevelShares, levels_for
from goldbench.pipeline.build.personas import COUNT, read_personas, tidy, titles_of, with_personas, write_personas
from goldbench.pipeline.build.progress import Watched, calls_shown, counted
from goldbench.pipeline.build.rank_meter import MEASURED_UP_TO, RankMeter
from goldbench.pipeline.build.renewal import Base, Renewal, check_renewable
from goldbench.pipeline.build.waves import Drawing
from goldbench.pipeline.build.writers import NotSimulated
from goldbench.pipeline.config import Config, Generator, PromptStyle
from goldbench.pipeline.errors import CallFailed, InputError, LimitReached, ModelUnfit, NotAsked, UnreadableDocument
from goldbench.pipeline.formats.documents.chunker import cut_documents
from goldbench.pipeline.formats.documents.encodings import Encodings
from goldbench.pipeline.formats.documents.reader import read_documents
from goldbench.pipeline.formats.documents.site_lines import LeftOut
from goldbench.pipeline.formats.documents.sources import Found
from goldbench.pipeline.formats.documents.worker_pool import memory_note
from goldbench.pipeline.formats.jsonl import RecordFile
from goldbench.pipeline.goldset.dataset import GoldContents, passages
from goldbench.pipeline.goldset.earlier_lines import EarlierLines
from goldbench.pipeline.goldset.file_names import CANDIDATES, CHUNKS, DATASET, DOCUMENTS, OWN, QUERIES
from goldbench.pipeline.goldset.folder import Claim, Draft, GoldFolder
from goldbench.pipeline.goldset.set_versions import Making
from goldbench.pipeline.ports import Author, Progress, Stored, Writing
from goldbench.pipeline.stages.ask.passages import why_not
from goldbench.pipeline.stages.ask.small_model import SmallModelGenerator
from goldbench.pipeline.stages.assemble import add_derived, label_needed
from goldbench.pipeline.stages.check import SetChecks
from goldbench.pipeline.stages.same_answers import same_answers
from goldbench.pipeline.stages.select import Selection, select
from goldbench.pipeline.text.display import amount
from goldbench.pipeline.text.language import detect_language
from goldbench.schemas.corpus import Chunk, Document, TitleUse
from goldbench.schemas.manifest import Failure, KindCount, LevelSelection, Manifest, StageUsage
from goldbench.schemas.query import Query

FAILURES_SHOWN, FAILURES_LISTED = 20, 1000
"""How many unreadable documents are named on the screen and in the manifest; all are counted."""

UP_TO = 300
"""How many queries are drawn if no number is asked for: enough to tell systems apart (fewer than 100 are not)."""

Opened: TypeAlias = Callable[[RecordFile[Chunk]], AbstractAsyncContextManager[Writing]]

WARM_UP = "hello"  # loads the language detector's tables before the first request


@dataclass(slots=True, kw_only=True)
class Run:
    """What the stages of one run pass on; each stage sets what it makes.

    Args:
        config: The configuration.
        found: The files to read.
        place: Where the set is written.
        progress: Shows how far the run is.
        accept: Takes the documents, or refuses those of another corpus.
        opened: Opens who writes the queries, for a corpus.
        retreat: Returns the configuration and the opener of who writes if the first replies are useless, or None.
        renewal: What is kept of the set before, None if the set is built from nothing.
    """

    config: Config
    found: Found
    place: Draft
    progress: Progress
    accept: Callable[[RecordFile[Document]], None]
    opened: Opened
    retreat: Callable[[ModelUnfit, Callable[[Config], bool]], tuple[Config, Opened] | None] = lambda *_: None
    renewal: Renewal | None = None
    earlier: EarlierLines | None = None
    """What can be copied of the set in the folder."""
    grades_stay: bool = False
    """Whether the grades of a judge are taken over, because no judge grades the new set."""
    books: Books = field(default_factory=Books)

    documents: RecordFile[Document] = field(init=False)
    chunks: RecordFile[Chunk] = field(init=False)
    selection: Selection = field(init=False)
    generator: Author = field(init=False)
    drawn: Drawn = field(init=False)
    kinds: dict[str, KindCount] = field(default_factory=dict)
    personas: tuple[str, ...] = ()
    levels: LevelShares | None = None

    @property
    def standing(self) -> Standing:
        """The queries that are kept of the set before."""
        return self.renewal.standing if self.renewal else Standing()

    @property
    def target(self) -> int:
        """How many queries the set should have."""
        asked = self.config.generate.queries or UP_TO
        return self.renewal.target(asked) if self.renewal else asked

    @property
    def missing(self) -> int:
        """How many queries are drawn beside those that are kept."""
        return max(0, self.target - self.standing.written)

    def selected(self) -> LevelSelection | None:
        """Return how queries were selected by difficulty, None if they were not."""
        if self.levels is not None:
            return self.levels.selection(self.drawn.queries)
        return self.renewal.selection(self.drawn.queries) if self.renewal else None


class _Skips:
    """The documents that one stage cannot use: counted, the first of them named, or the end of the run when strict."""

    def __init__(self, run: Run, stage: str) -> None:
        self._run, self._stage = run, stage
        self.failures: list[Failure] = []
        self.count = 0

    def __call__(self, error: UnreadableDocument) -> None:
        if self._run.config.documents.strict:
            raise error
        self.count += 1
        if self.count <= FAILURES_LISTED:
            self.failures.append(
                Failure(stage=self._stage, item=str(error.path), kind="unreadable", message=str(error))
            )
        if self.count <= FAILURES_SHOWN:
            self._run.progress.note(f"skipped {error}")

    def tell_others(self) -> None:
        """Tell how many were not named."""
        if self.count > FAILURES_SHOWN:
            self._run.progress.note(f"skipped {self.count - FAILURES_SHOWN:,} more, {self.count:,} in all")


async def load(run: Run) -> Counts:
    """Decode files and rows into the texts that every span refers to.

    A bad one is skipped, counted and named, or ends the run when strict.
    """
    skips, shared, read = _Skips(run, "load"), list[LeftOut](), list[Encodings]()
    for problem in run.found.failures:
        skips(problem)
    with run.progress.stage("load", None) as step, workers_for(run.config, cuts_later=True) as workers:
        if note := memory_note():
            run.progress.note(note)
        texts = read_documents(
            run.found.files,
            reading(run.config),
            workers,
            on_failure=skips,
            on_left_out=shared.append,
            on_encodings=read.append,
        )
        run.documents = run.place.documents.write(counted(texts, step))
    skips.tell_others()
    left_out, encodings = next(iter(shared), LeftOut(0)), next(iter(read), Encodings())
    for note in (*left_out.notes(), *encodings.notes()):
        run.progress.note(note)
    count = len(run.documents)
    if not count:
        raise _nothing_read(skips.failures, skips.count)
    run.accept(run.documents)
    run.books.failures.extend(skips.failures)
    parts = {"shared-lines": left_out.lines, "unseen-characters": left_out.unseen}
    return Counts(
        read=count + skips.count,
        written=count,
        failed=skips.count,
        left_out=parts,
        shared=left_out.shared,
        encodings=encodings.counts,
        uncertain=encodings.listed(),
    )


def _nothing_read(failures: list[Failure], failed: int) -> InputError:
    place = failures[0].item if failures else "documents"
    first = f", the first: {failures[0].message.removeprefix(f'{place}: ')}" if failures else ""
    return InputError(place, f"no document could be read, {amount(failed, 'bad document')}{first}")


async def chunk(run: Run) -> Counts:
    """Cut the documents into passages, each an exact span; those without any word give no chunk.

    A document that takes too long is skipped, counted and named, or ends the run when strict.
    """
    count, settings, skips = len(run.documents), run.config.chunk, _Skips(run, "chunk")
    with run.progress.stage("chunk", count) as step, workers_for(run.config) as workers:

        def cut(documents: Iterable[Document]) -> Iterator[Chunk]:
            sizes = {"size": settings.size, "overlap": settings.overlap_characters}
            return cut_documents(documents, workers, **sizes, on_failure=skips)

        if run.earlier is None:
            run.chunks = run.place.chunks.write(cut(counted(run.documents, step)))
        else:
            run.chunks = run.place.chunks.write(run.earlier.cut(run.documents, cut, step.advance))
    skips.tell_others()
    run.books.failures.extend(skips.failures)
    return Counts(read=count, written=count - skips.count, failed=skips.count)


async def choose(run: Run) -> Counts:
    """Leave out chunks that cannot stand alone and all but one of near-duplicates, and order the others."""
    seed, ready = run.config.generate.seed, run.config.documents.no_chunk
    with run.progress.stage("select", len(run.chunks)) as step:
        known = run.earlier.traits() if run.earlier else None
        run.selection = select(run.chunks, seed=seed, ready=ready, advance=step.advance, tell=step.tell, known=known)
    run.place.traits.write_bytes(run.selection.traits.packed())
    rules = {**run.selection.ineligible, "near-duplicate": run.selection.near_duplicates}
    return Counts(read=len(run.chunks), written=len(run.selection.order), rules=rules)


async def generate(run: Run) -> Counts:
    """Propose queries, one prompt per chunk, first chunks first, until there are enough.

    The yield of a wave of chunks decides how large the next one is, so candidates are checked as they come.
    """
    if run.renewal is not None:
        run.renewal.look(run.place, run.earlier)
        if not run.missing:
            return _nothing_drawn(run, run.renewal)
    try:
        await _draw(run)
    except ModelUnfit as unfit:
        instead = run.retreat(unfit, functools.partial(_serves, run))
        if instead is None:
            raise
        run.config, run.opened = instead
        await _draw(run)
    if isinstance(run.generator, SmallModelGenerator) and (own := _questions(run)):
        run.progress.note(
            f"the small model leaves out {amount(own, 'question')} in titles; --generator simulated asks them"
        )
    drawn, eligible = run.drawn, len(run.selection.order)
    run.place.candidates.write(drawn.candidates)
    run.books.failures.extend(drawn.failures)
    return Counts(
        read=eligible + drawn.groups_drawn,
        written=drawn.chunks_with_candidates,
        rules={"skipped": drawn.chunks_skipped},
        failed=drawn.chunks_failed,
        unused=eligible - drawn.chunks_drawn,
    )


def _nothing_drawn(run: Run, renewal: Renewal) -> Counts:
    """Take what is kept as the whole set; nobody who writes is needed."""
    run.generator = renewal.earlier_generator()
    run.drawn = renewal.standing.joined(Drawn())
    run.kinds = renewal.kinds()
    run.place.candidates.write(run.drawn.candidates)
    eligible = len(run.selection.order)
    return Counts(read=eligible, written=0, unused=eligible)


def _questions(run: Run) -> int:
    """Return how many documents have a question as their title, as the rows of a FAQ do."""
    return sum(chunk.span.start == 0 and chunk.title.rstrip().endswith(("?", "？", "؟")) for chunk in run.chunks)


def _serves(run: Run, config: Config) -> bool:
    """Whether one of the first chunks can be asked about sentence by sentence."""
    first = (run.chunks.at(int(position)) for position in run.selection.order[:MOST_USELESS])
    return any(why_not(chunk, brief_for(config, chunk).language) is None for chunk in first)


async def _draw(run: Run) -> None:
    config = run.config
    run.levels = levels_for(config.generate, lambda: _meter(run), run.progress.note)
    async with run.opened(run.chunks) as writing:
        run.generator = writing.generator
        with run.progress.stage("generate", None) as step:
            run.personas = await _personas(run, writing)
            drawing = Drawing(
                chunks=run.chunks,
                generator=writing.generator,
                critics=writing.critics,
                brief=functools.partial(brief_for, config, personas=run.personas),
                cluster_of=run.selection.cluster_of,
                concurrency=writing.at_once
                or 2 * config.model.calls_at_once,  # so that a slot is never idle while an answer is being stored
                advance=step.advance,
                trial=None if writing.at_once or run.standing.every else trial_of(config),
                levels=run.levels,
                fills=bool(run.standing.every),
            )
            async with calls_shown(writing, step, run.progress):
                await _draw_by_kind(run, drawing, writing)


async def _personas(run: Run, writing: Writing) -> tuple[str, ...]:
    """Return the personas of the file, which a model writes from titles if it is missing."""
    path = run.config.generate.personas_file
    if path is None:
        return ()
    known = read_personas(path)
    if known is not None:
        return known
    if writing.kinds is None:
        run.progress.note(
            f"{path}: not found, and only a model that is asked in full writes it; write one persona per line"
        )
        return ()
    first = (run.chunks.at(int(position)) for position in run.selection.order)
    try:
        personas = tidy(await writing.kinds.people(titles_of(first), count=COUNT))
    except NotAsked:
        return ()
    except (CallFailed, LimitReached) as error:
        run.books.failures.append(failure_of("personas", path.name, error))
        return ()
    if personas:
        write_personas(path, personas)
        run.progress.note(f"Personas were written to {path}; edit them there.")
    else:
        run.progress.note(f"{path}: not written, the model named no personas; write one persona per line")
    return personas


async def _draw_by_kind(run: Run, drawing: Drawing, writing: Writing) -> None:
    """Draw by weight, or by share if a kind beyond a single passage is asked for."""
    settings, standing = run.config.generate, run.standing
    order: npt.NDArray[np.integer[Any]] = run.selection.order
    if run.renewal is not None:
        order = run.renewal.order(order, run.chunks, run.selection.cluster_of)
    own_words = settings.prompt_style is not PromptStyle.SMALL
    if not settings.by_share:
        checks = SetChecks(target=run.target)
        checks.hold(standing.every, own_words=own_words)
        if run.levels is not None:
            kept = zip(standing.queries, standing.positions, strict=True)
            there = [run.levels.meter.measure(query.text, held).level for query, held in kept]
            run.levels.begin(run.target, run.missing, there)
        drawing = dataclasses.replace(drawing, checks=checks)
        drawn = await drawing.draw(order, target=run.missing, per_chunk=settings.constraints.per_chunk)
        run.drawn = standing.joined(drawn)
        return
    is_model = settings.generator is Generator.MODEL
    shares = ShareDrawing(
        settings=settings,
        passages=drawing,
        order=order,
        writer=writing.kinds,
        judge=writing.pool_judge,
        names=lambda: {document.doc_id: document.source for document in run.documents},
        why_not="a model that is asked for one sentence at a time cannot write it"
        if is_model
        else "only a model writes it",
        note=run.progress.note,
        with_titles=run.config.corpus.title is not TitleUse.NONE,
        batched=writing.at_once is not None,
        standing=standing,
        own_words=own_words,
    )
    run.drawn, run.kinds = await shares.draw(run.target)


def trial_of(config: Config) -> Trial | None:
    """Return the trial of the model that writes the queries, None if none does."""
    if config.generate.generator is not Generator.MODEL:
        return None
    if config.generate.prompt_style is PromptStyle.SMALL:
        return Trial("choose questions about sentences", "use another model or --generator simulated")
    return Trial("write queries", "use another model, --prompt-style small or looser constraints")


async def check(run: Run) -> Counts:
    """Write the queries that passed every check, and the rest with its reason; the checks ran during `generate`."""
    drawn = run.drawn
    if run.levels is not None or len(run.chunks) <= MEASURED_UP_TO:
        held_out = [query for query in drawn.queries if query.masked or query.masked_titles]
        meter = run.levels.meter if run.levels is not None else _meter(run, held_out)
        drawn.queries[:] = meter.measured(drawn.queries, drawn.positions)
    run.place.queries.write(drawn.queries)
    if drawn.unanswerable:
        run.place.unanswerable_judgments.write(drawn.judgments)
    run.place.rejections.write(drawn.rejections)
    return Counts(
        read=len(drawn.candidates),
        written=len(drawn.queries) + len(drawn.unanswerable),
        rules=Counter(item.filter for item in drawn.rejections if item.candidate is not None),
        failed=sum(failure.stage != "generate" for failure in drawn.failures),
    )


def _meter(run: Run, held_out: Sequence[Query] = ()) -> RankMeter:
    titles, cluster_of = run.config.corpus.title, run.selection.cluster_of
    return RankMeter(chunks=run.chunks, titles=titles, cluster_of=cluster_of, held_out=held_out)


async def assemble(run: Run) -> Counts:
    """Label the chunks that hold the evidence and write the gold set; its corpus holds every chunk."""
    queries, chunks = run.drawn.queries, run.chunks
    relevance = {
        query.query_id: label_needed(query, needed, chunks=chunks, cluster_of=run.selection.cluster_of)
        for query, needed in zip(queries, run.drawn.positions, strict=True)
    }
    graded = run.renewal is not None and run.grades_stay
    derived = {} if graded else add_derived(relevance, queries, same_answers(queries, chunks))
    if run.renewal is not None:
        relevance = run.renewal.relevance(relevance, judged=graded)
    titles = run.config.corpus.title
    corpus = functools.partial(passages, chunks, queries, titles)
    lines = functools.partial(run.earlier.corpus, chunks, queries, titles) if run.earlier else None
    metadata = described(run.config, run.drawn, run.generator, run.selected())
    if run.renewal is not None:
        run.renewal.write_retired(run.place)
        metadata |= run.renewal.metadata(judged=graded)
    run.place.write_gold(GoldContents(queries, corpus, relevance, metadata, run.drawn.unanswerable, derived, lines))
    return Counts(read=len(queries), written=len(queries))


@dataclass(frozen=True, slots=True)
class Stage:
    """One line of the table: what it reads and writes, and the function that does it."""

    name: str
    reads: str
    writes: str
    function: Callable[[Run], Awaitable[Counts]]


STAGES = (
    Stage("load", "files", DOCUMENTS, load),
    Stage("chunk", DOCUMENTS, CHUNKS, chunk),
    Stage("select", CHUNKS, "drawing order", choose),
    Stage("generate", "drawing order", CANDIDATES, generate),
    Stage("check", CANDIDATES, QUERIES, check),
    Stage("assemble", QUERIES, DATASET, assemble),
)


async def walk(run: Run, *, until: str, after: str | None = None) -> None:
    """Do the stages of the table in order and enter their counts in the books.

    Args:
        run: The run.
        until: The last stage.
        after: The stage before the first one, None to begin at the top.
    """
    names = [stage.name for stage in STAGES]
    for stage in STAGES[names.index(after) + 1 if after else 0 :]:
        counts = await stage.function(run)
        run.books.enter(counts, stage=stage.name, reads=stage.reads, writes=stage.writes)
        if stage.name == until:
            return


class Writer(Protocol):
    """Writes queries once it is opened; see ``goldbench.pipeline.build.writers``."""

    @property
    def config(self) -> Config:
        """The configuration, with the values that had to be found out filled in."""

    @property
    def prompts(self) -> Mapping[str, str]:
        """The digest of every prompt in use, by its id."""

    def instead(self) -> Writer | None:
        """Return who writes if the first replies are useless, None for nobody."""

    def open(self, chunks: Stored[Chunk]) -> AbstractAsyncContextManager[Writing]:
        """Open it for a corpus."""

    def usage(self) -> Mapping[str, StageUsage]:
        """Return what the calls cost, by stage."""


@dataclass(frozen=True, slots=True)
class Result:
    """A finished run: its configuration and manifest, the cap that stopped it or None, whether the target was met.

    ``renewal`` tells what was kept of the set before, None if it was built from nothing.
    """

    config: Config
    manifest: Manifest
    limit: str | None
    target_met: bool
    renewal: Renewal | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing failed, no cap was reached, and the target is met."""
        return self.target_met and self.limit is None and not self.manifest.failures


Finish = Callable[[Draft, Manifest], Awaitable[Manifest]]
"""Changes a set that is written but not put in place yet, and returns its manifest."""


async def build(  # noqa: PLR0913  every parameter is a choice of the caller
    writer: Writer,
    found: Found,
    out: Path,
    *,
    progress: Progress,
    replace: bool = False,
    finish: Finish | None = None,
    decisions: Finish | None = None,
    refresh: bool = False,
    paths: Sequence[str] = (),
) -> Result:
    """Build a gold set from files and put it in place.

    If the folder holds a set with these settings whose documents changed, the queries that still stand are kept.

    Args:
        writer: Who writes the queries, and the configuration of the run.
        found: The files.
        out: The run folder.
        progress: Shows how far the run is.
        replace: Whether a run of other documents or with other settings may be replaced.
        finish: What else is done to the set before it is put in place: grading.
        decisions: What puts people's decisions about the earlier set in the folder into the new one, last of all.
        refresh: Whether the set in the folder is made again, whatever its settings.
        paths: The paths of the documents as they were given.

    Raises:
        InputError: Nothing could be read, or (strict) one document could not; or the set cannot be refreshed.
        OutputError: The output folder cannot be written.
        ModelUnavailable: The model's server cannot be used; the answers so far are in the store.
    """
    config, folder, writers = writer.config, GoldFolder(out), [writer]
    shaped = with_personas(config)
    anew = replace and not refresh
    claim = Claim(
        shaped.shaping(),
        shaped.fingerprint(writer.prompts),
        replace=replace or refresh,
        graded=finish is not None,
        reviewed=decisions is not None,
    )

    def retreat(unfit: ModelUnfit, serves: Callable[[Config], bool]) -> tuple[Config, Opened] | None:
        other = writers[-1].instead()
        if other is None or not serves(other.config):
            return None
        progress.note(f"{unfit}. From here on the model is asked for one sentence at a time (prompt_style small).")
        writers.append(other)
        return other.config, functools.partial(_fitted, other, progress=progress)

    with folder.replacing(claim) as place:
        run = Run(
            config=config,
            found=found,
            place=place,
            progress=progress,
            accept=(lambda _: None) if replace or refresh else folder.check_same_corpus,
            opened=functools.partial(_fitted, writer, progress=progress),
            retreat=retreat,
            earlier=None if anew else EarlierLines.of(folder, shaped.shaping()),
            grades_stay=finish is None,
        )
        await walk(run, until="chunk")
        run.renewal = None if anew else renewal_of(folder, place, refresh=refresh)
        await walk(run, after="chunk", until="generate")
        if run.renewal is None or finish is not None or not run.renewal.is_settled(run.drawn):
            await walk(run, after="generate", until="assemble")
            config, writer = with_personas(run.config, run.personas), writers[-1]
            place.write_settings(config.shaping())
            manifest = _manifest(run, config, writer, paths)
            for change in (finish, decisions):
                manifest = manifest if change is None else await change(place, manifest)
            place.finish(manifest, Making("refresh" if refresh else "build"))
    return _result(run, config, folder.manifest())


def renewal_of(folder: GoldFolder, place: Draft, *, refresh: bool) -> Renewal | None:
    """Return what is done with the set in a folder: nothing for a build whose documents are as they were.

    Args:
        folder: The folder.
        place: The draft with the documents and chunks of today.
        refresh: As in `build`.

    Raises:
        InputError: The set cannot be refreshed.
    """
    if refresh:
        return Renewal(Base.of(folder), check_renewable(folder), keeps_some=True)
    if not folder.is_finished():
        return None
    try:
        renewal = Renewal(Base.of(folder), check_renewable(folder))
    except InputError:
        return None
    return renewal if renewal.manifest.renewed is not None or not renewal.has_same_texts(place) else None


def _manifest(run: Run, config: Config, writer: Writer, paths: Sequence[str]) -> Manifest:
    manifest = run.books.manifest(
        config,
        run.drawn,
        run.generator,
        documents=len(run.documents),
        prompts=writer.prompts,
        usage=writer.usage(),
        kinds=run.kinds,
        difficulty=run.selected(),
    ).model_copy(update={"paths": list(paths)})
    return manifest if run.renewal is None else run.renewal.entered(manifest, run.drawn, run.place, run.grades_stay)


def _result(run: Run, config: Config, manifest: Manifest) -> Result:
    drawn, asked = run.drawn, config.generate.queries
    written = sum(query.generator != OWN for query in (*drawn.queries, *drawn.unanswerable))
    met = written >= (run.target if asked else 1)
    if asked is not None:
        met = met and all(count.kept >= count.wanted for count in run.kinds.values())
    return Result(config, manifest, drawn.limit, met, run.renewal)


@contextlib.asynccontextmanager
async def _fitted(writer: Writer, chunks: RecordFile[Chunk], *, progress: Progress) -> AsyncIterator[Writing]:
    """Open the writer for a corpus and show how far it has read it."""
    async with contextlib.AsyncExitStack() as stack:
        with progress.stage("fit", len(chunks)) as step:
            detect_language(WARM_UP)
            writing = await stack.enter_async_context(writer.open(Watched(chunks, step)))
        yield writing


async def plan(
    config: Config,
    found: Found,
    place: Path,
    writing: Writing | None,
    *,
    progress: Progress,
    folder: GoldFolder | None = None,
    refresh: bool = False,
) -> tuple[Drawn, Renewal | None]:
    """Walk the stages of a build up to its last request, and return what is known of the queries.

    Args:
        config: The configuration of the run.
        found: The files.
        place: An empty folder for what is read and cut, to be thrown away.
        writing: Who answers from the store and counts what would be asked; see ``goldbench.pipeline.llm.rehearsal``.
            None if the queries are simulated, of which nothing is drawn.
        progress: Shows how far the run is.
        folder: The folder with the set before, None if nothing of it is kept.
        refresh: As in `build`.
    """
    run = Run(
        config=config,
        found=found,
        place=Draft(place),
        progress=progress,
        accept=folder.check_same_corpus if folder and not refresh else lambda _: None,
        opened=lambda _: contextlib.nullcontext(writing or Writing(NotSimulated())),
        earlier=EarlierLines.of(folder, config.shaping()) if folder else None,
    )
    await walk(run, until="chunk")
    run.renewal = renewal_of(folder, run.place, refresh=refresh) if folder else None
    if writing is None and run.renewal is None:
        return Drawn(), None
    await walk(run, after="chunk", until="generate")
    return run.drawn, run.renewal
