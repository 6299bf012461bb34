"""Lineage: what of an earlier corpus is left in a later one, whatever its ids are.

Reads: the chunks and documents of two corpora. Writes: the later id of each chunk whose text is still there.
Fails: never; a chunk whose text is gone, or stands in several files that are equally near, has no later id.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from goldbench.records.corpus import Chunk, Document
from goldbench.text.similarity import shingles, wording_digest

RARE = 50
"""Most chunks of a corpus with one text that still tells from which document another was made; a licence does not."""
EDITED_COMPARED = 100
"""Documents that are compared by their words if none is left as it was."""
CHARACTERS_COMPARED = 100_000
"""Characters of an earlier document that are looked for in its edited form."""


@dataclass(frozen=True, slots=True)
class KnownPassage:
    """A chunk as it is recognised: by its id, the place of its document, and the digest of its text."""

    chunk_id: str
    doc_id: str
    source: str
    digest: bytes


def passages_of(chunks: Iterable[Chunk], sources: Mapping[str, str]) -> Iterator[KnownPassage]:
    """Yield the chunks of a corpus as they are recognised.

    Args:
        chunks: The chunks, in the order of the text.
        sources: The source of each document, by its id.
    """
    for chunk in chunks:
        doc_id = chunk.span.doc_id
        yield KnownPassage(chunk.chunk_id, doc_id, sources[doc_id], wording_digest(chunk.text))


def successors(earlier: Iterable[KnownPassage], later: Iterable[KnownPassage]) -> dict[str, str]:
    """Return the later id of each earlier chunk whose text is still there, by its earlier id.

    It is the chunk with the same id and text; else with the same text in the same source, the second of two for the
    second; else with the same text in another source, as in a file that was renamed, split or joined with another. Of
    several such sources the one that shares most texts with the earlier document is taken; if two share equally many,
    none is.

    Args:
        earlier: The chunks of the earlier corpus, in the order of the text.
        later: The chunks of the later corpus, in the order of the text.
    """
    before = list(earlier)
    now = _ChunkIndex()
    for passage in later:
        now.add(passage)
    kinship = _Kinship(before, now)
    met: Counter[tuple[str, bytes]] = Counter()
    successor_ids: dict[str, str] = {}
    for passage in before:
        turn = met[passage.source, passage.digest]
        met[passage.source, passage.digest] += 1
        if now.digests.get(passage.chunk_id) == passage.digest:
            successor_ids[passage.chunk_id] = passage.chunk_id
            continue
        there = now.in_source.get((passage.source, passage.digest)) or kinship.elsewhere(passage)
        if there:
            successor_ids[passage.chunk_id] = there[min(turn, len(there) - 1)]
    return successor_ids


@dataclass(slots=True)
class _ChunkIndex:
    """The chunks of the later corpus, by all they are looked up by."""

    digests: dict[str, bytes] = field(default_factory=dict)
    in_source: defaultdict[tuple[str, bytes], list[str]] = field(default_factory=lambda: defaultdict(list))
    in_document: defaultdict[bytes, dict[str, list[str]]] = field(default_factory=lambda: defaultdict(dict))
    """The ids of the chunks with a text, by its digest and their document."""

    def add(self, passage: KnownPassage) -> None:
        self.digests[passage.chunk_id] = passage.digest
        self.in_source[passage.source, passage.digest].append(passage.chunk_id)
        self.in_document[passage.digest].setdefault(passage.doc_id, []).append(passage.chunk_id)


class _Kinship:
    """How many texts each later document shares with an earlier one; counted when it is asked for."""

    def __init__(self, before: Iterable[KnownPassage], now: _ChunkIndex) -> None:
        self._now = now
        self._said: defaultdict[str, set[bytes]] = defaultdict(set)
        for passage in before:
            self._said[passage.doc_id].add(passage.digest)
        self._shared: dict[str, Counter[str]] = {}

    def elsewhere(self, passage: KnownPassage) -> list[str]:
        """Return the chunks with the same text in the nearest document, none if two are equally near."""
        holders = self._now.in_document.get(passage.digest, {})
        if len(holders) == 1:
            return next(iter(holders.values()))
        shared = self._of(passage.doc_id)
        near = Counter({doc_id: count for doc_id, count in shared.items() if doc_id in holders}).most_common(2)
        if not near or (len(near) == 2 and near[0][1] == near[1][1]):
            return []
        return holders[near[0][0]]

    def _of(self, doc_id: str) -> Counter[str]:
        if doc_id not in self._shared:
            all_holders = (self._now.in_document.get(digest, {}) for digest in self._said[doc_id])
            self._shared[doc_id] = Counter(
                itertools.chain.from_iterable(holders for holders in all_holders if len(holders) <= RARE)
            )
        return self._shared[doc_id]


def have_one_in_common(earlier: Callable[[], Iterable[Document]], later: Iterable[Document]) -> bool:
    """Whether a document of an earlier corpus is left in a later one: its text, or at its source half of its words.

    Args:
        earlier: Returns the documents of the earlier corpus, each time it is called.
        later: The documents of the later corpus; iterated over more than once if no text is left as it was.
    """
    texts = {wording_digest(document.text) for document in earlier()}
    if not texts or any(wording_digest(document.text) in texts for document in later):
        return True
    sources = {document.source for document in later}
    at_source = itertools.islice((document for document in earlier() if document.source in sources), EDITED_COMPARED)
    before = {document.source: document.text for document in at_source}
    return any(_is_edited(before[document.source], document.text) for document in later if document.source in before)


def _is_edited(before: str, after: str) -> bool:
    """Whether at least half of what a text said, by its sequences of words, is in another one."""
    earlier_shingles = shingles(before[:CHARACTERS_COMPARED])
    return len(earlier_shingles) > 0 and 2 * len(
        np.intersect1d(earlier_shingles, shingles(after), assume_unique=True)
    ) >= len(earlier_shingles)
