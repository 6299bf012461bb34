"""Documents to chunks, cut in the processes that touch documents."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from goldbench.errors import GoldbenchError, UnreadableDocument
from goldbench.formats.documents.task_exchange import Task
from goldbench.formats.documents.worker_pool import Workers
from goldbench.records.corpus import Chunk, Document
from goldbench.stages.chunk import check_sizes, chunks_of
from goldbench.text.display import shown

_BATCH, _BATCH_CHARACTERS = 1024, 256 * 2**10
"""Most documents that are sent to a process at once, and their characters, unless one alone has more."""


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
    for batch, size in _batches(documents):
        sent.extend(batch)
        items = [{"text": "" if document.ready else document.text} for document in batch]
        yield Task("chunk", items, settings, size, size / _BATCH_CHARACTERS)


def _batches(documents: Iterable[Document]) -> Iterator[tuple[list[Document], int]]:
    """Yield documents together as long as they fit into one task, and the characters to cut."""
    batch: list[Document] = []
    total = 0
    for document in documents:
        size = 0 if document.ready else len(document.text)
        if batch and (len(batch) >= _BATCH or total + size > _BATCH_CHARACTERS):
            yield batch, total
            batch, total = [], 0
        batch.append(document)
        total += size
    if batch:
        yield batch, total
