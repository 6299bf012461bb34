"""Which passages of a set are near-duplicates of one another: single pairs by their ids."""

from __future__ import annotations

from collections.abc import Mapping

from goldbench.stages.select.near_duplicates import have_alike_shingles
from goldbench.text.similarity import Shingles, shingles

_KEPT = 1 << 22
"""Most shingles that are remembered (32 MB); beyond them all are forgotten, and texts are taken apart again."""


class PassageLikeness:
    """Compares passages, and remembers the shingles of those that were compared.

    Args:
        texts: The texts of the passages by id.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._kept: dict[str, Shingles] = {}
        self._room = _KEPT

    def are_alike(self, one: str, other: str) -> bool:
        """Return whether two passages are near-duplicates; a passage whose text is not known is like no other."""
        if one not in self._texts or other not in self._texts:
            return False
        return have_alike_shingles(self._shingles(one), self._shingles(other))

    def _shingles(self, doc_id: str) -> Shingles:
        found = self._kept.get(doc_id)
        if found is None:
            found = shingles(self._texts[doc_id])
            if len(found) > self._room:
                self._kept, self._room = {}, _KEPT
            if len(found) <= self._room:
                self._kept[doc_id] = found
                self._room -= len(found)
        return found
