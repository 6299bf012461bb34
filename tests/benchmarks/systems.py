"""Sixteen lexical retrieval systems, for ranking systems: BM25 in many settings, TF-IDF, character n-grams and LSI."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import bm25s
import numpy as np
import regex
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.preprocessing import normalize

from goldbench.text.words import stems, terms

DEPTH = 10
STOP_COUNT = 40

_RUN = regex.compile(r"[\p{L}\p{M}\p{N}]+")


@dataclass(frozen=True)
class System:
    """One retrieval system: how it cuts text into terms, and how it scores them."""

    name: str
    terms: str
    model: str
    k1: float = 1.2
    b: float = 0.75
    dimensions: int = 0
    sublinear: bool = False


LEXICAL = (
    System("BM25, words", "words", "lucene"),
    System("BM25, stems", "stems", "lucene"),
    System("BM25, words without stop words", "words-stop", "lucene"),
    System("BM25, stems without stop words", "stems-stop", "lucene"),
    System("BM25 k1=0.9 b=0.4, stems without stop words", "stems-stop", "lucene", k1=0.9, b=0.4),
    System("BM25 k1=2.0 b=0.9, words", "words", "robertson", k1=2.0, b=0.9),
    System("BM25+, stems", "stems", "bm25+"),
    System("BM25L, words", "words", "bm25l"),
    System("BM25, character n-grams", "grams", "lucene"),
    System("TF-IDF cosine, words", "words", "tf-idf"),
    System("TF-IDF cosine, stems without stop words, log tf", "stems-stop", "tf-idf", sublinear=True),
    System("TF-IDF cosine, character n-grams", "grams", "tf-idf", sublinear=True),
    System("TF cosine, stems without stop words", "stems-stop", "tf"),
    System("LSI 100, stems without stop words", "stems-stop", "tf-idf", dimensions=100, sublinear=True),
    System("LSI 200, stems without stop words", "stems-stop", "tf-idf", dimensions=200, sublinear=True),
    System("LSI 100, words", "words", "tf-idf", dimensions=100),
)


class Analyzers:
    """The ways to cut the texts of one collection into terms.

    In scripts without spaces, «words» are single characters, «stems» bigrams, «grams» bigrams and single characters.
    Stop words are English's list for English, else the most frequent terms of the collection.
    """

    def __init__(self, documents: Sequence[str], *, language: str | None, spaceless: bool) -> None:
        self._language, self._spaceless = language, spaceless
        self._stop = {kind: self._stop_terms(kind, documents) for kind in ("words", "stems")}

    def __call__(self, kind: str, text: str) -> list[str]:
        """Return the terms of a text in one of the ways named in ``LEXICAL``."""
        base, _, without_stop = kind.partition("-")
        cut = self._cut(base, text)
        return [term for term in cut if term not in self._stop[base]] if without_stop else cut

    def _cut(self, kind: str, text: str) -> list[str]:
        plain = terms(text)
        if kind == "words":
            return plain
        if self._spaceless:
            return character_pairs(text) if kind == "stems" else plain + character_pairs(text)
        if kind == "stems":
            return stems(plain, self._language)
        return [gram for word in plain for gram in _grams(word)]

    def _stop_terms(self, kind: str, documents: Sequence[str]) -> frozenset[str]:
        if self._language == "en":
            stop = sorted(ENGLISH_STOP_WORDS)
            return frozenset(stop if kind == "words" else stems(stop, "en"))
        counts = Counter(term for text in documents for term in self._cut(kind, text))
        return frozenset(term for term, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:STOP_COUNT])


def character_pairs(text: str) -> list[str]:
    """Return the characters of a text two by two, never across a space or a mark; single where they stand alone."""
    pairs: list[str] = []
    for run in _RUN.findall(text):
        single = terms(run)
        pairs.extend([left + right for left, right in itertools.pairwise(single)] or single)
    return pairs


def _grams(word: str) -> list[str]:
    padded = f"_{word}_"
    return [padded[start : start + 4] for start in range(max(1, len(padded) - 3))]


class Corpus:
    """A collection's documents cut into terms in every way the systems need."""

    def __init__(self, documents: Sequence[str], analyzers: Analyzers) -> None:
        self.analyzers = analyzers
        self.terms = {kind: [analyzers(kind, text) for text in documents] for kind in {s.terms for s in LEXICAL}}

    @cached_property
    def indexes(self) -> list[Bm25Index | VectorIndex]:
        """The sixteen indexes, in the order of ``LEXICAL``."""
        vectors: dict[tuple[str, str, bool], _Vectors] = {}
        made: list[Bm25Index | VectorIndex] = []
        for system in LEXICAL:
            if system.model.startswith("tf"):
                key = (system.terms, system.model, system.sublinear)
                if key not in vectors:
                    vectors[key] = _Vectors(self.terms[system.terms], system)
                made.append(VectorIndex(vectors[key], system.dimensions))
            else:
                made.append(Bm25Index(self.terms[system.terms], system))
        return made

    def top(self, queries: Sequence[str]) -> list[np.ndarray]:
        """Return, for every system, the best ``DEPTH`` documents of every query (-1 where there are fewer)."""
        cut = {kind: [self.analyzers(kind, query) for query in queries] for kind in self.terms}
        return [index.top(cut[system.terms]) for system, index in zip(LEXICAL, self.indexes, strict=True)]


