"""A sample of the corpus, and its statistics: how rare a word is, which forms it takes, which chunks are alike."""

from __future__ import annotations

import heapq
from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from goldbench.offline.analysis import Analysis
from goldbench.records.corpus import Chunk
from goldbench.text.draws import key_of

MEASURED = 100
"""Chunks that the density of the corpus is measured on."""


class ChunkSample:
    """The chunks with the lowest keys seen so far, independent of their order."""

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._seed = seed
        self._heap: list[tuple[int, str, str]] = []

    def add(self, chunk: Chunk) -> None:
        """Add a chunk if its key is among the lowest."""
        entry = (-key_of(self._seed, "pool", chunk.chunk_id), chunk.chunk_id, chunk.text)
        if len(self._heap) < self._size:
            heapq.heappush(self._heap, entry)
        elif entry > self._heap[0]:
            heapq.heapreplace(self._heap, entry)

    def chunks(self) -> list[tuple[str, str]]:
        """Return ids and texts, lowest key first."""
        return [(chunk_id, text) for _, chunk_id, text in sorted(self._heap, reverse=True)]


class Neighbourhood(NamedTuple):
    """The chunks most like a text.

    ``weights`` are the differences between a chunk's TF-IDF cosine and that of the best chunk left out. They fall to 0
    at the edge, so a new chunk in the corpus hardly changes the others' chances. ``shared`` counts for each stem of the
    text the chunks that have it.
    """

    weights: Mapping[str, float]
    shared: Mapping[str, int]


class SampledChunks:
    """The sampled chunks, searchable.

    Args:
        chunks: Ids and texts, in an order that depends on the corpus only.
        analysis: Cuts texts into words.
    """

    def __init__(self, chunks: Sequence[tuple[str, str]], analysis: Analysis) -> None:
        self._ids = [chunk_id for chunk_id, _ in chunks]
        self._position = {chunk_id: position for position, chunk_id in enumerate(self._ids)}
        self._texts = [text for _, text in chunks]
        self._vocabulary: dict[str, int] = {}
        self._forms: dict[str, Counter[str]] = defaultdict(Counter)
        counts = self._count(analysis)
        self._found = np.bincount(counts.indices, minlength=len(self._vocabulary))
        self._idf = np.log((1 + len(self._texts)) / (1 + self._found)) + 1
        self._by_stem = self._weighted(counts).T.tocsr()

    def _count(self, analysis: Analysis) -> sparse.csr_matrix:
        """Return how often each stem occurs in each text, stems in order of first place, and enter their forms."""
        indices = array("i")
        data = array("f")
        ends = array("q", [0])
        for text in self._texts:
            counts: Counter[str] = Counter()
            for token in analysis.tokens(text):
                counts[token.stem] += 1
                self._forms[token.stem][token.form] += 1
            for stem, count in counts.items():
                indices.append(self._vocabulary.setdefault(stem, len(self._vocabulary)))
                data.append(count)
            ends.append(len(indices))
        shape = (len(self._texts), len(self._vocabulary))
        return sparse.csr_matrix((np.array(data), np.array(indices), np.array(ends)), shape=shape)

    def _weighted(self, counts: sparse.csr_matrix) -> sparse.csr_matrix:
        counts.data = 1 + np.log(counts.data)
        if not counts.nnz:
            return counts
        weighted = counts @ sparse.diags(self._idf.astype(np.float32))
        lengths = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1))).ravel()
        return sparse.diags(np.divide(1.0, lengths, where=lengths > 0, out=np.zeros_like(lengths))) @ weighted

    def idf(self, stem: str) -> float:
        """Return ln((1 + N) / (1 + df)) + 1 over the sample."""
        column = self._vocabulary.get(stem)
        holders = int(self._found[column]) if column is not None else 0
        return float(np.log((1 + len(self._texts)) / (1 + holders)) + 1)

    def forms_of(self, stem: str) -> Mapping[str, int]:
        """Return how often each form of a stem occurs in the sample; empty for an unknown stem."""
        return self._forms.get(stem, {})

    def share(self, stem: str) -> float:
        """Return the share of sampled chunks that hold a stem, 0 to 1."""
        column = self._vocabulary.get(stem)
        return float(self._found[column]) / len(self._texts) if column is not None else 0.0

    def density(self, count: int) -> float:
        """Return the cosine of a chunk's ``count``-th neighbour divided by that of its nearest, mean of 100 chunks.

        It is near 1 if many texts are about one subject, near 0 if few are.
        """
        by_passage = self._by_stem[:, :MEASURED].T
        others = len(self._texts) - 1
        if not by_passage.nnz or others < 1:
            return 0.0
        cosine = (by_passage @ self._by_stem).toarray()
        np.fill_diagonal(cosine, -1.0)
        reached = min(count, others)
        best = -np.partition(-cosine, reached - 1)[:, :reached]
        lowest = best.min(axis=1)
        highest = best.max(axis=1)
        return float(np.mean(lowest[highest > 0] / highest[highest > 0])) if highest.max() > 0 else 0.0

    def neighbourhood(self, chunk_id: str, counts: Mapping[str, int], count: int) -> Neighbourhood:
        """Return the chunks most like a text, other than the chunk itself.

        Args:
            chunk_id: Id of the chunk that the text is from.
            counts: Number of occurrences of each stem of the text.
            count: Most chunks to return, at least 1.
        """
        known = [stem for stem in counts if stem in self._vocabulary]
        others = len(self._texts) - (chunk_id in self._position)
        if not known or not others:
            return Neighbourhood({}, {})
        columns = np.array([self._vocabulary[stem] for stem in known])
        values = (1 + np.log([counts[stem] for stem in known])) * self._idf[columns]
        rows = self._by_stem[columns]
        cosine = np.asarray((values / np.linalg.norm(values)).astype(np.float32) @ rows).ravel()
        if chunk_id in self._position:
            cosine[self._position[chunk_id]] = -1.0
        reached = min(count + 1, others)
        best = np.argpartition(-cosine, reached - 1)[:reached]
        edge = float(cosine[best].min()) if others > count else 0.0
        near = [position for position in best if cosine[position] > edge]
        is_near = np.zeros(len(self._texts), np.bool_)
        is_near[near] = True
        near_counts = np.diff(np.searchsorted(np.flatnonzero(is_near[rows.indices]), rows.indptr))
        return Neighbourhood(
            {self._ids[position]: float(cosine[position]) - edge for position in near},
            {stem: int(number) for stem, number in zip(known, near_counts, strict=True)},
        )

    def text_of(self, chunk_id: str) -> str:
        """Return the text of a sampled chunk."""
        return self._texts[self._position[chunk_id]]
