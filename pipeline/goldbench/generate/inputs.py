"""What a configuration makes of files: the documents to read, their chunks, the request about a chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from goldbench.config import KINDS, Config, Engine
from goldbench.errors import GoldbenchError, UnreadableDocument
from goldbench.formats.documents.chunker import cut_documents
from goldbench.formats.documents.encodings import Encodings
from goldbench.formats.documents.fields import ReadOptions
from goldbench.formats.documents.reader import read_documents
from goldbench.formats.documents.site_lines import LeftOutLines
from goldbench.formats.documents.sources import SourceFile, SourceFiles, find_files
from goldbench.formats.documents.worker_pool import DocumentLimits, Workers
from goldbench.formats.tables import Table
from goldbench.goldset.folder import GoldFolder
from goldbench.ports import Brief
from goldbench.records.corpus import Chunk, TitleUse
from goldbench.stages.generate import assign
from goldbench.stages.select import READY, Limits, chunk_fault
from goldbench.text.language import detect_language


def find_documents(paths: Sequence[str]) -> SourceFiles:
    """Return the files to read; the folders of earlier runs among them are left out."""
    return find_files(paths, is_run=lambda folder: GoldFolder(folder).holds_documents())


def held_rows(table: Table, *, name: str, source: str) -> SourceFiles:
    """Return a table in memory as the files to read.

    Args:
        table: The rows.
        name: What messages call it.
        source: The file that gives the same documents; ids are made from it.
    """
    return SourceFiles(files=(SourceFile(Path(name), source, table),), ignored={}, repeated=(), failures=())


def reading(config: Config) -> ReadOptions:
    """Return how files and rows become documents."""
    return ReadOptions(
        text_field=config.documents.text_field,
        id_field=config.documents.id_field,
        title_field=config.documents.title_field,
        ready_chunks=config.documents.no_chunk,
        limit_documents=config.documents.limit,
        encoding=config.documents.encoding,
        encodings=config.documents.encodings,
    )


def workers_for(config: Config) -> Workers:
    """Return the processes that read documents or cut them, with their limits; see `Workers`."""
    settings = config.documents
    budget = DocumentLimits(
        seconds=settings.seconds, memory_megabytes=settings.memory_megabytes, megabytes=settings.max_megabytes
    )
    if config.machines.engine is Engine.LOCAL:
        return Workers(budget, settings.jobs)
    from goldbench.formats.documents.node_workers import node_workers

    nodes = node_workers()
    return Workers(budget, settings.jobs or nodes.jobs, start=nodes.start)


def cut(
    config: Config,
    files: SourceFiles,
    *,
    on_failure: Callable[[UnreadableDocument], None],
    on_left_out: Callable[[LeftOutLines], None] = lambda _: None,
    on_encodings: Callable[[Encodings], None] = lambda _: None,
) -> Iterator[Chunk]:
    """Yield the chunks of files without storing anything, as ``goldbench chunk`` prints them.

    Args:
        config: The configuration.
        files: The files.
        on_failure: Is told about each file or document that cannot be read, unless the configuration is strict.
        on_left_out: Is told at the end what was left out of the texts.
        on_encodings: Is told at the end the encodings of the files.
    """

    def report(error: UnreadableDocument) -> None:
        if config.documents.strict:
            raise error
        on_failure(error)

    for problem in files.failures:
        report(problem)
    with workers_for(config) as readers, workers_for(config) as cutters:
        documents = read_documents(
            files.files, reading(config), readers, on_failure=report, on_left_out=on_left_out, on_encodings=on_encodings
        )
        yield from cut_documents(
            documents, cutters, size=config.chunk.size, overlap=config.chunk.overlap_characters, on_failure=report
        )


def brief_for(config: Config, chunk: Chunk) -> Brief:
    """Return what to ask about one chunk, and in which language."""
    settings = config.generate
    kinds = {kind: weight for kind, weight in settings.kinds.items() if kind in KINDS}
    assignment = assign(
        chunk.chunk_id,
        seed=settings.seed,
        kinds=kinds if any(kinds.values()) else KINDS,
        styles=settings.styles,
        personas=settings.personas,
    )
    language = settings.constraints.language or detect_language(chunk.text)
    own_words = not settings.asks_in_short
    titled = config.corpus.title is not TitleUse.NONE
    return Brief(chunk, assignment, settings.constraints, language, own_words=own_words, titled=titled)


def first_brief(config: Config, files: SourceFiles) -> Brief:
    """Return the request about the first chunk that may be asked about, as ``goldbench prompts render`` shows it.

    Raises:
        GoldbenchError: No chunk may be asked about.
    """
    limits = READY if config.documents.no_chunk else Limits()
    for chunk in cut(config, files, on_failure=lambda _: None):
        if chunk_fault(chunk, limits, ready=config.documents.no_chunk) is None:
            return brief_for(config, chunk)
    raise GoldbenchError("no chunk of these documents is long and clean enough for a question; give longer documents")
