"""Where chunks and stretches of an earlier corpus stand in a later one. No file is opened here.

Documents are read again where they are needed; held are digests, the places of the chunks, and the quoted stretches.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TypeAlias

from goldbench.pipeline.stages.lineage import Passage, passages_of, successors
from goldbench.pipeline.stages.project import Cuts
from goldbench.pipeline.text.evidence import Place, Stretch
from goldbench.schemas.corpus import Chunk, Document, Evidence, Span

GONE = "no longer in the documents"
SEVERAL = "in several places of the documents, and nothing around it tells which one is meant"
OTHER = "no longer where it was, and the one place that has the same words may be another one"
TELLING = 40
"""Characters of a stretch that are enough to tell it from another one, if nothing around it does."""

Key: TypeAlias = tuple[str, int, int]
"""The document, the first character, and the character after the last one of a stretch."""


def key_of(span: Span) -> Key:
    """Return what a stretch of the earlier corpus is looked up by."""
    return span.doc_id, span.start, span.end


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents of a set and its chunks in the order of the text; both are iterated over more than once."""

    documents: Iterable[Document]
    chunks: Iterable[Chunk]


@dataclass(slots=True)
class _Outline:
    """What is held of a corpus. ``digests`` are those of the documents' texts, exactly as they are."""

    sources: dict[str, str] = field(default_factory=dict)
    digests: dict[str, bytes] = field(default_factory=dict)
    passages: list[Passage] = field(default_factory=list)
    cuts: dict[str, Cuts] = field(default_factory=dict)

    @classmethod
    def of(cls, corpus: Corpus) -> _Outline:
        found = cls()
        for document in corpus.documents:
            found.sources[document.doc_id] = document.source
            text = document.text.encode("utf-8", "surrogatepass")
            found.digests[document.doc_id] = blake2b(text, digest_size=16).digest()
        found.passages = list(passages_of(found._cut(corpus.chunks), found.sources))
        return found

    def _cut(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield the chunks and keep their ids and spans."""
        lists: dict[str, tuple[list[str], list[Span]]] = {}
        for chunk in chunks:
            ids, spans = lists.setdefault(chunk.span.doc_id, ([], []))
            ids.append(chunk.chunk_id)
            spans.append(chunk.span)
            yield chunk
        self.cuts = {doc_id: Cuts(*found) for doc_id, found in lists.items()}


class Whereabouts:
    """What of an earlier corpus stands where in a later one.

    Args:
        earlier: The corpus before the documents changed.
        later: The corpus of today.
    """

    def __init__(self, earlier: Corpus, later: Corpus) -> None:
        self._earlier, self._later = earlier, later
        self._before, self._now = _Outline.of(earlier), _Outline.of(later)
        self.same: Mapping[str, str] = successors(self._before.passages, self._now.passages)
        """The later id of each earlier chunk whose text is still there; see ``stages.lineage``."""
        self.positions = {passage.chunk_id: number for number, passage in enumerate(self._now.passages)}
        """The position of each later chunk, from 0."""
        self._near = self._counterparts()

    @property
    def cuts(self) -> Mapping[str, Cuts]:
        """The chunks of the later corpus, by document."""
        return self._now.cuts

    def earlier_cuts(self, span: Span) -> Iterator[tuple[str, Span]]:
        """Yield the earlier chunks, with their spans, that share a character with a stretch of the earlier corpus."""
        cuts = self._before.cuts.get(span.doc_id)
        return cuts.meeting(span) if cuts else iter(())

    def _counterparts(self) -> dict[str, set[str]]:
        """Return the later documents that an earlier one lives on in: its own, and those that hold its passages."""
        by_source = {source: doc_id for doc_id, source in self._now.sources.items()}
        holder = {passage.chunk_id: passage.doc_id for passage in self._now.passages}
        found = {
            doc_id: {one for one in (doc_id, by_source.get(source)) if one in self._now.sources and one is not None}
            for doc_id, source in self._before.sources.items()
            if not self._is_unchanged(doc_id)
        }
        for passage in self._before.passages:
            if passage.doc_id in found and passage.chunk_id in self.same:
                found[passage.doc_id].add(holder[self.same[passage.chunk_id]])
        return found

    def _is_unchanged(self, doc_id: str) -> bool:
        return self._before.digests.get(doc_id) == self._now.digests.get(doc_id, b"")

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
            if self._is_unchanged(one.doc_id):
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
        for chunk in self._later.chunks if holders else ():
            for key, offset in holders.get(chunk.chunk_id, ()):
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
        return {
            key_of(one): Stretch.of(document.text, one.start, one.end)
            for document in (self._earlier.documents if wanted else ())
            for one in by_document.get(document.doc_id, ())
        }

    def _search(self, sought: Mapping[Key, Stretch], *, anywhere: bool) -> dict[Key, list[tuple[Place, Evidence]]]:
        """Return all places of stretches in the documents that theirs lives on in, or in all documents."""
        found: dict[Key, list[tuple[Place, Evidence]]] = {key: [] for key in sought}
        readers: dict[str, list[Key]] = {}
        for key in () if anywhere else sought:
            for doc_id in self._near.get(key[0], ()):
                readers.setdefault(doc_id, []).append(key)
        plain = {key: _plain(stretch.quote) for key, stretch in sought.items()}
        for document in self._later.documents if sought else ():
            asked: Iterable[Key] = sought if anywhere else readers.get(document.doc_id, ())
            text = _plain(document.text) if asked else ""
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
