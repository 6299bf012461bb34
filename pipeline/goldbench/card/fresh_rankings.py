"""Freshly simulated queries of a set's passages, and what the baselines score with them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from goldbench.card.baselines import Baselines, ndcg, ranked_by_all
from goldbench.measures.statistics.floats import Floats
from goldbench.offline.fresh_queries import DRAWS, fresh_queries
from goldbench.offline.generator import RecipeName

PASSAGES = 2_000
"""Most passages that queries are drawn from and searched in: an evenly spaced sample bounds the time of a card."""
QUERIES = 300
"""Most queries drawn."""


def fresh_scores(corpus: Mapping[str, str], recipe: RecipeName, *, language: str | None, seed: int) -> list[Baselines]:
    """Return what the baselines score with fresh queries, draw by draw; draws without queries are left out.

    Args:
        corpus: The texts of the passages by id.
        recipe: How queries are made.
        language: Language of the corpus, None if it is not known.
        seed: Seed of the draws, 0 or more.
    """
    ids = sorted(corpus)
    sample = {doc_id: corpus[doc_id] for doc_id in ids[:: max(1, -(-len(ids) // PASSAGES))]}
    made = fresh_queries(sample, recipe, count=QUERIES, draws=DRAWS, seed=seed, language=language)
    if not made.queries:
        return []
    ranked = ranked_by_all(language, made.searched(sample), made.queries)
    qrels = {name: {made.sources[name]: 1} for name in made.queries}
    row = {name: place for place, name in enumerate(made.queries)}
    scores = np.stack([ndcg(qrels, found) for found in ranked.values()], axis=1)
    return [Baselines(list(one), ranked, _rows(scores, [row[name] for name in one])) for one in made.draws if one]


def _rows(scores: Floats, places: list[int]) -> Floats:
    return np.asarray(scores[places])
