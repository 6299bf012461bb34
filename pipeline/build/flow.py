"""The way data takes, top to bottom: documents, chunks, selection, candidates, queries, gold set.

There are no checkpoints. What a stage writes is a function of what it reads and of the stored answers of the model,
so running again resumes, and running again with more documents adds to the set.
"""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pipeline.build.books import Books, Stage, described
from pipeline.build.progress import Watched, calls_shown, counted
from pipeline.build.waves import Drawing, Drawn
from pipeline.config import Config
from pipeline.errors import GoldsetError, UnreadableDocument
from pipeline.formats.documents.fields import ReadOptions
from pipeline.formats.documents.reader import read_documents
from pipeline.formats.documents.sources import Found, find_files
from pipeline.formats.jsonl import RecordFile
from pipeline.goldset.dataset import GoldSet, passages
from pipeline.goldset.file_names import CANDIDATES, CHUNKS, DATASET, DOCUMENTS, QUERIES
from pipeline.goldset.folder import Claim, Draft, GoldFolder
from pipeline.ports import Brief, Progress, Stored, Writing
from pipeline.stages.assemble import label
from pipeline.stages.chunk import chunk_documents
from pipeline.stages.generate import assign
from pipeline.stages.select import READY, Limits, Selection, fault, select
from pipeline.text.language import detect_language
from schemas.corpus import Chunk, Document
from schemas.manifest import Failure, Manifest, StageUsage

FAILURES_SHOWN, FAILURES_LISTED = 20, 1000
"""How many unreadable documents are named on the screen and in the manifest; all are counted."""

UP_TO = 300
"""How many queries are drawn where no number is asked for: enough to tell systems apart (fewer than 100 are not)."""


STAGES = (
    Stage("load", "files", DOCUMENTS, "decode files and rows into texts that every span refers to"),
    Stage("chunk", DOCUMENTS, CHUNKS, "cut documents into passages, each an exact span"),
    Stage("select", CHUNKS, "drawing order", "leave out what cannot stand alone; one of near-duplicates"),
    Stage("generate", "drawing order", CANDIDATES, "propose queries, one prompt per chunk"),
    Stage("check", CANDIDATES, QUERIES, "keep what passes every check, the rest with its reason"),
    Stage("assemble", QUERIES, DATASET, "label the chunks that hold the evidence; write the gold set"),
)


LATIN = "Words in Latin letters make the detector of languages read its tables, while no answer is waited for."


class Writer(Protocol):
    """Who writes the queries, not opened yet; see ``pipeline.build.writers``."""

    @property
    def config(self) -> Config:
        """The configuration, with all that had to be found out filled in."""

    @property
    def prompts(self) -> Mapping[str, str]:
        """The digest of every prompt in use, by its id."""

    def open(self, chunks: Stored[Chunk]) -> AbstractAsyncContextManager[Writing]:
        """Open it for a corpus."""

    def usage(self) -> Mapping[str, StageUsage]:
        """Return what the calls cost, by stage."""


@dataclass(frozen=True, slots=True)
class Result:
    """A finished run: its manifest, what limited it (a cap that was reached), whether the target was met."""

    manifest: Manifest
    limit: str | None
    target_met: bool

    @property
    def complete(self) -> bool:
        """Whether nothing failed, nothing was capped, and a target that was asked for is met."""
        return self.target_met and self.limit is None and not self.manifest.failures


Finish = Callable[[Draft, Manifest], Awaitable[Manifest]]
"""Works on a set that is written but not put in place yet, and returns its manifest."""


