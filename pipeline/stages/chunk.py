"""Documents cut into chunks: LangChain's recursive splitter, told of more scripts, with every span proven.

Reads: documents. Writes: chunks, in the order of the documents and of the text. Fails: ``UsageError`` where size and
overlap exclude one another; ``RuntimeError`` where a span cannot be proven, which is a bug.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from pipeline.errors import UsageError
from pipeline.text.alignment import locate
from pipeline.text.boundaries import separators
from pipeline.text.headings import headings, path_at
from schemas.corpus import Chunk, Document, Span

MAX_ID = 200


def chunk_documents(
    documents: Iterable[Document], *, size: int = 1000, overlap: int = 100, length: Callable[[str], int] = len
) -> Iterator[Chunk]:
    """Yield the chunks of each document, in order; a document marked ``ready`` is one chunk.

    For a text without marks of other scripts the chunks are those of ``RecursiveCharacterTextSplitter(chunk_size=size,
    chunk_overlap=overlap)``, white space trimmed; left out are only those that lie within a neighbour. Every chunk
    brings text that none before it held, and every character that is not white space lies in a chunk.

    Args:
        documents: The documents; held one at a time.
        size: The most a chunk may measure, in units of ``length``, at least 1.
        overlap: The most that two neighbours may share, in units of ``length``, from 0 to ``size - 1``.
        length: Measures a text; characters by default.

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
        found = headings(document.text)
        try:
            places = spans(document.text, size=size, overlap=overlap, length=length)
        except RuntimeError as error:
            raise RuntimeError(f"document {document.doc_id}: {error}") from error
        for start, end in places:
            yield Chunk(
                chunk_id=chunk_id(document.doc_id, start, end),
                span=Span(doc_id=document.doc_id, start=start, end=end),
                text=document.text[start:end],
                headings=path_at(found, document.text, start, end),
                title=document.title,
            )


def check_sizes(size: int, overlap: int) -> None:
    """Refuse sizes no text can be cut to.

    Raises:
        UsageError: ``size`` is below 1, or ``overlap`` is negative or not below ``size``.
    """
    if size < 1:
        raise UsageError(f"chunk size {size}: must be at least 1")
    if not 0 <= overlap < size:
        raise UsageError(f"chunk overlap {overlap}: must be from 0 to {size - 1}, below the chunk size {size}")


def chunk_id(doc_id: str, start: int, end: int) -> str:
    """Return ``doc_id:start-end``; a document id too long for that is cut and completed with its digest."""
    place = f":{start}-{end}"
    if len(doc_id) + len(place) > MAX_ID:
        digest = hashlib.blake2b(doc_id.encode(), digest_size=16).hexdigest()
        doc_id = f"{doc_id[: MAX_ID - len(place) - len(digest) - 1]}~{digest}"
    return doc_id + place


def spans(text: str, *, size: int, overlap: int, length: Callable[[str], int]) -> list[tuple[int, int]]:
    """Return the start and end of every chunk of a text, both strictly increasing.

    Raises:
        RuntimeError: The pieces the splitter gave could not be proven to be spans that hold all of the text.
    """
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # slow to import

    if not text or text.isspace():
        return []
    cuts = separators(text)
    # Untrimmed pieces follow one another without a gap, so that their places can be told; trimmed they are below.
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
    """Return whether the splitter would share so many characters of a piece: its sum over parts is at most ``overlap``.

    The parts are those between the coarsest cuts inside the piece, each measured alone.
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
    """Return the spans without white space around them and without those that lie within a neighbour."""
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
