"""Scores by query of sixteen lexical systems, for people's queries and for made ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

import numpy as np

from goldbench.measures.statistics.floats import Floats
from tests.benchmarks.azzopardi import Azzopardi, Model
from tests.benchmarks.collections import Collection, load
from tests.benchmarks.systems import Analyzers, Corpus, ndcg
from tests.benchmarks.written_queries import OPTIONS, WrittenSet, written

AZZOPARDI = "Azzopardi "


@dataclass(frozen=True, slots=True)
class Scores:
    """nDCG@10 of every system for every query, shape (systems, queries), and the share of queries by a model."""

    lexical: Floats
    by_model: float = np.nan


class Sources:
    """The sources of queries of one collection.

    Args:
        folder: A folder of a collection; see ``collections``.
        count: Most queries of a made set.
    """

    def __init__(self, folder: Path, *, count: int) -> None:
        self._folder, self._count = folder, count
        self.collection: Collection = load(folder)

    def people(self) -> Scores:
        """Return the scores by people's queries and judgments."""
        return self._scores(self.collection.queries, self.collection.gains)

    def made(self, source: str, seed: int) -> Scores:
        """Return the scores by a made set; the source of each query is relevant.

        Args:
            source: A key of ``OPTIONS``, or ``Azzopardi popular`` or ``Azzopardi discriminative``.
            seed: Seed of the set.
        """
        drawn = self._set(source, seed)
        scores = self._scores(drawn.queries, [{position: 1.0} for position in drawn.sources])
        return Scores(scores.lexical, np.nan if drawn.by_model is None else drawn.by_model)

    def _set(self, source: str, seed: int) -> WrittenSet:
        if source in OPTIONS:
            return written(self._folder, source, count=self._count, seed=seed)
        model = cast("Model", source.removeprefix(AZZOPARDI))
        drawn = list(self._azzopardi.queries(model, seed=seed, count=self._count))
        return WrittenSet([text for _, text in drawn], [position for position, _ in drawn])

    def _scores(self, queries: Sequence[str], gains: Sequence[dict[int, float]]) -> Scores:
        return Scores(ndcg(self._corpus.top(queries), gains))

    @cached_property
    def _corpus(self) -> Corpus:
        asked = self.collection
        return Corpus(asked.documents, Analyzers(asked.documents, language=asked.language, spaceless=asked.spaceless))

    @cached_property
    def _azzopardi(self) -> Azzopardi:
        return Azzopardi(self.collection.documents, spaceless=self.collection.spaceless)
