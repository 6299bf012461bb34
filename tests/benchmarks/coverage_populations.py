"""Populations whose truth is known, for `coverage`: made ones that look like nDCG, and TREC Deep Learning 2023."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from tests.benchmarks.collections import collections_folder
from tests.benchmarks.joint_validity import load
from tests.benchmarks.queue_validity import GPT_DL23, NIST_DL23, grades

Floats = npt.NDArray[np.float64]
SIZE = 20_000
"""Queries of a made population."""
GRADES = 4


def like_ndcg(systems: int, *, zeros: float = 0.15, seed: int = 0) -> Floats:
    """Return scores with many zeros and ones, skewed, shape (SIZE, systems); half of a query's scores are tied."""
    draw = np.random.default_rng(seed)

    def scores(count: int) -> Floats:
        kinds = draw.random((SIZE, count))
        values = draw.beta(1.2, 1.6, (SIZE, count))
        return np.where(kinds < zeros, 0.0, np.where(kinds > 0.9, 1.0, values))

    quality = np.linspace(0, 0.06, systems)
    shared, own = scores(1), np.clip(scores(systems) + quality, 0, 1)
    return np.where(draw.random((SIZE, systems)) < 0.5, shared, own)


@cache
def deep_learning() -> tuple[Floats, Floats] | None:
    """Return nDCG@10 of 35 runs on 82 queries under people's and GPT-4's labels, shapes (82, 35), or None without."""
    folder = collections_folder() / "llm_judgments" / "dl23_per_query"
    if not folder.exists():
        return None
    track = load(folder)
    return track.people.T, track.model.T


@cache
def graded_pairs() -> Floats | None:
    """Return tables of pairs of DL 2023, shape (82, 4, 4): rows people's grades, columns GPT-4's; None without."""
    folder = collections_folder() / "llm_judgments" / "dl23_gpt4"
    if not folder.exists():
        return None
    people, model = grades(folder / NIST_DL23), grades(folder / GPT_DL23)
    queries = sorted({query for query, _ in people})
    tables = np.zeros((len(queries), GRADES, GRADES))
    for query, doc in people.keys() & model.keys():
        tables[queries.index(query), people[query, doc], model[query, doc]] += 1
    return tables


def made_tables(queries: int, pairs: int, draw: np.random.Generator) -> Floats:
    """Return tables of a made judge, shape (queries, 4, 4): its chance to agree differs from query to query."""
    base = np.array([0.5, 0.25, 0.15, 0.1])
    tables = np.zeros((queries, GRADES, GRADES))
    sizes = np.maximum(2, np.rint(pairs * draw.lognormal(-0.32, 0.8, queries))).astype(int)
    mixes, kept = draw.dirichlet(base * 6, queries), draw.beta(6, 4, queries)
    for table, size, mix, agree in zip(tables, sizes, mixes, kept, strict=True):
        people = draw.choice(GRADES, size, p=mix)
        model = np.where(draw.random(size) < agree, people, draw.choice(GRADES, size, p=base))
        np.add.at(table, (people, model), 1)
    return tables
