"""Which sentences stand in a corpus once: only those can be taken out of it."""

from __future__ import annotations

import numpy as np
import xxhash

from pipeline.offline.stretches import pieces
from schemas.corpus import Chunk

_SLOTS = 2**25


class SentencesSeen:
    """Counts sentences, in fixed memory (32 MB), by their words.

    Two sentences that share a slot count as one that stands twice: a sentence may be passed over, none is taken for
    unique that is not. A sentence that two neighbouring chunks of a document share is seen once.
    """

    def __init__(self) -> None:
        self._counts = np.zeros(_SLOTS, np.uint8)
        self._doc_id, self._reached = "", 0

    def add(self, chunk: Chunk) -> None:
        """Count the sentences of the next chunk; those of one document come in the order of its text."""
        if chunk.span.doc_id != self._doc_id:
            self._doc_id, self._reached = chunk.span.doc_id, 0
        for start, end in pieces(chunk.text):
            if chunk.span.start + start >= self._reached:
                self._reached = chunk.span.start + end
                slot = _slot(chunk.text[start:end])
                self._counts[slot] = min(2, int(self._counts[slot]) + 1)

    def once(self, sentence: str) -> bool:
        """Whether the corpus has the sentence once."""
        return bool(self._counts[_slot(sentence)] == 1)


def _slot(sentence: str) -> int:
    words = " ".join(sentence.casefold().split())
    return int(xxhash.xxh64_intdigest(words.encode("utf-8", "surrogatepass"))) % _SLOTS
