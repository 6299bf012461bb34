"""Azzopardi's simulated known-item queries, the published baseline: words of one document, some of the collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from random import Random
from typing import Literal

from goldbench.text.words import terms
from tests.benchmarks.systems import character_pairs

Model = Literal["popular", "discriminative"]
MEAN_LENGTH = 8
"""As many words as this project's own simulation draws, so that only the way of drawing differs."""
NOISE = 0.2


class Azzopardi:
    """Draws each word from the document's model, or from the collection's with probability ``NOISE``.

    Source: Azzopardi, de Rijke and Balog (2007), Building simulated queries for known-item topics: the popular model
    draws by term frequency, the discriminative one by presence over the term's share of the collection. In scripts
    without spaces two characters in a row stand for a word.
    """

    def __init__(self, documents: Sequence[str], *, spaceless: bool) -> None:
        self._words = [character_pairs(text) if spaceless else terms(text) for text in documents]
        self._counts = Counter(word for words in self._words for word in words)
        self._names = list(self._counts)
        self._upto = list(accumulate(self._counts.values()))

    def queries(self, model: Model, *, seed: int, count: int) -> Iterator[tuple[int, str]]:
        """Give documents, drawn without replacement, each with its query."""
        random = Random(f"{model} {seed}")
        usable = [position for position, words in enumerate(self._words) if len(set(words)) > 1]
        for position in random.sample(usable, min(count, len(usable))):
            yield position, " ".join(self._words_of(position, model, random))

    def _words_of(self, position: int, model: Model, random: Random) -> Iterator[str]:
        own = Counter(self._words[position])
        weights = [count if model == "popular" else 1 / self._counts[word] for word, count in own.items()]
        for _ in range(max(1, _poisson(random, MEAN_LENGTH))):
            if random.random() < NOISE:
                yield random.choices(self._names, cum_weights=self._upto)[0]
            else:
                yield random.choices(list(own), weights=weights)[0]


def _poisson(random: Random, mean: float) -> int:
    """Return how many arrivals of a Poisson process fall into one unit of time."""
    number, time = -1, 0.0
    while time < 1:
        time += random.expovariate(mean)
        number += 1
    return number
