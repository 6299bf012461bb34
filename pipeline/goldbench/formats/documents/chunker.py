"""Documents to chunks, cut in the processes that touch documents."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from goldbench.errors import GoldbenchError, UnreadableDocument
from goldbench.formats.documents.worker_pool import Workers
from goldbench.records.corpus import Chunk, Document
from goldbench.stages.chunk import check_sizes, chunks_of
from goldbench.text.display import shown


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
    with contextlib.closing(workers.answers(_items(documents, sent, size, overlap))) as answers:
        for answer in answers:
            document = sent.popleft()
            (outcome,) = answer
            if missing := outcome.get("missing"):
                raise GoldbenchError(f"{missing} is not installed: install goldbench again")
            if problem := outcome.get("problem"):
                on_failure(UnreadableDocument(shown(document.source), problem))
            else:
                yield from chunks_of(document, outcome["passages"])


def _items(documents: Iterable[Document], sent: deque[Document], size: int, overlap: int) -> Iterator[dict[str, Any]]:
    """Yield what the processes are asked; a document that is a chunk already is not cut."""
    for document in documents:
        sent.append(document)
        text = "" if document.ready else document.text
        yield {"kind": "chunk", "text": text, "size": size, "overlap": overlap, "bytes": len(text)}
