"""Whether queries put their words in an order that running text has, learned from the passages themselves."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

import numpy as np

from goldbench.text.boundaries import sentence_spans
from goldbench.text.draws import key_of
from goldbench.text.language import detect_language
from goldbench.text.scripts import is_spaceless
from goldbench.text.words import stop_words, terms

FEWEST_WORDS = 10_000
"""Fewest words of passages in a language from which its word order is learned."""
MOST_WORDS = 100_000
"""Words of passages in a language from which its word order is learned; more hardly change the figure."""
MOST_PASSAGES = 1_000
"""Passages that are read; in a larger corpus a language with few passages among them is not measured."""
SHORTEST = 4
"""Fewest words of a query whose order is measured; three words have six orders, which tell little."""

_LONGEST = 64  # words of a query that are looked at
_ORDERS = 200  # random orders that a query is held against
_KNOWN = 300  # commonest words that stand for themselves; others are told apart by their last two letters
_FUNCTION = 50  # commonest words that count as function words in a language without a list
_PRIOR = 5.0  # weight of a word's own frequency, in words, against the words seen before it
_SAME = 1e-9  # log likelihoods closer than this are equal on every machine

SPACELESS = "in a script without spaces between words"
KEYWORDS = "keywords, or fewer than 4 words"
NO_TEXT = f"in a language with fewer than {FEWEST_WORDS:,} words of passages, or an unknown one"


@dataclass(frozen=True, slots=True)
class QueryOrders:
    """The rank of each measured query's word order, from 0 to 1, and how many queries were left out, by reason."""

    ranks: dict[str, float]
    left_out: Counter[str]


class WordOrder:
    """The word order of a language, as counts of neighbouring words.

    Rare words are told apart by their endings only, so that a query need not repeat what the passages say.

    Args:
        sentences: Lower-cased words of each sentence.
        language: ISO 639-1 code, for its function words.
    """

    def __init__(self, sentences: Sequence[Sequence[str]], language: str | None) -> None:
        counts = Counter(word for sentence in sentences for word in sentence)
        common = sorted(counts, key=lambda word: (-counts[word], word))[:_KNOWN]
        self.function_words = stop_words(language) or frozenset(common[:_FUNCTION])
        self._known = frozenset(common)
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._single: Counter[str] = Counter()
        self._before: Counter[str] = Counter()
        for sentence in sentences:
            kinds = self._kinds(sentence)
            self._single.update(kinds)
            self._before.update(kinds[:-1])
            self._pairs.update(pairwise(kinds))
        self._total = self._single.total() + len(self._single)

    def rank(self, words: Sequence[str], *, seed: int) -> float:
        """Return the share of random orders of these words that are less usual than theirs; equal ones count half.

        Args:
            words: Lower-cased words of a query, at least 2.
            seed: Seed of the random orders, not negative.
        """
        kinds = self._kinds(words)
        weights = np.array([[self._log_likelihood(kind, other_kind) for other_kind in kinds] for kind in kinds])
        ours = weights[np.arange(len(kinds) - 1), np.arange(1, len(kinds))].sum()
        raw = np.random.PCG64(seed).random_raw(_ORDERS * len(kinds)).reshape(_ORDERS, -1)
        orders = raw.argsort(axis=1, kind="stable")
        theirs = weights[orders[:, :-1], orders[:, 1:]].sum(axis=1)
        less = int((theirs < ours - _SAME).sum())
        more = int((theirs > ours + _SAME).sum())
        return (_ORDERS + less - more) / (2 * _ORDERS)

    def _kinds(self, words: Sequence[str]) -> list[str]:
        return [word if word in self._known else "#" if word[0].isdigit() else f"-{word[-2:]}" for word in words]

    def _log_likelihood(self, first: str, second: str) -> float:
        own = (self._single[second] + 1) / self._total
        return log((self._pairs[first, second] + _PRIOR * own) / (self._before[first] + _PRIOR))


def query_orders(
    queries: Mapping[str, str], languages: Mapping[str, str | None], passages: Sequence[str], *, seed: int
) -> QueryOrders:
    """Return how usual the word order of each query is, between 0 and 1; a random order has 0.5 on average.

    Args:
        queries: Text of each query, by id.
        languages: ISO 639-1 code of each query, None if it is not known.
        passages: Passages, in an order that does not depend on their subject.
        seed: Seed of the random orders, not negative.
    """
    known = {language: WordOrder(sentence, language) for language, sentence in _sentences(passages).items()}
    ranks: dict[str, float] = {}
    left_out: Counter[str] = Counter()
    for query_id, text in queries.items():
        language = languages.get(query_id)
        words = terms(text)[:_LONGEST]
        if is_spaceless(text):
            left_out[SPACELESS] += 1
        elif language is None or language not in known:
            left_out[NO_TEXT] += 1
        elif len(words) < SHORTEST or known[language].function_words.isdisjoint(words):
            left_out[KEYWORDS] += 1
        else:
            ranks[query_id] = known[language].rank(words, seed=key_of(seed, "word order", query_id))
    return QueryOrders(ranks, left_out)


def _sentences(passages: Sequence[str]) -> dict[str, list[list[str]]]:
    """Return the words of the sentences of each language with spaces between words and enough text."""
    by_language: dict[str, list[list[str]]] = defaultdict(list)
    counts: Counter[str] = Counter()
    for text in passages[:MOST_PASSAGES]:
        language = None if is_spaceless(text) else detect_language(text)
        if language is None or counts[language] >= MOST_WORDS:
            continue
        for start, end in sentence_spans(text):
            if words := terms(text[start:end]):
                by_language[language].append(words)
                counts[language] += len(words)
    return {language: sentences for language, sentences in by_language.items() if counts[language] >= FEWEST_WORDS}
