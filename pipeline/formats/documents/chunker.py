"""Documents to chunks, whose passages are found in the processes that touch documents."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from goldbench.pipeline.errors import GoldbenchError, UnreadableDocument
from goldbench.pipeline.formats.documents.worker_pool import Task, Workers
from goldbench.pipeline.stages.chunk import check_sizes, chunks_of
from goldbench.pipeline.text.display import shown
from goldbench.schemas.corpus import Chunk, Document

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
    items: list[dict[str, Any]] = []
    size = 0
    for document in documents:
        text = "" if document.ready else document.text
        if items and (len(items) >= _BATCH or size + len(text) > _BATCH_CHARACTERS):
            yield Task("chunk", items, settings, size, size / _BATCH_CHARACTERS)
            items, size = [], 0
        sent.append(document)
        items.append({"text": text})
        size += len(text)
    if items:
        yield Task("chunk", items, settings, size, size / _BATCH_CHARACTERS)
