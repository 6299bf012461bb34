"""Likely errors of the judge: the score of each pair, by fixed weights of signs that judges err."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from goldbench.records.judgment import Judgment, Origin, PooledPair
from goldbench.records.relevance import RELEVANT, Relevance, settled
from goldbench.review.state import Pair

Runs = Mapping[str, Mapping[str, Sequence[str]]]
"""The documents returned by each system, best first, by query."""

IMPACT = 0.3
"""How much more a pair counts that matters most to scores than one that matters least (0.3 = 30 %)."""

_GAIN = 2**3 - 1


def likely_errors(
    pool: Iterable[PooledPair],
    judgments: Mapping[Pair, Sequence[Judgment]],
    *,
    covers: Mapping[Pair, float] | None = None,
    runs: Runs | None = None,
) -> dict[Pair, float]:
    """Return the score of each pair of a pool, the likeliest error highest.

    The score is 1.0 spread/3 + 0.5 [grade >= 2] + 0.8 [source graded < 2] + 0.5 [not the source, graded 3]
    + 0.4 [cover >= 0.8 and grade >= 2] + 0.3 [a quote that was not there] + 0.5 [users clicked or voted on it,
    graded < 2]; for a pair without a grade 1.0 if users clicked or voted on it. To it come 0.3 times the discounted
    gain that the pair can add, summed over systems, as a share of the highest.

    Args:
        pool: The pairs.
        judgments: The judge's judgments of each pair.
        covers: The share of a query's terms that a passage holds, 0 to 1, by pair.
        runs: Further rankings, besides those of the pool.
    """
    pooled = list(pool)
    ranks = _ranks(pooled, runs or {})
    gains = {pair: sum(_GAIN / math.log2(rank + 1) for rank in by_system.values()) for pair, by_system in ranks.items()}
    highest = max(gains.values(), default=0.0) or 1.0
    scores = {}
    for row in pooled:
        pair = row.query_id, row.chunk_id
        doubt = _doubt(row, judgments.get(pair, ()), (covers or {}).get(pair, 0.0))
        scores[pair] = doubt + IMPACT * gains[pair] / highest
    return scores


def _doubt(row: PooledPair, judgments: Sequence[Judgment], cover: float) -> float:
    """Return the weighted signs that the grade of a pair is wrong."""
    if not judgments:
        return float(row.origin is Origin.FEEDBACK)
    grades = [judgment.relevance for judgment in judgments]
    grade = settled(grades)
    relevant = grade >= RELEVANT
    signs = (
        ((max(grades) - min(grades)) / max(Relevance), 1.0),
        (relevant, 0.5),
        (row.origin is Origin.SOURCE and not relevant, 0.8),
        (row.origin is not Origin.SOURCE and grade is Relevance.ANSWERS, 0.5),
        (cover >= 0.8 and relevant, 0.4),
        (any(judgment.capped for judgment in judgments), 0.3),
        (row.origin is Origin.FEEDBACK and not relevant, 0.5),
    )
    return math.fsum(weight * sign for sign, weight in signs)


def settled_grades(judgments: Mapping[Pair, Sequence[Judgment]]) -> dict[Pair, Relevance]:
    """Return the judge's grade of each pair, settled from its assessors' grades."""
    return {pair: settled([judgment.relevance for judgment in of_pair]) for pair, of_pair in judgments.items()}


def _ranks(pooled: Sequence[PooledPair], runs: Runs) -> dict[Pair, dict[str, int]]:
    """Return the rank of each pair at the retrievers of the pool and in further rankings."""
    ranks = {(row.query_id, row.chunk_id): dict(row.ranks) for row in pooled}
    for system, ranking in runs.items():
        for query_id, chunk_ids in ranking.items():
            for rank, chunk_id in enumerate(chunk_ids, 1):
                if (query_id, chunk_id) in ranks:
                    ranks[query_id, chunk_id].setdefault(system, rank)
    return ranks
