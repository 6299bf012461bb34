"""The passages of a text: where LangChain's recursive splitter cuts it, with every place proven, and their headings.

The only place that calls the splitter. It imports nothing else that is slow, because the processes that touch documents
call it (``goldbench.formats.documents.worker``).
"""

from __future__ import annotations

import sys
from abc import ABC
from importlib.machinery import PathFinder
from types import ModuleType

from goldbench.text.alignment import locate
from goldbench.text.boundaries import separators
from goldbench.text.headings import headings, path_at

_PACKAGE = "langchain_text_splitters"

Passage = tuple[int, int, tuple[str, ...]]
"""The first character of a passage, the character after it, and the headings above it, outermost first."""


def passages(text: str, *, size: int, overlap: int) -> list[Passage]:
    """Return the passages of a text, in order; raises as `spans`.

    Args:
        text: The text.
    """
    above = headings(text)
    places = spans(text, size=size, overlap=overlap)
    return [(start, end, path_at(above, text, start, end)) for start, end in places]


def spans(text: str, *, size: int, overlap: int) -> list[tuple[int, int]]:
    """Return the start and end of every passage of a text, both strictly increasing.

    Args:
        text: The text.
        size: Characters of the longest passage, at least 1.
        overlap: Most characters that two neighbours may share, from 0 to ``size - 1``.

    Raises:
        RuntimeError: The splitter's pieces could not be proven to be spans that hold all of the text.
    """
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # slow to import

    if not text or text.isspace():
        return []
    # Untrimmed pieces follow one another without a gap, so their places can be found; they are trimmed below.
    splitter = RecursiveCharacterTextSplitter(
        separators=separators(text),
        is_separator_regex=True,
        keep_separator=True,
        strip_whitespace=False,
        chunk_size=size,
        chunk_overlap=overlap,
    )
    pieces = splitter.split_text(text)
    starts = locate(text, pieces, overlap=overlap)
    trimmed = _trim(text, [(start, start + len(piece)) for start, piece in zip(starts, pieces, strict=True)])
    _prove(text, trimmed)
    return trimmed


def prepare_alone() -> None:
    """Import the splitter without the rest of its packages, which take far longer; only in a process of its own.

    Other code of the process would find these packages empty. If they are laid out in another way than expected, they
    are imported as a whole.
    """
    package = ModuleType(_PACKAGE)
    documents = ModuleType("langchain_core.documents")
    spec = PathFinder.find_spec(_PACKAGE)
    package.__path__ = list(spec.submodule_search_locations or ()) if spec else []
    documents.__dict__.update(BaseDocumentTransformer=type("BaseDocumentTransformer", (ABC,), {}), Document=object)
    sys.modules |= {_PACKAGE: package, documents.__name__: documents}
    try:
        from langchain_text_splitters.character import RecursiveCharacterTextSplitter
    except (ImportError, AttributeError, TypeError):
        for name in [name for name in sys.modules if name.partition(".")[0] in {_PACKAGE, "langchain_core"}]:
            del sys.modules[name]
    else:
        package.__dict__["RecursiveCharacterTextSplitter"] = RecursiveCharacterTextSplitter


def _trim(text: str, untrimmed: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Trim the white space around the spans and leave out spans that lie within a neighbour."""
    trimmed: list[tuple[int, int]] = []
    for start, end in untrimmed:
        piece = text[start:end]
        begin = start + len(piece) - len(piece.lstrip())
        stop = start + len(piece.rstrip())
        if stop <= begin or (trimmed and stop <= trimmed[-1][1]):
            continue
        while trimmed and begin <= trimmed[-1][0]:
            trimmed.pop()
        trimmed.append((begin, stop))
    return trimmed


def _prove(text: str, spans: list[tuple[int, int]]) -> None:
    """Check that spans grow at both ends and leave out nothing but white space.

    Raises:
        RuntimeError: They do not.
    """
    reached = 0
    for index, (start, end) in enumerate(spans):
        if index and not (spans[index - 1][0] < start and spans[index - 1][1] < end):
            raise RuntimeError(f"chunk {index}, {start}-{end}, brings nothing new")
        if start > reached and not text[reached:start].isspace():
            raise RuntimeError(f"characters {reached}-{start} are in no chunk")
        reached = end
    if reached < len(text) and not text[reached:].isspace():
        raise RuntimeError(f"characters {reached}-{len(text)} are in no chunk")
