"""Documents cut into chunks by LangChain's recursive splitter, extended to more scripts, with every span proven.

Reads: documents. Writes: chunks, in the order of the documents and of the text. Fails: ``UsageError`` if size or
overlap is out of range; ``RuntimeError`` if a span cannot be proven, which is a bug.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from goldbench.pipeline.errors import UsageError
from goldbench.pipeline.text.alignment import locate
from goldbench.pipeline.text.boundaries import separators
from goldbench.pipeline.text.headings import headings, path_at
from goldbench.pipeline.text.similarity import wording_digest
from goldbench.schemas.corpus import Chunk, Document, Span

MAX_ID = 200
"""Most characters of a chunk's id; a longer document id is cut."""
DIGITS = 12
"""Hexadecimal digits of a chunk's text in its id; chunks of a document that share them are numbered."""


def chunk_documents(
    documents: Iterable[Document], *, size: int = 1000, overlap: int = 100, length: Callable[[str], int] = len
) -> Iterator[Chunk]:
    """Yield the chunks of each document, in order; a document marked ``ready`` is one chunk.

    For a text without marks of other scripts the chunks are those of ``RecursiveCharacterTextSplitter(chunk_size=size,
    chunk_overlap=overlap)``, white space trimmed, without those that lie within a neighbour. Every chunk brings text
    that no earlier chunk holds, and every character that is not white space lies in a chunk.

    Args:
        documents: The documents; one at a time is held in memory.
        size: Longest chunk, in units of ``length``, at least 1.
        overlap: Longest text that two neighbours may share, in units of ``length``, from 0 to ``size - 1``.
        length: Measures a text; by default in characters.

    Raises:
        UsageError: ``size`` or ``overlap`` is out of range.
        RuntimeError: A document's chunks could not be proven to be spans that hold all of its text.
    """
    check_sizes(size, overlap)
    for document in documents:
        if document.ready:
            span = Span(doc_id=document.doc_id, start=0, end=len(document.text))
            yield Chunk(chunk_id=document.doc_id, span=span, text=document.text, title=document.title)
            continue
        found, occurrences = headings(document.text), Counter[str]()
        try:
            places = spans(document.text, size=size, overlap=overlap, length=length)
        except RuntimeError as error:
            raise RuntimeError(f"document {document.doc_id}: {error}") from error
        for start, end in places:
            text = document.text[start:end]
            digest = wording_digest(text).hex()[:DIGITS]
            occurrences[digest] += 1
            yield Chunk(
                chunk_id=chunk_id(document.doc_id, digest, occurrences[digest]),
                span=Span(doc_id=document.doc_id, start=start, end=end),
                text=text,
                headings=path_at(found, document.text, start, end),
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
    place = f":{digest}" if occurrence == 1 else f":{digest}.{occurrence}"
    if len(doc_id) + len(place) > MAX_ID:
        cut = hashlib.blake2b(doc_id.encode(), digest_size=16).hexdigest()
        doc_id = f"{doc_id[: MAX_ID - len(place) - len(cut) - 1]}~{cut}"
    return doc_id + place


def spans(text: str, *, size: int, overlap: int, length: Callable[[str], int]) -> list[tuple[int, int]]:
    """Return the start and end of every chunk of a text, both strictly increasing.

    Args:
        text: The text.
        size: As in `chunk_documents`.
        overlap: As in `chunk_documents`.
        length: As in `chunk_documents`.

    Raises:
        RuntimeError: The splitter's pieces could not be proven to be spans that hold all of the text.
    """
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # slow to import

    if not text or text.isspace():
        return []
    cuts = separators(text)
    # Untrimmed pieces follow one another without a gap, so their places can be found; they are trimmed below.
    pieces = RecursiveCharacterTextSplitter(
        separators=cuts,
        is_separator_regex=True,
        keep_separator=True,
        strip_whitespace=False,
        chunk_size=size,
        chunk_overlap=overlap,
        length_function=length,
    ).split_text(text)
    starts = locate(text, pieces, shares=_sharing(cuts, overlap, length), most=overlap if length is len else None)
    trimmed = _trim(text, [(start, start + len(piece)) for start, piece in zip(starts, pieces, strict=True)])
    _prove(text, trimmed)
    return trimmed


def _sharing(cuts: list[str], overlap: int, length: Callable[[str], int]) -> Callable[[str, int], bool]:
    """Return a function that tells whether the splitter would share the first N characters of a piece with another.

    It shares them if the parts between the coarsest cuts, each measured alone, add up to ``overlap`` at most.
    """
    patterns = [re.compile(cut) for cut in cuts if cut]

    def shares(piece: str, shared: int) -> bool:
        if length is len:
            return shared <= overlap
        cut = next((pattern for pattern in patterns if pattern.search(piece, 1)), None)
        inner = (match.start() for match in cut.finditer(piece, 1, shared)) if cut else range(1, shared)
        places = [0, *inner, shared]
        return sum(length(piece[a:b]) for a, b in pairwise(places)) <= overlap

    return shares


def _trim(text: str, untrimmed: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Trim the white space around the spans and leave out spans that lie within a neighbour."""
    kept: list[tuple[int, int]] = []
    for start, end in untrimmed:
        piece = text[start:end]
        begin = start + len(piece) - len(piece.lstrip())
        stop = start + len(piece.rstrip())
        if stop <= begin or (kept and stop <= kept[-1][1]):
            continue
        while kept and begin <= kept[-1][0]:
            kept.pop()
        kept.append((begin, stop))
    return kept


def _prove(text: str, found: list[tuple[int, int]]) -> None:
    """Check that spans grow at both ends and leave out nothing but white space.

    Raises:
        RuntimeError: They do not.
    """
    reached = 0
    for index, (start, end) in enumerate(found):
        if index and not (found[index - 1][0] < start and found[index - 1][1] < end):
            raise RuntimeError(f"chunk {index}, {start}-{end}, brings nothing new")
        if start > reached and not text[reached:start].isspace():
            raise RuntimeError(f"characters {reached}-{start} are in no chunk")
        reached = end
    if reached < len(text) and not text[reached:].isspace():
        raise RuntimeError(f"characters {reached}-{len(text)} are in no chunk")
