"""The passages of a text: where LangChain's recursive splitter cuts it, with every place proven, and their headings.

The only place that calls the splitter. It imports nothing else that is slow, because the processes that touch documents
call it (``goldbench.formats.documents.worker``).
"""

from __future__ import annotations

import re
import sys
from abc import ABC
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.machinery import PathFinder
from itertools import accumulate, pairwise
from types import ModuleType
from typing import Any, cast

from goldbench.text.alignment import locate
from goldbench.text.boundaries import separators
from goldbench.text.headings import headings, path_at

_PACKAGE = "langchain_text_splitters"

Passage = tuple[int, int, tuple[str, ...]]
"""The first character of a passage, the character after it, and the headings above it, outermost first."""


def passages(text: str, *, size: int, overlap: int, length: Callable[[str], int] = len) -> list[Passage]:
    """Return the passages of a text, in order.

    Args:
        text: The text.
        size: As in `spans`.
        overlap: As in `spans`.
        length: As in `spans`.

    Raises:
        RuntimeError: As in `spans`.
    """
    found = headings(text)
    places = spans(text, size=size, overlap=overlap, length=length)
    return [(start, end, path_at(found, text, start, end)) for start, end in places]


def spans(text: str, *, size: int, overlap: int, length: Callable[[str], int]) -> list[tuple[int, int]]:
    """Return the start and end of every passage of a text, both strictly increasing.

    Args:
        text: The text.
        size: Longest passage, in units of ``length``, at least 1.
        overlap: Longest text that two neighbours may share, in units of ``length``, from 0 to ``size - 1``.
        length: Measures a text; by default in characters.

    Raises:
        RuntimeError: The splitter's pieces could not be proven to be spans that hold all of the text.
    """
    if not text or text.isspace():
        return []
    cuts = separators(text)
    # Untrimmed pieces follow one another without a gap, so their places can be found; they are trimmed below.
    splitter = _splitter()(
        separators=cuts,
        is_separator_regex=True,
        keep_separator=True,
        strip_whitespace=False,
        chunk_size=size,
        chunk_overlap=overlap,
        length_function=length,
    )
    pieces = splitter.split_text(text)
    starts = splitter.places
    if len(starts) != len(pieces) or splitter.read != len(text):  # a single character was longer than a passage
        starts = locate(text, pieces, shares=_sharing(cuts, overlap, length), most=overlap if length is len else None)
    trimmed = _trim(text, [(start, start + len(piece)) for start, piece in zip(starts, pieces, strict=True)])
    _prove(text, trimmed)
    return trimmed


def prepare_alone() -> None:
    """Import the splitter without the rest of its packages, which take far longer; only in a process of its own.

    Other code of the process would find these packages empty. If they are laid out in another way than expected, they
    are imported as a whole.
    """
    package, documents = ModuleType(_PACKAGE), ModuleType("langchain_core.documents")
    found = PathFinder.find_spec(_PACKAGE)
    package.__path__ = list(found.submodule_search_locations or ()) if found else []
    documents.__dict__.update(BaseDocumentTransformer=type("BaseDocumentTransformer", (ABC,), {}), Document=object)
    sys.modules |= {_PACKAGE: package, documents.__name__: documents}
    try:
        from langchain_text_splitters.character import RecursiveCharacterTextSplitter
    except (ImportError, AttributeError, TypeError):
        for name in [name for name in sys.modules if name.partition(".")[0] in {_PACKAGE, "langchain_core"}]:
            del sys.modules[name]
    else:
        package.__dict__["RecursiveCharacterTextSplitter"] = RecursiveCharacterTextSplitter
    _splitter()


class _Part(str):
    """A part of a text, and its place in it."""

    __slots__ = ("place",)
    place: int


def _part(text: str, place: int) -> _Part:
    part = _Part(text)
    part.place = place
    return part


@cache
def _splitter() -> Any:  # noqa: ANN401 - a class made of one that is slow to import
    """Return LangChain's splitter, which notes the places of its pieces.

    Parts are joined in a faster way, since theirs copies all parts of a passage for each. The parts of a text come in
    order and without a gap, so their lengths tell where they stand.
    """
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # slow to import

    class Splitter(RecursiveCharacterTextSplitter):
        def split_text(self, text: str) -> list[str]:
            self.places: list[int] = []
            self.read = 0
            found: list[str] = super().split_text(text)
            return found

        def _merge_splits(self, splits: Iterable[str], separator: str) -> list[str]:
            parts, begin = list(splits), self.read
            self.read += sum(map(len, parts))
            if separator or self._length_function is not len:
                places = accumulate(map(len, parts), initial=begin)
                found: list[str] = super()._merge_splits(map(_part, parts, places), separator)
                return found
            text = "".join(parts)
            spans = _joined(parts, size=self._chunk_size, overlap=self._chunk_overlap)
            self.places += [begin + start for start, _ in spans]
            return [text[start:end] for start, end in spans]

        def _join_docs(self, docs: list[str], separator: str) -> str | None:
            text: str | None = super()._join_docs(docs, separator)
            if text is not None:
                self.places.append(cast("_Part", docs[0]).place)
            return text

    return Splitter


def _joined(parts: Sequence[str], *, size: int, overlap: int) -> list[tuple[int, int]]:
    """Return start and end of neighbouring parts joined up to the size, as many as fit, with the overlap between two.

    They count in the text that all parts make.
    """
    bounds, joined = [0, *accumulate(map(len, parts))], []
    first, last = 0, len(parts)
    while first < last:
        end = max(first + 1, bisect_right(bounds, bounds[first] + size) - 1)
        joined.append((bounds[first], bounds[end]))
        if end == last:
            break
        shared = bisect_left(bounds, bounds[end] - overlap)
        fitting = bisect_left(bounds, bounds[end + 1] - size)
        first = min(end, max(shared, fitting))
    return joined


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
