"""Documents to chunks, and chunks to what the selection knows of them, in the processes that touch documents."""

from __future__ import annotations

import base64
import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, TypeVar

import numpy as np

from goldbench.errors import GoldbenchError, UnreadableDocument
from goldbench.formats.documents.task_exchange import Task
from goldbench.formats.documents.worker_pool import Workers
from goldbench.formats.jsonl import RecordFile
from goldbench.records.corpus import Chunk, Document
from goldbench.stages.chunk import check_sizes, chunks_of
from goldbench.stages.select import Traits, unseen
from goldbench.text.display import shown

_BATCH, _BATCH_CHARACTERS = 1024, 256 * 2**10
"""Most documents that are sent to a process at once, and their characters, unless one alone has more."""
_WORTH_PROCESSES = 2_000
"""Chunks from which they are looked at in other processes, each of which prepares for a third of a second."""


def cut_documents(
    documents: Iterable[Document],
    workers: Workers,
    *,
    size: int,
    overlap: int,
    on_failure: Callable[[UnreadableDocument], None],
) -> Iterator[Chunk]:
    """Yield the chunks of each document, in order; see ``chunk_documents``, which does it in this process.

    Args:
        documents: The documents; a few are held in memory.
        workers: Who finds the passages; not those who read the documents meanwhile.
        size: Most characters of a chunk.
        overlap: Most characters that two neighbours share.
        on_failure: Called with the error of each document that takes too much time or memory; it gives no chunk.

    Raises:
        UsageError: ``size`` or ``overlap`` is out of range.
        GoldbenchError: A package that cuts documents is not installed.
    """
    check_sizes(size, overlap)
    sent: deque[Document] = deque()
    tasks = _tasks(documents, sent, {"size": size, "overlap": overlap})
    with contextlib.closing(workers.answers(tasks)) as answers:
        for answer in answers:
            document = sent.popleft()
            (found,) = answer
            if missing := found.get("missing"):
                raise GoldbenchError(f"{missing} is not installed: install goldbench again")
            if problem := found.get("problem"):
                on_failure(UnreadableDocument(shown(document.source), problem))
            else:
                yield from chunks_of(document, found["passages"])


def _tasks(documents: Iterable[Document], sent: deque[Document], settings: dict[str, Any]) -> Iterator[Task]:
    for batch, size in _batches(documents, lambda document: 0 if document.ready else len(document.text)):
        sent.extend(batch)
        items = [{"text": "" if document.ready else document.text} for document in batch]
        yield _task("chunk", items, settings, size)


T = TypeVar("T")


def _batches(items: Iterable[T], size_of: Callable[[T], int]) -> Iterator[tuple[list[T], int]]:
    """Yield items together as long as they fit into one task, and their size.

    Args:
        items: The items.
        size_of: Measures an item, in characters or bytes.
    """
    batch: list[T] = []
    total = 0
    for item in items:
        size = size_of(item)
        if batch and (len(batch) >= _BATCH or total + size > _BATCH_CHARACTERS):
            yield batch, total
            batch, total = [], 0
        batch.append(item)
        total += size
    if batch:
        yield batch, total


def _task(kind: str, items: list[dict[str, Any]], settings: dict[str, Any], size: int) -> Task:
    return Task(kind, items, settings, size, size / _BATCH_CHARACTERS)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogatepass")


@dataclass(slots=True)
class Pieces:
    """Cuts documents into chunks and examines the chunks in worker processes.

    Args:
        workers: The processes.
        size: As in `cut_documents`.
        overlap: As in `cut_documents`.
        seed: As in ``select``.
        ready: As in ``select``.
    """

    workers: Workers
    size: int
    overlap: int
    seed: int
    ready: bool
    _rows: list[bytes] = field(default_factory=list)
    _count: int = 0

    def lines(
        self,
        documents: RecordFile[Document],
        *,
        on_failure: Callable[[UnreadableDocument], None],
        advance: Callable[[int], None],
    ) -> Iterator[bytes]:
        """Yield the chunks of each document, in order.

        Args:
            documents: The documents.
            on_failure: As in `cut_documents`.
            advance: Called with 1 after each document.
        """
        check_sizes(self.size, self.overlap)
        settings = {
            "cut": {"size": self.size, "overlap": self.overlap},
            "look": {"seed": self.seed, "ready": self.ready},
        }
        with contextlib.closing(self.workers.answers(_piece_tasks(documents.lines(), settings))) as answers:
            for position, answer in enumerate(answers):
                parts = list(answer)
                if problem := next((problem for part in parts if (problem := part.get("problem"))), None):
                    on_failure(UnreadableDocument(shown(documents.at(position).source), problem))
                elif missing := next((missing for part in parts if (missing := part.get("missing"))), None):
                    raise GoldbenchError(f"{missing} is not installed: install goldbench again")
                else:
                    yield from self._taken(parts)
                advance(1)

    def _taken(self, parts: list[dict[str, Any]]) -> Iterator[bytes]:
        for part in parts:
            lines = part["lines"].encode("utf-8", "surrogatepass").splitlines(keepends=True)
            self._rows.append(base64.b64decode(part["traits"]))
            self._count += len(lines)
            yield from lines

    def traits(self) -> Traits | None:
        """Return what the selection knows of the chunks whose lines were given."""
        return Traits.unpacked(b"".join(self._rows), self._count)


def are_worth_pieces(documents: RecordFile[Document], size: int) -> bool:
    """Return whether the documents give about 2,000 chunks or more, which are worth other processes."""
    return documents.path.stat().st_size >= _WORTH_PROCESSES * size


def _piece_tasks(lines: Iterable[bytes], settings: dict[str, Any]) -> Iterator[Task]:
    for batch, size in _batches(lines, len):
        yield _task("pieces", [{"document": _text(line)} for line in batch], settings, size)


def look_at_chunks(
    chunks: RecordFile[Chunk],
    traits: Traits,
    workers: Workers,
    *,
    seed: int,
    ready: bool,
    advance: Callable[[int], None] = lambda _: None,
) -> None:
    """Enter what the selection knows of each chunk; a few chunks, and what fails, are left to the selection itself.

    Args:
        chunks: All chunks.
        traits: One row per chunk; rows that are known already stay.
        workers: Who looks at the chunks.
        seed: As in ``select``.
        ready: As in ``select``.
        advance: Called with the number of chunks that were looked at.
    """
    new = unseen(traits)
    if len(new) < _WORTH_PROCESSES:
        return
    wanted = np.zeros(len(chunks), np.bool_)
    wanted[new] = True
    sent: deque[int] = deque()
    position = 0
    tasks = _look_tasks(compress(chunks.lines(), wanted.tolist()), sent, {"seed": seed, "ready": ready})
    with contextlib.closing(workers.answers(tasks)) as answers:
        for answer in answers:
            (found,) = answer
            count = sent.popleft()
            rows = Traits.unpacked(base64.b64decode(found.get("traits", "")), count)
            if rows is not None:
                traits.put(np.array(new[position : position + count], np.int32), rows)
                advance(count)
            position += count


def _look_tasks(lines: Iterable[bytes], sent: deque[int], settings: dict[str, Any]) -> Iterator[Task]:
    for batch, size in _batches(lines, len):
        sent.append(len(batch))
        yield _task("look", [{"lines": [_text(line) for line in batch]}], settings, size)
