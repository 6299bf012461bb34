"""Documents cut into chunks by LangChain's recursive splitter, extended to more scripts, with every span proven.

Reads: documents. Writes: chunks, in the order of the documents and of the text. Fails: ``UsageError`` if size or
overlap is out of range; ``RuntimeError`` if a span cannot be proven, which is a bug.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator

from goldbench.errors import UsageError
from goldbench.records.corpus import Chunk, Document, Span
from goldbench.text.cuts import Passage, passages
from goldbench.text.similarity import wording_digest

MAX_ID = 200
"""Most characters of a chunk's id; a longer document id is cut."""
DIGITS = 12
"""Hexadecimal digits of a chunk's text in its id; chunks of a document that share them are numbered."""


def chunk_documents(documents: Iterable[Document], *, size: int = 1000, overlap: int = 100) -> Iterator[Chunk]:
    """Yield the chunks of each document, in order; a document marked ``ready`` is one chunk.

    For a text without marks of other scripts the chunks are those of ``RecursiveCharacterTextSplitter(chunk_size=size,
    chunk_overlap=overlap)``, white space trimmed, without those that lie within a neighbour. Every chunk brings text
    that no earlier chunk holds, and every character that is not white space lies in a chunk.

    Args:
        documents: The documents; one at a time is held in memory.
        size: Characters of the longest chunk, at least 1.
        overlap: Most characters that two neighbours may share, from 0 to ``size - 1``.

    Raises:
        UsageError: ``size`` or ``overlap`` is out of range.
        RuntimeError: A document's chunks could not be proven to be spans that hold all of its text.
    """
    check_sizes(size, overlap)
    for document in documents:
        try:
            text = "" if document.ready else document.text
            cut_passages = passages(text, size=size, overlap=overlap)
        except RuntimeError as error:
            raise RuntimeError(f"document {document.doc_id}: {error}") from error
        yield from chunks_of(document, cut_passages)


def chunks_of(document: Document, cut_passages: Iterable[Passage]) -> Iterator[Chunk]:
    """Yield the chunks of a document from the passages of its text; a document marked ``ready`` is one chunk."""
    if document.ready:
        span = Span(doc_id=document.doc_id, start=0, end=len(document.text))
        yield Chunk(chunk_id=document.doc_id, span=span, text=document.text, title=document.title)
        return
    occurrences = Counter[str]()
    for start, end, above in cut_passages:
        text = document.text[start:end]
        digest = wording_digest(text).hex()[:DIGITS]
        occurrences[digest] += 1
        yield Chunk(
            chunk_id=chunk_id(document.doc_id, digest, occurrences[digest]),
            span=Span(doc_id=document.doc_id, start=start, end=end),
            text=text,
            headings=tuple(above),
            title=document.title,
        )


def check_sizes(size: int, overlap: int) -> None:
    """Refuse a size and an overlap that no text can be cut to.

    Raises:
        UsageError: ``size`` is below 1, or ``overlap`` is negative or not below ``size``.
    """
    if size < 1:
        raise UsageError(f"chunk size {size}: must be at least 1")
    if not 0 <= overlap < size:
        raise UsageError(f"chunk overlap {overlap}: must be from 0 to {size - 1}, below the chunk size {size}")


def chunk_id(doc_id: str, digest: str, occurrence: int = 1) -> str:
    """Return ``doc_id:digest``, or ``doc_id:digest.2`` for the second chunk of the document with that digest.

    So a chunk keeps its id when other parts of its document change. A document id that is too long for that is cut
    and ends in its own digest.

    Args:
        doc_id: Id of the document.
        digest: First digits of the digest of the chunk's text.
        occurrence: 1 for the first chunk of the document with that digest, 2 for the second.
    """
    suffix = f":{digest}" if occurrence == 1 else f":{digest}.{occurrence}"
    if len(doc_id) + len(suffix) > MAX_ID:
        cut = hashlib.blake2b(doc_id.encode(), digest_size=16).hexdigest()
        doc_id = f"{doc_id[: MAX_ID - len(suffix) - len(cut) - 1]}~{cut}"
    return doc_id + suffix
