"""Where chunks and stretches of an earlier corpus stand in a later one. No file is opened here.

Documents are read again where they are needed; held are digests, the places of the chunks, and the quoted stretches.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

from goldbench.ports import Stored
from goldbench.records.corpus import Chunk, Document, Evidence, Span
from goldbench.stages.chunk import DIGITS, text_digits
from goldbench.stages.lineage import Passage, passages_of, successors
from goldbench.stages.project import Cuts
from goldbench.text.evidence import Place, Stretch

GONE = "no longer in the documents"
SEVERAL = "in several places of the documents, with equal surroundings"
OTHER = "no longer where it was, and the one place that has the same words may be another one"
TELLING = 40
"""Characters of a stretch that are enough to tell it from another one, if nothing around it does."""

Key: TypeAlias = tuple[str, int, int]
"""The document, the first character, and the character after the last one of a stretch."""


def key_of(span: Span) -> Key:
    """Return what a stretch of the earlier corpus is looked up by."""
    return span.doc_id, span.start, span.end


class Part(NamedTuple):
    """The chunks of one document: the position of the first one, and the ids of all."""

    first: int
    chunk_ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents of a set and its chunks in the order of the text; both are read more than once, and never held.

    ``alike`` may hold the chunks of documents that are, with their chunks, exactly those of the other corpus. They are
    read only where needed; each id must end in the digest of its text, as ``stages.chunk`` makes it.
    """

    documents: Stored[Document]
    chunks: Stored[Chunk]
    alike: Mapping[str, Part] = field(default_factory=dict)

    def others(self) -> Iterator[tuple[int, Chunk]]:
        """Yield the chunks of the other documents, with their positions."""
        if not self.alike:
            yield from enumerate(self.chunks)
            return
        is_alike = bytearray(len(self.chunks))
        for part in self.alike.values():
            is_alike[part.first : part.first + len(part.chunk_ids)] = b"\1" * len(part.chunk_ids)
        yield from ((position, self.chunks.at(position)) for position, one in enumerate(is_alike) if not one)


@dataclass(slots=True)
class _Outline:
    """What is held of a corpus. ``digests`` are those of the documents' texts, exactly as they are.

    ``passages`` are the chunks of documents that are not as they are in the other corpus; ``copies`` holds the only
    chunk with a text among all others by the hash of the text, None if there are several.
    """

    corpus: Corpus
    documents: dict[str, int] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    digests: dict[str, bytes] = field(default_factory=dict)
    positions: dict[str, int] = field(default_factory=dict)
    _cuts: dict[str, Cuts] = field(default_factory=dict)
    passages: list[Passage] = field(default_factory=list)
    hashes: dict[str, int] = field(default_factory=dict)
    copies: dict[int, str | None] = field(default_factory=dict)

    @classmethod
    def of(cls, corpus: Corpus) -> _Outline:
        found = cls(corpus)
        for position, document in enumerate(corpus.documents):
            found.documents[document.doc_id] = position
            found.sources[document.doc_id] = document.source
            text = document.text.encode("utf-8", "surrogatepass")
            found.digests[document.doc_id] = blake2b(text, digest_size=16).digest()
        return found

    def read(self, unchanged: Container[str]) -> None:
        """Add the chunks, with the digests of those whose document changed."""
        for part in self.corpus.alike.values():
            self.positions.update(zip(part.chunk_ids, itertools.count(part.first)))
        self.passages = list(passages_of(self._read(unchanged), self.sources))

    def cuts(self, doc_id: str) -> Cuts | None:
        """Return the chunks of a document with their spans, None if there is none."""
        part = self.corpus.alike.get(doc_id)
        if part is not None and doc_id not in self._cuts:
            spans = [self.corpus.chunks.at(part.first + number).span for number in range(len(part.chunk_ids))]
            self._cuts[doc_id] = Cuts(part.chunk_ids, spans)
        return self._cuts.get(doc_id)

    def add_copies(self, digests: Container[str]) -> None:
        """Add those of the chunks that were not read whose ids have one of these digests of a text."""
        for part in self.corpus.alike.values():
            for position, chunk_id in enumerate(part.chunk_ids, start=part.first):
                if text_digits(chunk_id) in digests:
                    self._copy(chunk_id, hash(self.corpus.chunks.at(position).text))

    def _copy(self, chunk_id: str, told: int) -> None:
        self.copies[told] = None if told in self.copies else chunk_id

    def _read(self, unchanged: Container[str]) -> Iterator[Chunk]:
        """Keep the ids and spans of the chunks, and yield those whose document changed."""
        lists: dict[str, tuple[list[str], list[Span]]] = {}
        for position, chunk in self.corpus.others():
            self.positions[chunk.chunk_id] = position
            ids, spans = lists.setdefault(chunk.span.doc_id, ([], []))
            ids.append(chunk.chunk_id)
            spans.append(chunk.span)
            if chunk.span.doc_id in unchanged:
                self._copy(chunk.chunk_id, hash(chunk.text))
            else:
                self.hashes[chunk.chunk_id] = hash(chunk.text)
                yield chunk
        self._cuts = {doc_id: Cuts(*found) for doc_id, found in lists.items()}


