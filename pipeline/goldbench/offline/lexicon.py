"""Words in scripts without spaces, found in the corpus itself, without a dictionary, for any language."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import regex

_CLUSTER = regex.compile(r"[\u0e40-\u0e44\u0ec0-\u0ec4]?\X[\u0e30\u0e32\u0e45\u0e46\u0eb0\u0eb2]*")
"""A character with its marks; in Thai and Lao also with the vowels before and after it."""

LONGEST = 7
"""Most characters of a word, each counted with its marks."""
LOWEST_COUNT = 2
"""Occurrences from which a sequence of characters is considered."""
TRAINING_CHARACTERS = 300_000
"""Characters of the corpus that the lexicon is made from."""


class Lexicon:
    """Sequences of characters that occur together in a corpus, each with the strength of its bond."""

    def __init__(self, runs: Iterable[str]) -> None:
        texts: list[list[str]] = []
        size = 0
        for run in runs:
            if size >= TRAINING_CHARACTERS:
                break
            texts.append(clusters(run))
            size += len(texts[-1])
        self.bonds = _bonds(_frequent_sequences(texts), size)

    def cut(self, run: str) -> list[tuple[int, int]]:
        """Return the start and end of the words in a run of letters: the cut with the highest sum of bonds."""
        letters = clusters(run)
        best = [0.0] * (len(letters) + 1)
        back = [0] * (len(letters) + 1)
        for end in range(1, len(letters) + 1):
            best[end], back[end] = best[end - 1], end - 1
            for start in range(end - 2, max(-1, end - LONGEST - 1), -1):
                bond = self.bonds.get("".join(letters[start:end]))
                if bond is not None and best[start] + bond > best[end]:
                    best[end], back[end] = best[start] + bond, start
        return _spans(letters, back)


def clusters(text: str) -> list[str]:
    """Return the smallest parts of a text that a word cannot be cut in."""
    return [str(cluster) for cluster in _CLUSTER.findall(text)]


def _spans(letters: Sequence[str], back: Sequence[int]) -> list[tuple[int, int]]:
    offsets = [0]
    for letter in letters:
        offsets.append(offsets[-1] + len(letter))
    spans = []
    end = len(letters)
    while end > 0:
        spans.append((offsets[back[end]], offsets[end]))
        end = back[end]
    return spans[::-1]


def _frequent_sequences(texts: Sequence[Sequence[str]]) -> dict[str, tuple[int, list[str]]]:
    """Return the count and letters of every sequence of 1 to ``LONGEST`` letters that occurs often enough.

    A sequence is frequent only if its beginning is, so each length is counted at the places that the last one left.
    """
    frequent_sequences: dict[str, tuple[int, list[str]]] = {}
    places = [(number, start) for number, text in enumerate(texts) for start in range(len(text))]
    for length in range(1, LONGEST + 1):
        fitting = [(number, start) for number, start in places if start + length <= len(texts[number])]
        sequences = ["".join(texts[number][start : start + length]) for number, start in fitting]
        counts = Counter(sequences)
        places = []
        for (number, start), sequence in zip(fitting, sequences, strict=True):
            if counts[sequence] >= LOWEST_COUNT:
                places.append((number, start))
                if sequence not in frequent_sequences:
                    frequent_sequences[sequence] = (counts[sequence], list(texts[number][start : start + length]))
    return frequent_sequences


def _bonds(sequences: dict[str, tuple[int, list[str]]], size: int) -> dict[str, float]:
    """Return (length - 1) times the weakest bond inside each sequence, if it is positive.

    A bond is the pointwise mutual information of the two parts a sequence can be split into.
    Source: Sproat and Shih (1990), statistical word segmentation by mutual information, for longer words too.
    """
    bonds: dict[str, float] = {}
    for sequence, (count, letters) in sequences.items():
        weakest = math.inf
        for split in range(1, len(letters)):
            left = "".join(letters[:split])
            right = "".join(letters[split:])
            expected = sequences[left][0] * sequences[right][0] if right in sequences else math.inf
            weakest = min(weakest, math.log(count * size / expected) if expected < math.inf else -1.0)
        if len(letters) > 1 and weakest > 0:
            bonds[sequence] = (len(letters) - 1) * weakest
    return bonds
