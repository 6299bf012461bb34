"""The worth of a pool: a judge without fault helps, one without sense harms."""

from __future__ import annotations

import numpy as np
import pytest

from goldbench.measures.statistics.pool_worth import JudgedPool, pool_worth, relevance_rates

QUERIES, DOCS, SYSTEMS = 40, 12, 6


def _pool(relevant: float, *, seed: int = 0) -> tuple[JudgedPool, np.ndarray]:
    """Return a pool in which each document but the source is relevant with a chance, and the truth.

    Systems put noise on the truth, the first the least.
    """
    rng = np.random.default_rng(seed)
    truth = rng.random((QUERIES, DOCS)) < relevant
    truth[:, 0] = True
    noise = np.linspace(0.3, 1.5, SYSTEMS)[:, None, None] * rng.normal(size=(SYSTEMS, QUERIES, DOCS))
    order = np.argsort(-(truth + noise), axis=2)[:, :, :5]
    top = order + DOCS * np.arange(QUERIES)[None, :, None]
    source = np.zeros((QUERIES, DOCS), dtype=bool)
    source[:, 0] = True
    rank = np.tile(np.arange(1, DOCS + 1), QUERIES)
    query = np.repeat(np.arange(QUERIES), DOCS)
    flat = truth.ravel()
    return JudgedPool(flat.astype(float), flat.copy(), source.ravel(), rank, query, top), flat


def test_a_judge_without_fault_is_as_close_as_can_be_and_adds_nothing_false() -> None:
    pool, _ = _pool(0.4)
    [shallow, whole] = pool_worth(pool, (3, DOCS))
    assert whole.pool == pytest.approx(1.0)
    assert whole.false_share == 0
    assert whole.gain > 0
    assert whole.harms is False
    assert whole.positives > shallow.positives
    assert whole.pool >= shallow.pool


def test_labels_drawn_by_lot_do_harm_where_the_source_is_all_there_is() -> None:
    pool, flat = _pool(0.0)
    lots = np.random.default_rng(3).random(len(flat)) < 0.5
    blind = JudgedPool(np.where(pool.source, 1.0, 0.0), lots, pool.source, pool.rank, pool.query, pool.top)
    [whole] = pool_worth(blind, (DOCS,))
    assert whole.single == pytest.approx(1.0)
    assert whole.gain < -0.1
    assert whole.harms is True
    assert whole.false_share == 1.0


def test_few_judged_pairs_stay_near_what_is_usual_and_many_outweigh_it() -> None:
    assert relevance_rates({}) == (0.05, 0.2, 0.45, 0.6)
    rates = relevance_rates({0: (400, 200), 3: (1, 0)})
    assert rates[0] == pytest.approx(0.5, abs=0.01)
    assert rates[3] == pytest.approx(0.48)
