"""BM25 over parts of the passages on the nodes of a cluster: the same scores and order as `BM25`, bit for bit.

Each node counts the terms of its part. The counts of all parts are added up on this machine, so that each part is
weighed as a part of the whole, and what the parts find is merged by score and id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from goldbench.cluster.ray_cluster import Cluster
from goldbench.cluster.remote_object import MOST_LOSSES, Lost, RemoteObject
from goldbench.errors import RetrieverFailed
from goldbench.measures.ranks.order import highest, in_tie_order
from goldbench.retrieval.bm25 import WeightedTerms, rarity_of
from goldbench.retrieval.postings import Floats, Integers, Occurrences
from goldbench.retrieval.system_settings import BM25Settings
from goldbench.retrieval.tokens import tokenizer

Counts: TypeAlias = tuple[list[str], npt.NDArray[np.int64], int]
"""The terms of some passages, how many passages hold each, and the number of terms with repetitions."""
_WORTH_A_PART = 2_000
"""Passages of a part, at the least."""
_CHARACTERS_AT_ONCE = 8 * 2**20
"""Characters of passages that travel at once."""
_QUERIES_AT_ONCE = 1_000
"""Queries that are searched at once, which bounds the size of an answer."""


class BM25Shard:
    """A part of the passages, as a node holds it; the statistics that a score needs are those of all passages."""

    def __init__(self, settings: BM25Settings) -> None:
        self._settings = settings
        self._texts: list[str] = []
        self._counts: Occurrences | None = None
        self._terms: WeightedTerms | None = None

    def add(self, texts: Sequence[str]) -> None:
        """Take more passages, in tie order."""
        self._texts += texts

    def count(self) -> Counts:
        """Count the terms of the passages, which are then forgotten."""
        tokens = tokenizer(self._settings.analyzer, language=self._settings.language)
        counts = self._counts = Occurrences.in_texts(self._texts, tokens)
        self._texts = []
        return list(counts.vocabulary), np.diff(counts.starts), int(counts.lengths.sum())

    def weigh(self, rarity: Floats, mean_length: float) -> None:
        """Weigh the terms of `count`; see `WeightedTerms`."""
        assert self._counts is not None
        self._terms = WeightedTerms(self._counts, rarity, mean_length, self._settings)

    def search(self, queries: Sequence[Sequence[str]], k: int) -> list[tuple[Integers, Floats]]:
        """Return the best passages of this part for each query; see `WeightedTerms.best`."""
        assert self._terms is not None
        return self._terms.best(queries, k)


class ShardedBM25:
    """An index of passages in parts, which is made again as a whole if a node with a part of it is lost.

    Args:
        settings: The settings; their analyzer is not ``file``.
        nodes: The cluster.
        worth_a_part: Passages of a part, at the least.
    """

    def __init__(self, settings: BM25Settings, *, nodes: Cluster, worth_a_part: int = _WORTH_A_PART) -> None:
        self._settings = settings
        self._nodes = nodes
        self._worth_a_part = worth_a_part
        self._tokens = tokenizer(settings.analyzer, language=settings.language)
        self._passages: Mapping[str, str] = {}
        self._ids: list[str] = []
        self._bounds: list[int] = []
        self._parts: list[RemoteObject] = []

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the text of each passage by its id."""
        self.close()
        self._passages = passages
        self._ids = in_tie_order(passages)
        count = max(1, min(self._nodes.processors, len(passages) // self._worth_a_part))
        self._bounds = [len(passages) * number // count for number in range(count + 1)]
        self._answers(None)

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with a score above 0, best first."""
        rankings: dict[str, dict[str, float]] = {}
        left = iter(queries.items())
        while batch := dict(islice(left, _QUERIES_AT_ONCE)):
            terms = [self._tokens(text) for text in batch.values()]
            for query_id, *best in zip(batch, *self._answers((terms, k)), strict=True):
                rankings[query_id] = self._merged(best, k)
        return rankings

    def close(self) -> None:
        """End the parts on their nodes."""
        for part in self._parts:
            part.kill()
        self._parts = []

    def _answers(self, search: tuple[list[list[str]], int] | None) -> list[Any]:
        """Index the passages if no node holds them, and return what each part answers to a search, if there is one.

        Raises:
            RetrieverFailed: Nodes were lost several times.
        """
        lost: Lost | None = None
        for _ in range(MOST_LOSSES):
            try:
                if not self._parts:
                    self._place()
                return _all(self._parts, "search", [search] * len(self._parts)) if search else []
            except Lost as error:
                lost = error
                self.close()
        raise RetrieverFailed(
            f"the BM25 index was lost {MOST_LOSSES} times with its node ({lost}); "
            "check the memory of the nodes, or search on this machine"
        ) from None

    def _place(self) -> None:
        """Send each part to a node, where its terms are counted and, by the counts of all parts, weighed."""
        for start, end in pairwise(self._bounds):
            self._parts.append(self._nodes.place(BM25Shard, self._settings))
            for texts in self._texts(self._ids[start:end]):
                self._parts[-1].call("add", texts)
        counts: list[Counts] = _all(self._parts, "count", [()] * len(self._parts))
        rarities, mean_length = _statistics(counts, len(self._passages))
        _all(self._parts, "weigh", [(rarity, mean_length) for rarity in rarities])

    def _texts(self, ids: Sequence[str]) -> Iterator[list[str]]:
        texts: list[str] = []
        size = 0
        for doc_id in ids:
            texts.append(self._passages[doc_id])
            size += len(texts[-1])
            if size > _CHARACTERS_AT_ONCE:
                yield texts
                texts = []
                size = 0
        yield texts

    def _merged(self, best: Sequence[tuple[Integers, Floats]], k: int) -> dict[str, float]:
        places = np.concatenate([start + local for start, (local, _) in zip(self._bounds, best, strict=False)])
        scores = np.concatenate([scores for _, scores in best])
        order = highest(scores, k, places)
        pairs = zip(places[order].tolist(), scores[order].tolist(), strict=True)
        return {self._ids[position]: score for position, score in pairs}


def _all(parts: Sequence[RemoteObject], method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Call a method of all parts at the same time, each with its arguments, and return the answers."""
    promises = [part.begin(method, *values) for part, values in zip(parts, arguments, strict=True)]
    return [promise.result() for promise in promises]


def _statistics(counts: Sequence[Counts], passages: int) -> tuple[list[Floats], float]:
    """Return what the terms of each part weigh, and the mean number of terms of a passage, over all parts.

    Args:
        counts: The counts of each part.
        passages: The number of all passages.
    """
    numbers: dict[str, int] = {}
    of_parts: list[npt.NDArray[np.int64]] = [
        np.array([numbers.setdefault(word, len(numbers)) for word in words], np.int64) for words, _, _ in counts
    ]
    frequencies = np.zeros(len(numbers), np.int64)
    for own, (_, counted, _) in zip(of_parts, counts, strict=True):
        frequencies[own] += counted
    rarity = rarity_of(frequencies, passages)
    return [rarity[own] for own in of_parts], sum(terms for *_, terms in counts) / max(1, passages)