async def build(
    writer: Writer,
    found: Found,
    out: Path,
    *,
    progress: Progress,
    replace: bool = False,
    finish: Finish | None = None,
) -> Result:
    """Build a gold set from files and put it in place.

    Args:
        writer: Who writes the queries, and the configuration of the run.
        found: The files.
        out: The run folder.
        progress: Shows how far it is.
        replace: Whether a run of other documents or with other settings may be replaced.
        finish: What else is to be done to the set before it is put in place: grading.

    Raises:
        InputError: Nothing could be read, or (strict) one document could not.
        OutputError: The output folder cannot be written.
        ModelUnavailable: The model's server cannot be used; what was answered is in the store.
    """
    books, config = Books(STAGES), writer.config
    folder, settings = GoldFolder(out), config.shaping()
    claim = Claim(settings, config.fingerprint(writer.prompts), replace=replace, graded=finish is not None)
    with folder.replacing(claim) as place:
        documents = load(config, found, place, books, progress)
        if not replace:
            folder.check_same_corpus(documents)
        chunks = chunk(config, documents, place, books, progress)
        selection = choose(config, chunks, books, progress)
        async with contextlib.AsyncExitStack() as stack:
            with progress.stage("fit", len(chunks)) as step:
                detect_language(LATIN)
                writing = await stack.enter_async_context(writer.open(Watched(chunks, step)))
            drawn = await draw(config, chunks, selection, writing, place, books, progress)
        generator = writing.generator
        assemble(chunks, selection, drawn, place, books, metadata=described(config, drawn, generator))
        place.write_settings(settings)
        manifest = books.manifest(
            config, drawn, generator, documents=len(documents), prompts=writer.prompts, usage=writer.usage()
        )
        if finish is not None:
            manifest = await finish(place, manifest)
        place.finish(manifest)
    asked = config.generate.queries
    return Result(folder.manifest(), drawn.limit, len(drawn.queries) >= (asked or 1))


async def plan(config: Config, found: Found, place: Path, writing: Writing, *, progress: Progress) -> Drawn:
    """Go the way of a build up to its last request.

    Args:
        config: The configuration of the run.
        found: The files.
        place: An empty folder for what is read and cut, to be thrown away.
        writing: Whoever answers what is known and counts what would be asked; see ``pipeline.llm.rehearsal``.
        progress: Shows how far it is.
    """
    books = Books(STAGES)
    documents = load(config, found, Draft(place), books, progress)
    chunks = chunk(config, documents, Draft(place), books, progress)
    selection = choose(config, chunks, books, progress)
    return await propose(config, chunks, selection, writing, progress)


def load(config: Config, found: Found, place: Draft, books: Books, progress: Progress) -> RecordFile[Document]:
    """Read every file; a bad one is skipped, counted and named, or ends the run when strict."""
    failures: list[Failure] = []
    failed = 0

    def on_failure(error: UnreadableDocument) -> None:
        nonlocal failed
        if config.documents.strict:
            raise error
        failed += 1
        if failed <= FAILURES_LISTED:
            failures.append(Failure(stage="load", item=str(error.path), kind="unreadable", message=str(error)))
        if failed <= FAILURES_SHOWN:
            progress.note(f"skipped {error}")

    for problem in found.failures:
        on_failure(problem)
    with progress.stage("load", None) as step:
        texts = read_documents(found.files, reading(config), on_failure=on_failure)
        documents = place.documents.write(counted(texts, step))
    if failed > FAILURES_SHOWN:
        progress.note(f"skipped {failed - FAILURES_SHOWN:,} more, {failed:,} in all")
    if not documents:
        first = f", the first: {failures[0].message}" if failures else ""
        raise GoldsetError(f"no document could be read, {failed:,} {'is' if failed == 1 else 'are'} bad{first}")
    books.failures.extend(failures)
    books.close("load", read=len(documents) + failed, written=len(documents), failed=failed)
    return documents


def find_documents(paths: Sequence[str]) -> Found:
    """Return the files to read; the folders of earlier runs among them are left out."""
    return find_files(paths, is_run=lambda folder: GoldFolder(folder).holds_documents())


def reading(config: Config) -> ReadOptions:
    """Return how files and rows become documents."""
    return ReadOptions(
        text_field=config.documents.text_field,
        id_field=config.documents.id_field,
        title_field=config.documents.title_field,
        ready_chunks=config.documents.no_chunk,
        limit_documents=config.documents.limit,
        max_megabytes=config.documents.max_megabytes,
    )


def cut(config: Config, found: Found, *, on_failure: Callable[[UnreadableDocument], None]) -> Iterator[Chunk]:
    """Yield the chunks of files without keeping anything: what ``goldset chunk`` prints."""

    def report(error: UnreadableDocument) -> None:
        if config.documents.strict:
            raise error
        on_failure(error)

    documents = read_documents(found.files, reading(config), on_failure=report)
    return chunk_documents(documents, size=config.chunk.size, overlap=config.chunk.overlap_characters)


