"""Which passages of a set are near-duplicates of one another: single pairs by their ids."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from goldbench.stages.select.near_duplicates import have_alike_shingles
from goldbench.text.similarity import shingles

_KEPT = 8192
"""Passages whose shingles are remembered."""


class PassageLikeness:
    """Compares passages, and remembers the shingles of those that were compared last.

    Args:
        texts: The texts of the passages by id.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._shingles = lru_cache(maxsize=_KEPT)(lambda doc_id: shingles(texts[doc_id]))

    def are_alike(self, one: str, other: str) -> bool:
        """Return whether two passages are near-duplicates; a passage whose text is not known is like no other."""
        if one not in self._texts or other not in self._texts:
            return False
        return have_alike_shingles(self._shingles(one), self._shingles(other))
