"""Scores by query of sixteen lexical systems and of the card's baselines, for people's queries and for made ones.

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

from goldbench.card.baselines import FRESH_QUERIES as FRESH
from goldbench.card.baselines import described, fresh_scores, ranked_by_all
from goldbench.measures.statistics.floats import Floats
from goldbench.offline.fresh_queries import fresh_queries
from goldbench.offline.generator import RecipeName
from tests.benchmarks.azzopardi import Azzopardi, Model
from tests.benchmarks.collections import Collection, load
from tests.benchmarks.systems import DEPTH, Analyzers, Corpus, ndcg
from tests.benchmarks.written_queries import OPTIONS, WrittenSet, written

ROOT = Path(__file__).resolve().parents[2]
SHAPING = ("pipeline/goldbench/offline", "pipeline/goldbench/stages", "pipeline/goldbench/text")
"""Folders of the code that makes queries."""
TOLD = frozenset({"notice.py"})
"""Modules in them that make none."""
PEOPLE, AZZOPARDI = "people", "Azzopardi "


@dataclass(frozen=True, slots=True)
class Scores:
    """nDCG@10 of every system for every query, shapes (systems, queries): lexical systems, and the card's baselines."""

    lexical: Floats
    card: Floats
    by_model: float = np.nan


def simulated_scores(collection: Collection, corpus: Corpus, recipe: RecipeName, *, count: int) -> Floats:
    """Return the scores of the lexical systems for simulated queries, shape (systems, queries).

    Args:
        collection: The collection.
        corpus: Its documents in terms.
        recipe: How queries are simulated.
        count: Most queries, at most one of a document.
    """
    texts = {f"d{number}": text for number, text in enumerate(collection.documents)}
    made = fresh_queries(texts, recipe, count=count, draws=1, seed=1, language=collection.language)
    masked = {int(name[1:]): text for name, text in made.masked.items()}
    indexed = corpus.replaced(masked) if masked else corpus
    return ndcg(indexed.top(list(made.queries.values())), [{int(one[1:]): 1.0} for one in made.sources.values()])


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
        return self._kept(PEOPLE, lambda: self._scores(asked.queries, asked.gains, {}))

    def made(self, source: str, seed: int) -> Scores:
        """Return the scores by a set of a recipe, a model or Azzopardi's method; the source of a query is relevant.

        Args:
            source: A key of ``OPTIONS``, or ``Azzopardi popular`` or ``Azzopardi discriminative``.
            seed: Seed of the set.
        """
        return self._kept(f"{source}-{self._count}-{seed}", lambda: self._of(self._set(source, seed)))

    def fresh(self, recipe: RecipeName, seed: int) -> list[Floats]:
        """Return the scores of the card's baselines with its freshly simulated queries, draw by draw.

        Args:
            recipe: How queries are simulated.
            seed: Seed of the draws.
        """
        path = self._path(f"fresh-{recipe}-{FRESH}-{seed}")
        if not path.is_file():
            passages = {f"d{position}": text for position, text in enumerate(self.collection.documents)}
            found = fresh_scores(passages, recipe, language=self.collection.language, seed=seed)
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, *[one.scores for one in found])
        with np.load(path) as kept:
            return [kept[name] for name in kept.files]

    def _set(self, source: str, seed: int) -> WrittenSet:
        if source in OPTIONS:
            return written(self._folder, source, count=self._count, seed=seed, cache=self._cache)
        model = cast("Model", source.removeprefix(AZZOPARDI))
        drawn = list(self._azzopardi.queries(model, seed=seed, count=self._count))
        return WrittenSet([text for _, text in drawn], [position for position, _ in drawn], {})

    def _of(self, made: WrittenSet) -> Scores:
        scores = self._scores(made.queries, [{source: 1.0} for source in made.sources], made.masked)
        return Scores(scores.lexical, scores.card, np.nan if made.by_model is None else made.by_model)

    def _scores(self, queries: Sequence[str], gains: Sequence[dict[int, float]], masked: dict[int, str]) -> Scores:
        corpus = self._corpus.replaced(masked) if masked else self._corpus
        texts = dict(enumerate(self.collection.documents)) | masked
        return Scores(ndcg(corpus.top(queries), gains), ndcg(self._card_top(queries, texts), gains))

    def _card_top(self, queries: Sequence[str], texts: dict[int, str]) -> list[np.ndarray]:
        """Return the best documents by each baseline of the card, as ``Corpus.top`` does."""
        asked = {f"q{number}": text for number, text in enumerate(queries)}
        passages = {f"d{position}": text for position, text in texts.items()}
        ranked = ranked_by_all(self.collection.language, passages, asked)
        return [
            np.array([([int(one[1:]) for one in found[query][:DEPTH]] + [-1] * DEPTH)[:DEPTH] for query in asked])
            for found in ranked.values()
        ]

    def _kept(self, name: str, make: Callable[[], Scores]) -> Scores:
        path = self._path(name)
        if not path.is_file():
            found = make()
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, lexical=found.lexical, card=found.card, by_model=found.by_model)
        with np.load(path) as kept:
            return Scores(kept["lexical"], kept["card"], float(kept["by_model"]))

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
    return hashlib.sha256(b"".join([*parts, repr(described("en")).encode()])).hexdigest()[:12]
