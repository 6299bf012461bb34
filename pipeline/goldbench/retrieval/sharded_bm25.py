"""BM25 over parts of the passages on the nodes of a cluster: the same scores and order as `BM25`, bit for bit.

Each node counts the terms of its part. The counts of all parts are added up on this machine, so that each part is
weighed as a part of the whole, and what the parts find is merged by score and id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from goldbench.cluster.ray_cluster import Cluster
from goldbench.cluster.remote_object import MOST_LOSSES, Lost, Promise, RemoteObject
from goldbench.errors import RetrieverFailed
from goldbench.measures.ranks.order import highest, in_tie_order
from goldbench.retrieval.bm25 import WeightedTerms, rarity_of
from goldbench.retrieval.postings import Floats, Integers, Occurrences
from goldbench.retrieval.system_settings import BM25Settings
from goldbench.retrieval.tokens import tokenizer

Counts: TypeAlias = tuple[list[str], npt.NDArray[np.int64], int]
"""The terms of some passages, how many passages hold each, and the number of terms with repetitions."""
Step: TypeAlias = Callable[[RemoteObject], Promise]
"""Begins a piece of work on the node that holds a part."""
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
    """An index of passages in parts.

    Args:
        settings: The settings; their analyzer is not ``file``.
        nodes: The cluster.
        worth_a_part: Passages of a part, at the least.
    """

    def __init__(self, settings: BM25Settings, *, nodes: Cluster, worth_a_part: int = _WORTH_A_PART) -> None:
        self._settings, self._nodes, self._worth_a_part = settings, nodes, worth_a_part
        self._tokens = tokenizer(settings.analyzer, language=settings.language)
        self._ids: list[str] = []
        self._parts: list[_Part] = []

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the text of each passage by its id."""
        self.close()
        self._ids = in_tie_order(passages)
        count = max(1, min(self._nodes.processors, len(passages) // self._worth_a_part))
        bounds = [len(passages) * number // count for number in range(count + 1)]
        self._parts = [
            _Part(self._settings, self._nodes, passages, self._ids[start:end], start) for start, end in pairwise(bounds)
        ]
        counts: list[Counts] = self._all([part.count for part in self._parts], again=True)
        rarities, mean_length = _statistics(counts, len(passages))
        self._all([_weighing(rarity, mean_length) for rarity in rarities], again=True)

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with a score above 0, best first."""
        rankings: dict[str, dict[str, float]] = {}
        left = iter(queries.items())
        while some := dict(islice(left, _QUERIES_AT_ONCE)):
            terms = [self._tokens(text) for text in some.values()]
            answers = self._all([_searching(terms, k)] * len(self._parts))
            for query_id, *best in zip(some, *answers, strict=True):
                rankings[query_id] = self._merged(best, k)
        return rankings

    def close(self) -> None:
        """End the parts on their nodes."""
        for part in self._parts:
            part.close()
        self._parts = []

    def _all(self, steps: Sequence[Step], *, again: bool = False) -> list[Any]:
        """Do a piece of work for each part at the same time and return the answers.

        Args:
            steps: The work for each part.
            again: Whether a part needs it again when its node is replaced.
        """
        for part, step in zip(self._parts, steps, strict=True):
            part.begin(step)
        return [part.end(step, again=again) for part, step in zip(self._parts, steps, strict=True)]

    def _merged(self, best: Sequence[tuple[Integers, Floats]], k: int) -> dict[str, float]:
        places = np.concatenate([part.start + local for part, (local, _) in zip(self._parts, best, strict=True)])
        scores = np.concatenate([scores for _, scores in best])
        order = highest(scores, k, places)
        pairs = zip(places[order].tolist(), scores[order].tolist(), strict=True)
        return {self._ids[position]: score for position, score in pairs}


class _Part:
    """Passages whose index is on a node, and what it takes to make it again on another one.

    Args:
        settings: The settings of the index.
        nodes: The cluster.
        passages: The texts of all passages by id.
        ids: The passages of this part, in tie order.
        start: The place of the first of them among all.
    """

    def __init__(
        self, settings: BM25Settings, nodes: Cluster, passages: Mapping[str, str], ids: Sequence[str], start: int
    ) -> None:
        self.start = start
        self._settings, self._nodes, self._passages, self._ids = settings, nodes, passages, ids
        self._remote: RemoteObject | None = None
        self._begun: Promise | None = None
        self._losses = 0
        self._done: list[Step] = []

    def begin(self, step: Step) -> None:
        """Begin a piece of work."""
        self._losses = 0
        try:
            self._begun = step(self._live())
        except Lost as error:
            self._lose(error)

    def end(self, step: Step, *, again: bool) -> Any:  # noqa: ANN401  whatever the work gives
        """Wait for the answer of the work that was begun, which is done again if the node is lost.

        Args:
            step: The work.
            again: Whether it is done again for each later node.

        Raises:
            RetrieverFailed: Several nodes were lost one after another.
        """
        while True:
            try:
                answer = (self._begun or step(self._live())).result()
            except Lost as error:
                self._lose(error)
                continue
            self._begun = None
            if again:
                self._done.append(step)
            return answer

    def count(self, remote: RemoteObject) -> Promise:
        """Send the passages to a node and begin to count their terms."""
        for texts in self._texts():
            remote.call("add", texts)
        return remote.begin("count")

    def close(self) -> None:
        """End the index on its node."""
        if self._remote is not None:
            self._remote.kill()
        self._remote = self._begun = None

    def _lose(self, error: Lost) -> None:
        """Count a loss of the index with its node.

        Raises:
            RetrieverFailed: It is the last one that is allowed.
        """
        self.close()
        self._losses += 1
        if self._losses >= MOST_LOSSES:
            raise RetrieverFailed(
                f"the BM25 index was lost {self._losses} times with its node ({error}); "
                "check the memory of the nodes, or search on this machine"
            ) from None

    def _live(self) -> RemoteObject:
        """Return the index on its node, made again with all that was done if the node was lost."""
        if self._remote is None:
            self._remote = self._nodes.place(BM25Shard, self._settings)
            for step in self._done:
                step(self._remote).result()
        return self._remote

    def _texts(self) -> Iterator[list[str]]:
        texts: list[str] = []
        size = 0
        for doc_id in self._ids:
            texts.append(self._passages[doc_id])
            size += len(texts[-1])
            if size > _CHARACTERS_AT_ONCE:
                yield texts
                texts, size = [], 0
        yield texts


def _weighing(rarity: Floats, mean_length: float) -> Step:
    return lambda remote: remote.begin("weigh", rarity, mean_length)


def _searching(terms: Sequence[Sequence[str]], k: int) -> Step:
    return lambda remote: remote.begin("search", terms, k)


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
