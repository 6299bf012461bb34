"""The rules for a set: no duplicate queries, and not too many that share their words with their chunk."""

from __future__ import annotations

import math
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from goldbench.records.query import Candidate, Query
from goldbench.stages.check.overlap import overlap
from goldbench.stages.check.verdict import CheckContext, Finding
from goldbench.text.similarity import jaccard
from goldbench.text.wordings import is_yes_or_no
from goldbench.text.words import content_terms, terms

MOST_SHARED_WORDS = 0.80
"""Jaccard similarity of two queries' words, 0 to 1, from which the later query is a duplicate."""
MOST_ALIKE = 0.85
"""Cosine of two queries' character n-grams, 0 to 1, from which the later query is a duplicate."""
LOW_OVERLAP = 0.60
"""Highest share of content terms in the chunk, 0 to 1, of a query of low overlap."""
LOW_OVERLAP_SHARE = 0.40
"""Share of the set that is kept for queries of low overlap, 0 to 1."""
YES_NO_SHARE = 0.10
"""Highest share of the set, 0 to 1, of queries that are answered by yes or no; at least one is allowed."""


class SetChecks:
    """The queries accepted so far, in drawing order. Of two queries that are alike, the first stays.

    Args:
        target: Number of queries the set should have, 1 or more.
    """

    def __init__(self, *, target: int) -> None:
        self.aim(target)
        self._high = 0
        self._yes_or_no = 0
        self._words = _Sets()
        self._characters = _Vectors()

    def hold(self, queries: Iterable[Query], *, own_words: bool) -> None:
        """Take in queries that the set keeps whatever comes; later ones are compared with them.

        Args:
            queries: The queries.
            own_words: Whether a share of them must be in other words than their passage.
        """
        for query in queries:
            if query.original is None:
                candidate = query.model_copy(update={"text": query.alone})
                high = own_words and (query.overlap or 0.0) > LOW_OVERLAP
                self._enter(candidate, high, word_set(candidate.text), ngrams(candidate.text))

    def aim(self, target: int) -> None:
        """Set how many queries the set should have of those that must be in other words than their passage."""
        self._high_allowed = math.floor((1 - LOW_OVERLAP_SHARE) * target + 1e-9)
        self._yes_or_no_allowed = max(1, math.floor(YES_NO_SHARE * target + 1e-9))

    def accept(self, candidate: Candidate, context: CheckContext) -> Finding | None:
        """Return the rule that a candidate breaks; if it breaks none, count it as accepted and return None."""
        tokens = word_set(candidate.text)
        grams = ngrams(candidate.text)
        shared = self._words.closest(tokens)
        if shared >= MOST_SHARED_WORDS:
            return Finding("duplicate", f"an earlier query shares {shared:.0%} of its words", shared)
        alike = self._characters.closest(grams)
        if alike >= MOST_ALIKE:
            return Finding("duplicate", f"an earlier query is {alike:.0%} alike in its characters", alike)
        share = overlap(candidate.text, context.indexed_text, context.language) or 0.0
        if context.own_words and share > LOW_OVERLAP and self._high >= self._high_allowed:
            reason = f"{share:.0%} of its words stand in the text, and enough queries are like that; use other words"
            return Finding("overlap-quota", reason, share, rewrite=True)
        if self._yes_or_no >= self._yes_or_no_allowed and is_yes_or_no(candidate.answer or ""):
            return Finding("yes-no-quota", "yes or no answers it, and enough queries are like that")
        self._enter(candidate, context.own_words and share > LOW_OVERLAP, tokens, grams)
        return None

    def _enter(self, candidate: Candidate, high: bool, tokens: frozenset[str], grams: Counter[str]) -> None:
        """Take an accepted query into what later ones are compared with; ``high`` is one of much overlap."""
        self._high += high
        self._yes_or_no += is_yes_or_no(candidate.answer or "")
        self._words.add(tokens)
        self._characters.add(grams)