def chunk(
    config: Config, documents: RecordFile[Document], place: Draft, books: Books, progress: Progress
) -> RecordFile[Chunk]:
    """Cut the documents; those without any word give no chunk."""
    with progress.stage("chunk", len(documents)) as step:
        cut = chunk_documents(counted(documents, step), size=config.chunk.size, overlap=config.chunk.overlap_characters)
        chunks = place.chunks.write(cut)
    books.close("chunk", read=len(documents), written=len(documents))
    return chunks


def choose(config: Config, chunks: RecordFile[Chunk], books: Books, progress: Progress) -> Selection:
    """Decide which chunks may be asked about, and in which order."""
    with progress.stage("select", len(chunks)) as step:
        selection = select(Watched(chunks, step), seed=config.generate.seed, ready=config.documents.no_chunk)
    rules = Counter(selection.ineligible)
    rules["near-duplicate"] = selection.near_duplicates
    books.close("select", read=len(chunks), written=len(selection.order), rules=rules)
    return selection


async def draw(
    config: Config,
    chunks: RecordFile[Chunk],
    selection: Selection,
    writing: Writing,
    place: Draft,
    books: Books,
    progress: Progress,
) -> Drawn:
    """Propose and check queries, first chunks first, until there are enough; write what came of it."""
    drawn = await propose(config, chunks, selection, writing, progress)
    books.close(
        "generate",
        read=len(selection.order),
        written=drawn.chunks_with_candidates,
        rules={"skipped": drawn.chunks_skipped},
        failed=drawn.chunks_failed,
        unused=len(selection.order) - drawn.chunks_drawn,
    )
    turned_down = Counter(item.filter for item in drawn.rejections if item.candidate is not None)
    calls_failed = sum(failure.stage != "generate" for failure in drawn.failures)
    books.close(
        "check",
        read=len(drawn.candidates),
        written=len(drawn.queries),
        rules=turned_down,
        failed=calls_failed,
    )
    books.failures.extend(drawn.failures)
    place.candidates.write(drawn.candidates)
    place.queries.write(drawn.queries)
    place.rejections.write(drawn.rejections)
    return drawn


def brief_for(config: Config, chunk: Chunk) -> Brief:
    """Return what to ask of one chunk, and in which language."""
    settings = config.generate
    asked = assign(
        chunk.chunk_id, seed=settings.seed, kinds=settings.kinds, styles=settings.styles, personas=settings.personas
    )
    language = settings.constraints.language or detect_language(chunk.text)
    return Brief(chunk=chunk, assignment=asked, constraints=settings.constraints, language=language)


def first_brief(config: Config, found: Found) -> Brief:
    """Return what would be asked of the first chunk that may be asked about: what ``goldset prompts render`` shows.

    Raises:
        GoldsetError: There is none.
    """
    limits = READY if config.documents.no_chunk else Limits()
    for chunk in cut(config, found, on_failure=lambda _: None):
        if fault(chunk.text, limits) is None:
            return brief_for(config, chunk)
    raise GoldsetError("no chunk of these documents may be asked about")


async def propose(
    config: Config, chunks: RecordFile[Chunk], selection: Selection, writing: Writing, progress: Progress
) -> Drawn:
    """Propose and check queries, first chunks first, until there are enough."""
    settings = config.generate
    target = settings.queries or UP_TO
    with progress.stage("generate", None) as step:
        drawing = Drawing(
            chunks=chunks,
            generator=writing.generator,
            critics=writing.critics,
            brief=functools.partial(brief_for, config),
            cluster_of=selection.cluster_of,
            concurrency=writing.at_once
            or 2 * config.model.concurrency,  # so that a slot is never idle while an answer is being stored
            advance=step.advance,
        )
        async with calls_shown(writing, step, progress):
            return await drawing.draw(selection.order, target=target, per_chunk=settings.constraints.per_chunk)


def assemble(
    chunks: RecordFile[Chunk],
    selection: Selection,
    drawn: Drawn,
    place: Draft,
    books: Books,
    *,
    metadata: dict[str, object],
) -> None:
    """Label the chunks that hold the evidence and write the gold set; its corpus holds every chunk."""
    relevance = {
        query.query_id: label(query, position, chunks=chunks, cluster_of=selection.cluster_of)
        for query, position in zip(drawn.queries, drawn.positions, strict=True)
    }
    corpus = functools.partial(passages, chunks, drawn.queries)
    place.write_gold(GoldSet(queries=drawn.queries, corpus=corpus, relevance=relevance, metadata=metadata))
    books.close("assemble", read=len(drawn.queries), written=len(drawn.queries))
