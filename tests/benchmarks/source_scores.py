"""Scores by query of sixteen lexical systems, for people's queries and for made ones.

Scores are kept in a cache folder under the digest of everything that shapes them, so that a measurement can be
continued, and its statistics changed, without searching again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import cast

import numpy as np

from goldbench.measures.statistics.floats import Floats
from tests.benchmarks.azzopardi import Azzopardi, Model
from tests.benchmarks.collections import Collection, load
from tests.benchmarks.systems import Analyzers, Corpus, ndcg
from tests.benchmarks.written_queries import OPTIONS, WrittenSet, written

ROOT = Path(__file__).resolve().parents[2]
SHAPING = ("pipeline/goldbench/offline", "pipeline/goldbench/stages", "pipeline/goldbench/text")
"""Folders of the code that makes queries."""
TOLD = frozenset({"notice.py"})
"""Modules in them that make none."""
PEOPLE, AZZOPARDI = "people", "Azzopardi "


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
        cache: Folder for sets and scores.
    """

    def __init__(self, folder: Path, *, count: int, cache: Path) -> None:
        self._folder, self._count, self._cache = folder, count, cache
        self.collection: Collection = load(folder)

    def people(self) -> Scores:
        """Return the scores by people's queries and judgments."""
        asked = self.collection
        return self._kept(PEOPLE, lambda: self._scores(asked.queries, asked.gains))

    def made(self, source: str, seed: int) -> Scores:
        """Return the scores by a made set; the source of each query is relevant.

        Args:
            source: A key of ``OPTIONS``, or ``Azzopardi popular`` or ``Azzopardi discriminative``.
            seed: Seed of the set.
        """
        return self._kept(f"{source}-{self._count}-{seed}", lambda: self._of(self._set(source, seed)))

    def _set(self, source: str, seed: int) -> WrittenSet:
        if source in OPTIONS:
            return written(self._folder, source, count=self._count, seed=seed, cache=self._cache)
        model = cast("Model", source.removeprefix(AZZOPARDI))
        drawn = list(self._azzopardi.queries(model, seed=seed, count=self._count))
        return WrittenSet([text for _, text in drawn], [position for position, _ in drawn])

    def _of(self, made: WrittenSet) -> Scores:
        scores = self._scores(made.queries, [{source: 1.0} for source in made.sources])
        return Scores(scores.lexical, np.nan if made.by_model is None else made.by_model)

    def _scores(self, queries: Sequence[str], gains: Sequence[dict[int, float]]) -> Scores:
        return Scores(ndcg(self._corpus.top(queries), gains))

    def _kept(self, name: str, make: Callable[[], Scores]) -> Scores:
        path = self._path(name)
        if not path.is_file():
            found = make()
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, lexical=found.lexical, by_model=found.by_model)
        with np.load(path) as kept:
            return Scores(kept["lexical"], float(kept["by_model"]))

    def _path(self, name: str) -> Path:
        return self._cache / "scores" / self._folder.name / f"{name}-{_digest()}.npz"

    @cached_property
    def _corpus(self) -> Corpus:
        asked = self.collection
        return Corpus(asked.documents, Analyzers(asked.documents, language=asked.language, spaceless=asked.spaceless))

    @cached_property
    def _azzopardi(self) -> Azzopardi:
        return Azzopardi(self.collection.documents, spaceless=self.collection.spaceless)


@cache
def _digest() -> str:
    """Return the digest of the code that shapes queries and scores."""
    code = [Path(__file__).with_name("systems.py"), Path(__file__).with_name("azzopardi.py")]
    for folder in SHAPING:
        code += sorted(path for path in (ROOT / folder).rglob("*.py") if path.name not in TOLD)
    parts = [path.read_bytes() for path in code]
    return hashlib.sha256(b"".join(parts)).hexdigest()[:12]