def alike(texts: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the positions of every two texts of which the later one would be a duplicate in one set."""
    words = _Sets()
    characters = _Vectors()
    for position, text in enumerate(texts):
        tokens = word_set(text)
        grams = ngrams(text)
        for earlier in sorted({*words.near(tokens), *characters.near(grams)}):
            yield earlier, position
        words.add(tokens)
        characters.add(grams)


def word_set(text: str) -> frozenset[str]:
    """Return the content terms of a text: words, or runs of characters in scripts without spaces."""
    return frozenset(content_terms(unicodedata.normalize("NFKC", text), None))


def ngrams(text: str) -> Counter[str]:
    """Count the runs of 3 to 5 characters in a text's terms, joined by single spaces."""
    line = f" {' '.join(terms(unicodedata.normalize('NFKC', text)))} "
    return Counter(sys.intern(line[i : i + size]) for size in (3, 4, 5) for i in range(len(line) - size + 1))


class _Sets:
    """Sets of words. Two sets of Jaccard similarity t share a word among the rarest (1 - t) of either, plus one."""

    def __init__(self) -> None:
        self._sets: list[frozenset[str]] = []
        self._holders: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, items: frozenset[str]) -> None:
        for item in items:
            self._holders[item].append(len(self._sets))
        self._sets.append(items)

    def closest(self, items: frozenset[str]) -> float:
        """Return the highest Jaccard similarity to an earlier set if it is at least MOST_SHARED_WORDS, else 0."""
        return max(self.near(items).values(), default=0.0)

    def near(self, items: frozenset[str]) -> dict[int, float]:
        """Return the Jaccard similarity to each earlier set for which it is at least MOST_SHARED_WORDS."""
        rarest = sorted(items, key=lambda item: (len(self._holders.get(item, ())), item))
        enough = len(items) - math.ceil(MOST_SHARED_WORDS * len(items) - 1e-9) + 1
        near = {holder for item in rarest[:enough] for holder in self._holders.get(item, ())}
        alike = {i: jaccard(len(items & self._sets[i]), len(items), len(self._sets[i])) for i in near}
        return {i: share for i, share in alike.items() if share >= MOST_SHARED_WORDS}


class _Vectors:
    """Character n-grams, weighted by tf·idf.

    The idf is computed when the number of accepted queries has doubled: recomputed for every query, it would change all
    earlier comparisons, at a cost that grows with the square of their number.
    """

    def __init__(self) -> None:
        self._counts: list[Counter[str]] = []
        self._norms: list[float] = []
        self._holders: defaultdict[str, list[int]] = defaultdict(list)
        self._idf: dict[str, float] = {}
        self._idf_of_new = 1.0
        self._size = 0

    def add(self, counts: Counter[str]) -> None:
        for gram in counts:
            self._holders[gram].append(len(self._counts))
        self._counts.append(counts)
        self._norms.append(self._norm(counts))
        if len(self._counts) >= 2 * self._size:
            self._size = len(self._counts)
            self._idf_of_new = math.log(1 + self._size) + 1
            self._idf = {gram: self._idf_of_new - math.log(1 + len(at)) for gram, at in self._holders.items()}
            self._norms = [self._norm(earlier) for earlier in self._counts]

    def closest(self, counts: Counter[str]) -> float:
        """Return the highest cosine with an earlier text if it is at least MOST_ALIKE, else 0."""
        return max(self.near(counts).values(), default=0.0)

    def near(self, counts: Counter[str]) -> dict[int, float]:
        """Return the cosine with each earlier text for which it is at least MOST_ALIKE."""
        norm = self._norm(counts)
        if not norm:
            return {}
        near = {holder for gram in self._telling(counts, norm) for holder in self._holders.get(gram, ())}
        alike = {i: self._dot(counts, self._counts[i]) / (norm * self._norms[i]) for i in near}
        return {i: likeness for i, likeness in alike.items() if likeness >= MOST_ALIKE}

    def _telling(self, counts: Counter[str], norm: float) -> list[str]:
        """Return the fewest, rarest n-grams without which the others cannot reach the cosine."""
        rest = norm * norm
        chosen: list[str] = []
        for gram in sorted(counts, key=lambda gram: (len(self._holders.get(gram, ())), gram)):
            if rest < (MOST_ALIKE * norm) ** 2 - 1e-9:
                break
            chosen.append(gram)
            rest -= (counts[gram] * self._idf.get(gram, self._idf_of_new)) ** 2
        return chosen

    def _dot(self, first: Counter[str], second: Counter[str]) -> float:
        idf = self._idf
        new = self._idf_of_new
        return math.fsum(first[gram] * second[gram] * idf.get(gram, new) ** 2 for gram in first.keys() & second.keys())

    def _norm(self, counts: Counter[str]) -> float:
        idf = self._idf
        new = self._idf_of_new
        return math.sqrt(math.fsum((count * idf.get(gram, new)) ** 2 for gram, count in counts.items()))