class Bm25Index:
    """BM25 as bm25s computes it."""

    def __init__(self, rows: Sequence[list[str]], system: System) -> None:
        self._vocabulary: dict[str, int] = {}
        ids = [[self._vocabulary.setdefault(term, len(self._vocabulary)) for term in row] for row in rows]
        self._index = bm25s.BM25(method=system.model, k1=system.k1, b=system.b)
        self._index.index((ids, self._vocabulary), show_progress=False)

    def top(self, queries: Sequence[list[str]]) -> np.ndarray:
        """Return the best documents of every query."""
        rows = []
        for query in queries:
            known = [self._vocabulary[term] for term in query if term in self._vocabulary]
            scores = self._index.get_scores_from_ids(known) if known else np.zeros(1)
            rows.append(_best(scores, floor=self._floor(known)))
        return np.array(rows)

    def _floor(self, known: Sequence[int]) -> float:
        return (
            0.0
            if not known or self._index.nonoccurrence_array is None
            else float(self._index.nonoccurrence_array[known].sum())
        )


class _Vectors:
    """TF-IDF vectors of unit length."""

    def __init__(self, rows: Sequence[list[str]], system: System) -> None:
        self.vocabulary: dict[str, int] = {}
        for row in rows:
            for term in row:
                self.vocabulary.setdefault(term, len(self.vocabulary))
        self._sublinear = system.sublinear
        self._weight = np.ones(len(self.vocabulary))
        counts = self._counts(rows)
        if system.model == "tf-idf":
            found = np.bincount(counts.indices, minlength=len(self.vocabulary))
            self._weight = np.log((1 + len(rows)) / (1 + found)) + 1
        self.documents = self.of(rows)

    def of(self, rows: Sequence[list[str]]) -> sparse.csr_matrix:
        counts = self._counts(rows)
        if self._sublinear:
            counts.data = 1 + np.log(counts.data)
        return normalize(counts @ sparse.diags(self._weight))

    def _counts(self, rows: Sequence[list[str]]) -> sparse.csr_matrix:
        indices: list[int] = []
        data: list[int] = []
        ends = [0]
        for row in rows:
            for term, count in Counter(row).items():
                if term in self.vocabulary:
                    indices.append(self.vocabulary[term])
                    data.append(count)
            ends.append(len(indices))
        return sparse.csr_matrix(
            (np.array(data, dtype=float), np.array(indices, dtype=int), ends), shape=(len(rows), len(self.vocabulary))
        )


class VectorIndex:
    """Cosine of TF-IDF vectors, or of their projection onto the first singular vectors (LSI)."""

    def __init__(self, vectors: _Vectors, dimensions: int) -> None:
        self._vectors = vectors
        self._svd = None
        self._documents = vectors.documents
        if dimensions:
            width = min(dimensions, min(vectors.documents.shape) - 1)
            self._svd = TruncatedSVD(n_components=width, n_iter=4, random_state=0).fit(vectors.documents)
            self._documents = normalize(self._svd.transform(vectors.documents))

    def top(self, queries: Sequence[list[str]]) -> np.ndarray:
        """Return the best documents of every query."""
        asked = self._vectors.of(queries)
        if self._svd is not None:
            scores = normalize(self._svd.transform(asked)) @ self._documents.T
        else:
            scores = (asked @ self._documents.T).toarray()
        return np.array([_best(row, floor=0.0) for row in scores])


def _best(scores: np.ndarray, *, floor: float) -> np.ndarray:
    """Return the positions of the highest scores above the floor, ties by position, filled up with -1."""
    count = min(DEPTH, len(scores))
    cut = max(np.partition(scores, len(scores) - count)[len(scores) - count], floor + 1e-9)
    chosen = np.flatnonzero(scores >= cut)
    chosen = chosen[np.lexsort((chosen, -scores[chosen]))][:DEPTH]
    filled = np.full(DEPTH, -1)
    filled[: len(chosen)] = chosen
    return filled


def ndcg(top: Sequence[np.ndarray], gains: Sequence[dict[int, float]]) -> np.ndarray:
    """Return nDCG@10 (linear gain, log2 discount), one row per system, one column per query.

    Source: Järvelin and Kekäläinen (2002), in the form trec_eval computes (``ndcg_cut_10``).
    """
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    found = np.stack(top)
    table = np.zeros(2 + max((position for gain in gains for position in gain), default=0) + int(found.max(initial=0)))
    columns = []
    for column, gain in enumerate(gains):
        judged = list(gain)
        table[judged] = list(gain.values())
        ideal = np.sort(list(gain.values()))[::-1][:DEPTH]
        columns.append(table[found[:, column]] @ discounts / (ideal @ discounts[: len(ideal)]))
        table[judged] = 0.0
    return np.stack(columns, axis=1)
