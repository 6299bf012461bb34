"""The baselines: built-in simple retrievers, run over a gold set for the figures on rankings."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from goldbench.card.described_set import DescribedSet
from goldbench.errors import GoldbenchError
from goldbench.measures.evaluation import evaluate
from goldbench.measures.ranks.order import best
from goldbench.measures.statistics.floats import Floats
from goldbench.retrieval.fusion import reciprocal_ranks
from goldbench.retrieval.system_settings import RRF_K
from goldbench.systems import open_systems

Tables: TypeAlias = dict[str, dict[str, object]]
"""The settings of systems by name."""
Rankings: TypeAlias = dict[str, dict[str, list[str]]]
"""What systems retrieve: system -> query -> ids of passages, best first."""

WORDS = "bm25"
DENSE = "lsi-200"
FUSION = "fusion"
"""The word-matching and the dense baseline, and the one that fuses the two."""
DEPTH = 100
"""Results kept per baseline and query."""


@dataclass(frozen=True, slots=True)
class Baselines:
    """The rankings of each baseline, and its nDCG@10 for every query with a relevant passage.

    ``scores`` has the shape (queries, baselines), in the order of ``query_ids`` and ``ranked``. A baseline that fails
    is left out.
    """

    query_ids: list[str]
    ranked: Rankings
    scores: Floats

    @property
    def names(self) -> list[str]:
        """The baselines that could be run."""
        return list(self.ranked)


def described(language: str | None) -> Tables:
    """Return the settings of the baselines: three of BM25, two of LSI, one fusion, two of n-grams.

    Args:
        language: Language of the corpus, for stems and stop words; None for neither.
    """
    stemmed: dict[str, object] = {"language": language} if language else {}
    return {
        WORDS: {"kind": "bm25"},
        "bm25-short": {"kind": "bm25", "k1": 0.9, "b": 0.4, "analyzer": "cjk-bigram", **stemmed},
        "bm25-long": {"kind": "bm25", "k1": 2.0, "b": 0.9, "analyzer": "cjk-bigram"},
        "lsi-100": {"kind": "lsi", "dimensions": 100, "analyzer": "cjk-bigram", **stemmed},
        DENSE: {"kind": "lsi", "dimensions": 200, "analyzer": "cjk-bigram", **stemmed},
        FUSION: {"kind": "rrf", "of": [WORDS, DENSE]},
        "ngrams-3": {"kind": "ngrams", "shortest": 3, "longest": 3},
        "ngrams-4": {"kind": "ngrams", "shortest": 4, "longest": 4},
    }


def run_baselines(material: DescribedSet) -> Baselines:
    """Search the set with every baseline."""
    query_ids = sorted(query_id for query_id in material.qrels if material.relevant(query_id))
    queries = {query_id: material.queries[query_id] for query_id in query_ids}
    ranked = ranked_by_all(material.main_language, material.corpus, queries) if queries else {}
    qrels = {query_id: material.qrels[query_id] for query_id in query_ids}
    return Baselines(query_ids, ranked, _scores(qrels, ranked))


def ranked_by_all(language: str | None, corpus: Mapping[str, str], queries: Mapping[str, str]) -> Rankings:
    """Return the rankings of every baseline; one that fails is left out.

    One thread calculates: the same bits on any number of processors, and faster on small corpora.

    Args:
        corpus: The texts of the passages by id.
        queries: The texts of the queries by id.
    """
    tables = described(language)
    searched = {name: table for name, table in tables.items() if name != FUSION}
    ranked: Rankings = {}
    with threadpool_limits(1), open_systems(list(searched), searched, where="baselines") as systems:
        for name in searched:
            with suppress(GoldbenchError), systems.freed(name) as system:
                system.index(corpus)
                run = system.search(queries, k=min(DEPTH, len(corpus)))
                ranked[name] = {query_id: list(run.get(query_id, {})) for query_id in queries}
    if WORDS in ranked and DENSE in ranked:
        ranked[FUSION] = {
            query_id: list(best(reciprocal_ranks([ranked[WORDS][query_id], ranked[DENSE][query_id]], k=RRF_K), DEPTH))
            for query_id in queries
        }
    return {name: ranked[name] for name in tables if name in ranked}


def _scores(qrels: Mapping[str, Mapping[str, int]], ranked: Rankings) -> Floats:
    """Return nDCG@10 by query and baseline, in the order of the query ids."""
    columns = [evaluate(qrels, rankings, "ndcg@10").values["ndcg@10"] for rankings in ranked.values()]
    return np.stack(columns, axis=1) if columns else np.zeros((len(qrels), 0))
