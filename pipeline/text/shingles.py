"""What a text shares with another: its shingles, and the Jaccard similarity of two sets of them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from pipeline.text.scripts import is_spaceless
from pipeline.text.words import terms

Shingles: TypeAlias = npt.NDArray[np.uint64]

WORDS = 5
"""Terms in a shingle, where words stand between spaces."""
CHARACTERS = 8
"""Characters in a shingle of a script without spaces.

A changed word of 1.6 characters (the usual length of a Chinese one) touches 8 + 0.6 of the 1.6 w shingles of a text of
w words, which is the share that 5 of w are: two texts that differ in as many words are about as similar in any script.
"""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xFF51AFD7ED558CCD)


def shingles(text: str) -> Shingles:
    """Return the 64-bit hashes of the text's shingles, sorted, each once; none for a text without a letter or digit.

    Case, punctuation and white space do not count. A text shorter than a shingle is one shingle. Different shingles
    share a hash about once in 10**19 pairs; equality of hashes is taken for equality throughout.
    """
    tokens = terms(text)
    if not tokens:
        return np.empty(0, np.uint64)
    hashes = np.fromiter(map(xxh3_64_intdigest, map(str.encode, tokens)), np.uint64, len(tokens))
    size = min(CHARACTERS if is_spaceless(text) else WORDS, len(tokens))
    count = len(tokens) - size + 1
    found = np.full(count, size, np.uint64)
    for offset in range(size):
        found *= _MULTIPLIER
        found += hashes[offset : offset + count]
    found ^= found >> np.uint64(33)
    found *= _MIX
    found ^= found >> np.uint64(33)
    return np.unique(found)


def jaccard(one: Shingles, other: Shingles) -> float:
    """Return the Jaccard similarity of two sets, 0 to 1; 0 where both are empty."""
    shared = len(np.intersect1d(one, other, assume_unique=True))
    union = len(one) + len(other) - shared
    return shared / union if union else 0.0
