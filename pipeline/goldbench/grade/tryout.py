"""What a server takes, found out before a run, and the built-in sample of which judge checks can be made."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from goldbench.config import Config
from goldbench.errors import Message, UsageError
from goldbench.generate.progress import calls_shown
from goldbench.generate.writers import ModelWriter, open_answers, writer_for
from goldbench.llm.preflight import Trait, preflight
from goldbench.llm.probe import probe
from goldbench.llm.server_settings import ModelSettings
from goldbench.ports import Progress, Traffic
from goldbench.records.corpus import Chunk, Document, Evidence
from goldbench.records.manifest import StageUsage
from goldbench.records.query import Query
from goldbench.stages.chunk import chunk_documents

_SAMPLE = Path(__file__).with_name("sample.toml")


@dataclass(frozen=True, slots=True)
class Held:
    """Chunks in memory, read like those on disk."""

    chunks: Sequence[Chunk]

    def __iter__(self) -> Iterator[Chunk]:
        """Yield the chunks."""
        return iter(self.chunks)

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self.chunks)

    def at(self, position: int) -> Chunk:
        """Return the chunk at this position, counted from 0."""
        return self.chunks[position]


def sample() -> tuple[list[Chunk], list[Query]]:
    """Return the built-in passages and the query about each."""
    rows = tomllib.loads(_SAMPLE.read_text(encoding="utf-8"))["passages"]
    documents = [
        Document(doc_id=f"sample-{number}", title=row["title"], text=row["text"].strip(), source="sample")
        for number, row in enumerate(rows, 1)
    ]
    chunks = list(chunk_documents(documents, size=2000, overlap=0))
    queries = []
    for row, chunk in zip(rows, chunks, strict=True):
        start = chunk.text.index(row["evidence"])
        evidence = Evidence(
            doc_id=chunk.span.doc_id, start=start, end=start + len(row["evidence"]), quote=row["evidence"]
        )
        queries.append(
            Query(
                query_id=f"q-{chunk.span.doc_id}",
                chunk_id=chunk.chunk_id,
                text=row["query"],
                generator="sample",
                evidence=(evidence,),
                answer=row["answer"],
                language="en",
            )
        )
    return chunks, queries


@dataclass(slots=True)
class ServerCheck:
    """What was found of a server, and what finding it out cost by account."""

    traits: list[Trait] = field(default_factory=list)
    usage: dict[str, StageUsage] = field(default_factory=dict)


class _Calls(NamedTuple):
    """The calls of a path, as `calls_shown` takes them."""

    traffic: Callable[[], Traffic]
    patience_s: float


async def check_server(config: Config, answers: Path, *, progress: Progress) -> ServerCheck:
    """Find out what the server of a model takes, with the context that it lists.

    Args:
        config: The configuration; its caps hold.
        answers: The store, in which the traits are remembered.
        progress: Shows that the server is waited for.

    Raises:
        UsageError: No model is set up.
        ModelUnavailable: The model's server cannot be used.
    """
    writer = await writer_for(config, answers)
    if not isinstance(writer, ModelWriter):
        raise UsageError(Message("{try=True} needs a model: give {model=} and {base_url=}, or {model='local'}"))
    settings = ModelSettings.of(writer.config.model)
    with open_answers(answers, replay=False) as store, progress.stage("ask the server", None) as step:
        traits, usage, _ = await preflight(
            settings, store, lambda path: calls_shown(_Calls(path.snapshot, settings.patience_s), step, progress)
        )
    if settings.file is None:
        answer = await probe(settings.address, settings.api_key, key_header=settings.key_header)
        length = answer.contexts.get(settings.name)
        says = f"{length:,} tokens for prompt and answer" if length else "not listed by the server"
        if answer.problem:
            says = f"unknown: /models {answer.problem}"
        traits.append(Trait("context", says, Message("{chunk_size=}")))
    return ServerCheck(traits, dict(usage))