class Whereabouts:
    """What of an earlier corpus stands where in a later one.

    Args:
        earlier: The corpus before the documents changed.
        later: The corpus of today.
    """

    def __init__(self, earlier: Corpus, later: Corpus) -> None:
        self._earlier, self._later = earlier, later
        self._before, self._now = _Outline.of(earlier), _Outline.of(later)
        before, now = self._before.digests, self._now.digests
        self._unchanged = {doc_id for doc_id, digest in before.items() if now.get(doc_id) == digest}
        self._before.read(self._unchanged)
        self._now.read(self._unchanged)
        self.same: Mapping[str, str] = self._successors()
        """The later id of each earlier chunk whose text is still there."""
        self.positions: Mapping[str, int] = self._now.positions
        """The position of each later chunk, from 0."""
        self._near = self._counterparts()

    def _successors(self) -> dict[str, str]:
        """Return the later id of each earlier chunk whose text is still there.

        In a document that did not change it is the chunk with the same span. Others are looked for as in
        ``stages.lineage`` among the chunks of changed documents, where a text may have come from them; then among all
        others, where only one may have the text.
        """
        alike = self._earlier.alike
        found = {chunk_id: chunk_id for part in alike.values() for chunk_id in part.chunk_ids}
        for doc_id in self._unchanged - alike.keys():
            before, now = self._before.cuts(doc_id), self._now.cuts(doc_id)
            pairs = zip(before.chunk_ids, before.spans, strict=True) if before and now else ()
            found |= {chunk_id: same for chunk_id, span in pairs if now and (same := now.same(span)) is not None}
        found |= successors(self._before.passages, self._now.passages)
        lost = [passage for passage in self._before.passages if passage.chunk_id not in found]
        self._now.add_copies({passage.digest.hex()[:DIGITS] for passage in lost})
        for chunk_id in (passage.chunk_id for passage in lost):
            if (copy := self._now.copies.get(self._before.hashes[chunk_id])) is not None:
                found[chunk_id] = copy
        return found

    def cuts(self, doc_id: str) -> Cuts | None:
        """Return the chunks of a document of the later corpus, None if there is none."""
        return self._now.cuts(doc_id)

    @property
    def new_documents(self) -> set[str]:
        """The documents of the later corpus whose source was not in the earlier one."""
        before = set(self._before.sources.values())
        return {doc_id for doc_id, source in self._now.sources.items() if source not in before}

    def earlier_cuts(self, span: Span) -> Iterator[tuple[str, Span]]:
        """Yield the earlier chunks, with their spans, that share a character with a stretch of the earlier corpus."""
        cuts = self._before.cuts(span.doc_id)
        return cuts.meeting(span) if cuts else iter(())

    def _counterparts(self) -> dict[str, set[str]]:
        """Return the later documents that an earlier one lives on in: its own, and those that hold its passages."""
        by_source = {source: doc_id for doc_id, source in self._now.sources.items()}
        holder = {passage.chunk_id: passage.doc_id for passage in self._now.passages}
        found = {
            doc_id: {one for one in (doc_id, by_source.get(source)) if one in self._now.sources and one is not None}
            for doc_id, source in self._before.sources.items()
            if doc_id not in self._unchanged
        }
        for passage in self._before.passages:
            if (heir := holder.get(self.same.get(passage.chunk_id, ""))) is not None:
                found[passage.doc_id].add(heir)
        return found

    def earlier_chunks(self, wanted: Iterable[str]) -> Iterator[Chunk]:
        """Yield chunks of the earlier corpus that are named."""
        for position in sorted(self._before.positions[one] for one in wanted if one in self._before.positions):
            yield self._earlier.chunks.at(position)

    def document(self, doc_id: str) -> str | None:
        """Return the later document at the place of an earlier one, else the one that holds passages of it, or None."""
        if doc_id in self._now.sources:
            return doc_id
        return min(self._near.get(doc_id, ()), default=None)

    def of(self, wanted: Iterable[Evidence]) -> dict[Key, Evidence | str]:
        """Return where stretches of the earlier corpus stand today, or why that cannot be told.

        A stretch of an unchanged document or chunk stands where it stood in it. Another one is looked for in the
        documents that its own lives on in, then in all: taken is the place with the longest unchanged surroundings, and
        if nothing around it is left, the only place. A short stretch that stood in several places must have some of its
        surroundings left.

        Args:
            wanted: The stretches, with their words.
        """
        found: dict[Key, Evidence | str] = {}
        rest: dict[Key, Evidence] = {}
        for one in wanted:
            if one.doc_id in self._unchanged:
                found[key_of(one)] = one
            else:
                rest[key_of(one)] = one
        found |= self._in_same_chunks(rest)
        sought = self._stretches({key: one for key, one in rest.items() if key not in found})
        near = self._search(sought, anywhere=False)
        found |= {key: place for key, places in near.items() if (place := _best(places)) is not None}
        left = {key: stretch for key, stretch in sought.items() if key not in found}
        everywhere = self._search(left, anywhere=True)
        for key in left:
            found[key] = _best(everywhere[key]) or _only(near[key]) or _only(everywhere[key]) or _why(everywhere[key])
        lone = [
            key for key, stretch in left.items() if len(stretch.quote) < TELLING and not isinstance(found[key], str)
        ]
        return found | dict.fromkeys(
            self._ambiguous({key: left[key].quote for key in lone if not _best(everywhere[key])}), OTHER
        )

    def _in_same_chunks(self, wanted: Mapping[Key, Evidence]) -> dict[Key, Evidence]:
        """Return the stretches that lie in a chunk whose text is still there, at their place in it."""
        holders: dict[str, list[tuple[Key, int]]] = {}
        for key, one in wanted.items():
            for chunk_id, span in self.earlier_cuts(one):
                if span.contains(one) and chunk_id in self.same:
                    holders.setdefault(self.same[chunk_id], []).append((key, one.start - span.start))
        found: dict[Key, Evidence] = {}
        for chunk_id, held in holders.items():
            chunk = self._later.chunks.at(self.positions[chunk_id])
            for key, offset in held:
                place = chunk.evidence(offset, offset + len(wanted[key].quote))
                if place.quote == wanted[key].quote:
                    found.setdefault(key, place)
        return found

    def _ambiguous(self, quotes: Mapping[Key, str]) -> list[Key]:
        """Return the stretches that stood in several places of the earlier corpus."""
        stood: Counter[Key] = Counter()
        for document in self._earlier.documents if quotes else ():
            stood.update({key: count for key, quote in quotes.items() if (count := document.text.count(quote))})
        return [key for key, count in stood.items() if count > 1]

    def _stretches(self, wanted: Mapping[Key, Evidence]) -> dict[Key, Stretch]:
        """Return the stretches with what stood around them."""
        by_document: dict[str, list[Evidence]] = {}
        for one in wanted.values():
            by_document.setdefault(one.doc_id, []).append(one)
        documents = ((self._before_text(doc_id), held) for doc_id, held in by_document.items())
        return {key_of(one): Stretch.of(text, one.start, one.end) for text, held in documents for one in held}

    def _before_text(self, doc_id: str) -> str:
        return self._earlier.documents.at(self._before.documents[doc_id]).text

    def _search(self, sought: Mapping[Key, Stretch], *, anywhere: bool) -> dict[Key, list[tuple[Place, Evidence]]]:
        """Return all places of stretches in the documents that theirs lives on in, or in all documents."""
        found: dict[Key, list[tuple[Place, Evidence]]] = {key: [] for key in sought}
        readers: dict[str, list[Key]] = {}
        for key in () if anywhere else sought:
            for doc_id in self._near.get(key[0], ()):
                readers.setdefault(doc_id, []).append(key)
        plain = {key: _plain(stretch.quote) for key, stretch in sought.items()}
        near = (self._later.documents.at(self._now.documents[doc_id]) for doc_id in readers)
        for document in self._later.documents if anywhere and sought else near:
            asked: Iterable[Key] = sought if anywhere else readers[document.doc_id]
            text = _plain(document.text)
            for key in asked:
                if plain[key] and plain[key] in text:
                    for place in sought[key].places(document.text):
                        span = Span(doc_id=document.doc_id, start=place.start, end=place.end)
                        quote = document.text[place.start : place.end]
                        found[key].append((place, Evidence(**span.model_dump(), quote=quote)))
        return found


def _plain(text: str) -> str:
    return " ".join((text if text.isascii() else unicodedata.normalize("NFC", text)).split())


def _best(places: Sequence[tuple[Place, Evidence]]) -> Evidence | None:
    """Return the place whose surroundings tell it from all others."""
    ranked = sorted(places, key=lambda one: one[0].alike, reverse=True)
    told = ranked and ranked[0][0].sure and (len(ranked) == 1 or ranked[0][0].alike > ranked[1][0].alike)
    return ranked[0][1] if told else None


def _only(places: Sequence[tuple[Place, Evidence]]) -> Evidence | None:
    return places[0][1] if len(places) == 1 else None


def _why(places: Sequence[object]) -> str:
    return SEVERAL if places else GONE
