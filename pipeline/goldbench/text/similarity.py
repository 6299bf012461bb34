"""How texts are compared: their normal form, their shingles, and the Jaccard similarity of two sets."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from goldbench.text.scripts import is_spaceless
from goldbench.text.words import encoded_terms

Shingles: TypeAlias = npt.NDArray[np.uint64]

WORDS = 5
"""Terms in a shingle of a text that puts spaces between words."""
CHARACTERS = 8
"""Characters in a shingle of a text in a script without spaces.

A changed word of 1.6 characters (the usual length of a Chinese word) touches 8 + 0.6 of the 1.6 w shingles of a text of
w words, the same share as 5 of w: texts that differ in the same number of words are about as similar in any script.
"""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xFF51AFD7ED558CCD)


def normal(text: str) -> str:
    """Return the text in the form used to recognise it again: NFKC, case-folded, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def plain(text: str) -> str:
    """Return the text in one Unicode form, with single spaces."""
    return " ".join((text if text.isascii() else unicodedata.normalize("NFC", text)).split())


def wording_digest(*texts: str) -> bytes:
    """Return 16 bytes by which texts are recognised: Unicode form and white space do not count, letter case does."""
    return blake2b("\0".join(map(plain, texts)).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def shingles(text: str) -> Shingles:
    """Return the distinct 64-bit hashes of the text's shingles, sorted; none for a text without a letter or digit.

    Case, punctuation and white space do not count. A text shorter than a shingle is one shingle. Different shingles
    share a hash about once in 10**19 pairs; equal hashes are taken for equal shingles.
    """
    tokens = encoded_terms(text)
    return np.unique(_in_rows(tokens, min(_size(text), len(tokens)))) if tokens else np.empty(0, np.uint64)


def _size(text: str) -> int:
    """Return how many terms a shingle has."""
    return CHARACTERS if is_spaceless(text) else WORDS


def _in_rows(tokens: Sequence[bytes], size: int) -> Shingles:
    """Return the hash of each of the rows of ``size`` tokens, at least one of which there is."""
    hashes = np.fromiter(map(xxh3_64_intdigest, tokens), np.uint64, len(tokens))
    count = len(tokens) - size + 1
    mixed = np.full(count, size, np.uint64)
    for offset in range(size):
        mixed *= _MULTIPLIER
        mixed += hashes[offset : offset + count]
    mixed ^= mixed >> np.uint64(33)
    mixed *= _MIX
    mixed ^= mixed >> np.uint64(33)
    return mixed


def jaccard(shared: int, size: int, other_size: int) -> float:
    """Return the Jaccard similarity of two sets, 0 to 1; 0 if both are empty.

    Args:
        shared: Number of items in both sets.
        size: Number of items in the first set.
        other_size: Number of items in the second set.
    """
    union = size + other_size - shared
    return shared / union if union else 0.0
