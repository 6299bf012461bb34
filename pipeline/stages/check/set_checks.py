"""The checks that look at the queries accepted before: no duplicates, and not too many that copy their text's words."""

from __future__ import annotations

import math
import sys
import unicodedata
from collections import Counter, defaultdict

from pipeline.stages.check.finding import CheckContext, Finding
from pipeline.stages.check.overlap import overlap
from pipeline.text.similarity import jaccard
from pipeline.text.words import content_terms, terms
from schemas.corpus import Evidence, Span
from schemas.query import Candidate

MOST_SHARED_WORDS = 0.80
MOST_ALIKE = 0.85
LOW_OVERLAP = 0.60
LOW_OVERLAP_SHARE = 0.40


class SetChecks:
    """The queries accepted so far, in drawing order. The first of two that are alike stays.

    Args:
        target: How many queries the set is to have, 1 or more.
    """

    def __init__(self, *, target: int) -> None:
        self._high_allowed = math.floor((1 - LOW_OVERLAP_SHARE) * target + 1e-9)
        self._high = 0
        self._held_out: defaultdict[str, list[Span]] = defaultdict(list)
        self._shown: defaultdict[str, list[Span]] = defaultdict(list)
        self._words = _Sets()
        self._characters = _Vectors()

    def _held_out_elsewhere(self, candidate: Candidate) -> bool:
        """Whether its evidence is held out for an accepted query, or an accepted one's evidence for it."""
        return any(
            item.meets(mask) for item in _shown(candidate) for mask in self._held_out.get(item.doc_id, ())
        ) or any(mask.meets(item) for mask in candidate.masked for item in self._shown.get(mask.doc_id, ()))

    def accept(self, candidate: Candidate, context: CheckContext) -> Finding | None:
        """Return the rule a candidate breaks, or None and count it among the accepted.

        Args:
            candidate: A candidate that passed every check that looks at it alone.
            context: The same context.
        """
        tokens = word_set(candidate.text)
        grams = ngrams(candidate.text)
        shared = self._words.closest(tokens)
        if shared >= MOST_SHARED_WORDS:
            return Finding("duplicate", f"an earlier query shares {shared:.0%} of its words", shared)
        alike = self._characters.closest(grams)
        if alike >= MOST_ALIKE:
            return Finding("duplicate", f"an earlier query is {alike:.0%} alike in its characters", alike)
        share = overlap(candidate.text, context.indexed_text, context.language) or 0.0
        if share > LOW_OVERLAP and self._high >= self._high_allowed:
            reason = f"{share:.0%} of its words stand in the text, and enough queries are like that; use other words"
            return Finding("overlap-quota", reason, share, rewrite=True)
        if self._held_out_elsewhere(candidate):
            return Finding(
                "held-out", "words it needs in the corpus are held out of it for another query, or the reverse"
            )
        self._high += share > LOW_OVERLAP
        for mask in candidate.masked:
            self._held_out[mask.doc_id].append(mask)
        for evidence in _shown(candidate):
            self._shown[evidence.doc_id].append(evidence)
        self._words.add(tokens)
        self._characters.add(grams)
        return None


def _shown(candidate: Candidate) -> list[Evidence]:
    """Return the evidence that must stay in the corpus: that which is not itself held out."""
    return [item for item in candidate.evidence if not any(item.meets(mask) for mask in candidate.masked)]


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, in scripts without spaces the characters two by two (Thai and the like: by three)."""
    return frozenset(content_terms(unicodedata.normalize("NFKC", text), None))


def ngrams(text: str) -> Counter[str]:
    """Count the runs of 3 to 5 characters of a text's terms, joined by single spaces."""
    line = f" {' '.join(terms(unicodedata.normalize('NFKC', text)))} "
    return Counter(sys.intern(line[i : i + size]) for size in (3, 4, 5) for i in range(len(line) - size + 1))


class _Sets:
    """Sets of words. Two of a Jaccard of t share one of the rarest words: any (1-t) of the set and one more."""

    def __init__(self) -> None:
        self._sets: list[frozenset[str]] = []
        self._holders: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, items: frozenset[str]) -> None:
        for item in items:
            self._holders[item].append(len(self._sets))
        self._sets.append(items)

    def closest(self, items: frozenset[str]) -> float:
        """Return the greatest Jaccard with a set added before, where it is MOST_SHARED_WORDS or more; else 0."""
        rarest = sorted(items, key=lambda item: (len(self._holders.get(item, ())), item))
        enough = len(items) - math.ceil(MOST_SHARED_WORDS * len(items) - 1e-9) + 1
        near = {holder for item in rarest[:enough] for holder in self._holders.get(item, ())}
        others = [self._sets[holder] for holder in near]
        best = max((jaccard(len(items & other), len(items), len(other)) for other in others), default=0.0)
        return best if best >= MOST_SHARED_WORDS else 0.0


class _Vectors:
    """Character n-grams, weighted by tf·idf.

    The idf is that of the queries accepted when their number last doubled: renewed with every query it would change all
    earlier comparisons, and cost the square of their number.
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
        """Return the greatest cosine with a text added before, where it is MOST_ALIKE or more; else 0."""
        norm = self._norm(counts)
        if not norm:
            return 0.0
        near = {holder for gram in self._telling(counts, norm) for holder in self._holders.get(gram, ())}
        best = max((self._dot(counts, self._counts[i]) / (norm * self._norms[i]) for i in near), default=0.0)
        return best if best >= MOST_ALIKE else 0.0

    def _telling(self, counts: Counter[str], norm: float) -> list[str]:
        """Return the rarest n-grams, as many that the rest alone cannot reach the cosine."""
        rest = norm * norm
        chosen: list[str] = []
        for gram in sorted(counts, key=lambda gram: (len(self._holders.get(gram, ())), gram)):
            if rest < (MOST_ALIKE * norm) ** 2 - 1e-9:
                break
            chosen.append(gram)
            rest -= (counts[gram] * self._idf.get(gram, self._idf_of_new)) ** 2
        return chosen

    def _dot(self, one: Counter[str], other: Counter[str]) -> float:
        idf, new = self._idf, self._idf_of_new
        return math.fsum(one[gram] * other[gram] * idf.get(gram, new) ** 2 for gram in one.keys() & other.keys())

    def _norm(self, counts: Counter[str]) -> float:
        idf, new = self._idf, self._idf_of_new
        return math.sqrt(math.fsum((count * idf.get(gram, new)) ** 2 for gram, count in counts.items()))
