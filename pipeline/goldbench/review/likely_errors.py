"""Likely errors of the judge: scores of pairs by fixed weights, or by error rates learnt from the random sample."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import mul

import numpy as np

from goldbench.measures.statistics.floats import Floats, effective_size, inverse_weights
from goldbench.measures.statistics.ridge_logistic import Expected, probabilities, ridge_logistic
from goldbench.records.judgment import Judgment, Origin, PooledPair
from goldbench.records.relevance import RELEVANT, Relevance, settled
from goldbench.review.state import Pair

Runs = Mapping[str, Mapping[str, Sequence[str]]]
"""The documents returned by each system, best first, by query."""

IMPACT = 0.3
"""How much more a pair counts that matters most to scores than one that matters least (0.3 = 30 %)."""

_GAIN = 2**3 - 1
_BY_GRADE = (-2.0, -1.0, 0.0, 0.0, -1.5)
"""Log-odds of an error expected of the grades 0 to 3 and of no grade: about 12 %, 27 %, 50 %, 50 % and 18 %.

Models are mostly right about what is not relevant and wrong about half of what they find relevant.
"""
_BY_SIGN = (1.0, 0.8, 0.4, 0.3, 0.5, 0.0, 0.0)
"""Log-odds that each sign of `_row` is expected to add: the fixed weights; of the rank nothing is expected."""
_EXPECTED = np.array(_BY_GRADE + _BY_SIGN)
_SPREAD = np.array([1.0] * len(_BY_GRADE) + [0.5] * len(_BY_SIGN))
"""How far each may well be off. About a dozen judged pairs of a grade outweigh what is expected of it."""


@dataclass(frozen=True, slots=True)
class CheckedPair:
    """A pair of the random sample: the grade that people gave it, and the probability with which it was drawn."""

    pair: Pair
    people: Relevance
    inclusion: float = 1.0


@dataclass(frozen=True, slots=True)
class Suspects:
    """What is known of each pair before people judge: features, the fixed score and the impact, in one order."""

    places: Mapping[Pair, int]
    grades: Mapping[Pair, Relevance]
    features: Floats
    fixed: Floats
    impact: Floats

    def by_fixed_weights(self) -> dict[Pair, float]:
        """Return the score of each pair: the fixed score and 0.3 times the impact."""
        return dict(zip(self.places, (self.fixed + IMPACT * self.impact).tolist(), strict=True))

    def by_error_rates(self, sample: Sequence[CheckedPair]) -> dict[Pair, float]:
        """Return the score of each pair: its expected error by the sample, up to 30 % more by its impact.

        A pair of the sample counts by the inverse of its probability. The weights sum to the number of pairs drawn with
        equal probabilities that would say as much.

        Args:
            sample: Judged pairs of the random sample; those that are unknown here are left out.
        """
        known = [one for one in sample if one.pair in self.places]
        weights = inverse_weights([one.inclusion for one in known])
        weights = weights * (effective_size(weights) / max(1, len(known)))
        outcomes = np.array([error_size(self.grades.get(one.pair), one.people) for one in known], dtype=np.float64)
        rows = self.features[[self.places[one.pair] for one in known]]
        found = ridge_logistic(rows, outcomes, weights, Expected(_EXPECTED, _SPREAD))
        scores = probabilities(self.features, found) * (1.0 + IMPACT * self.impact)
        return dict(zip(self.places, scores.tolist(), strict=True))


def error_size(judge: Relevance | None, people: Relevance) -> float:
    """Return how wrong a judge's grade is, 0 to 1: mostly whether it is on the wrong side of relevant.

    A pair without a grade counts as not relevant, as in every score.
    """
    given = judge if judge is not None else Relevance.UNRELATED
    crossed = (given >= RELEVANT) != (people >= RELEVANT)
    return (2.0 * crossed + abs(int(given) - int(people)) / max(Relevance)) / 3.0


def suspects(
    pool: Iterable[PooledPair],
    said: Mapping[Pair, Sequence[Judgment]],
    *,
    covers: Mapping[Pair, float] | None = None,
    runs: Runs | None = None,
) -> Suspects:
    """Return what is known of each pair of a pool.

    The fixed score is 1.0 spread/3 + 0.5 [grade >= 2] + 0.8 [source graded < 2] + 0.5 [not the source, graded 3]
    + 0.4 [cover >= 0.8 and grade >= 2] + 0.3 [a quote that was not there] + 0.5 [users clicked or voted on it,
    graded < 2]; for a pair without a grade 1.0 if users clicked or voted on it. The impact is the discounted gain that
    the pair can add, summed over systems, as a share of the highest.

    Args:
        pool: The pairs.
        said: The judge's judgments of each pair.
        covers: The share of a query's terms that a passage holds, 0 to 1, by pair.
        runs: Further rankings, besides those of the pool.
    """
    pooled = list(pool)
    grades, cover = settled_grades(said), covers or {}
    ranks = _ranks(pooled, runs or {})
    sums = [sum(_GAIN / math.log2(rank + 1) for rank in ranks[_pair(one)].values()) for one in pooled]
    rows, fixed = [], []
    for one in pooled:
        pair = _pair(one)
        grade, given = grades.get(pair), said.get(pair, ())
        signs = _signs(one, grade, given, cover.get(pair, 0.0))
        rows.append(_row(grade, signs, min(ranks[pair].values(), default=0)))
        fixed.append(_fixed(one, grade, signs))
    return Suspects(
        places={_pair(one): position for position, one in enumerate(pooled)},
        grades=grades,
        features=np.array(rows, dtype=np.float64).reshape(len(rows), len(_EXPECTED)),
        fixed=np.array(fixed, dtype=np.float64),
        impact=np.array(sums, dtype=np.float64) / (max(sums, default=0.0) or 1.0),
    )


def settled_grades(said: Mapping[Pair, Sequence[Judgment]]) -> dict[Pair, Relevance]:
    """Return the judge's grade of each pair, settled from its assessors' grades."""
    return {pair: settled([one.relevance for one in given]) for pair, given in said.items()}


def _signs(one: PooledPair, grade: Relevance | None, judgments: Sequence[Judgment], cover: float) -> tuple[float, ...]:
    """Return five signs of an error, 0 to 1 each.

    Judges differ, the source is not relevant, a passage with most words of the query is, a quote was not there, users
    clicked or voted on what is not relevant.
    """
    if grade is None:
        return (0.0,) * 5
    given, relevant = [each.relevance for each in judgments], grade >= RELEVANT
    return (
        (max(given) - min(given)) / max(Relevance),
        float(one.origin is Origin.SOURCE and not relevant),
        float(cover >= 0.8 and relevant),
        float(any(each.capped for each in judgments)),
        float(one.origin is Origin.FEEDBACK and not relevant),
    )


def _row(grade: Relevance | None, signs: Sequence[float], best: int) -> list[float]:
    """Return the features of a pair: its grade or none, the signs, and the best rank for relevant and other grades.

    The rank is 0 for the first at a retriever and 1 from the tenth on.
    """
    deep = min(1.0, math.log10(best)) if best else 1.0
    relevant = grade is not None and grade >= RELEVANT
    marks = [float(grade is one) for one in (*Relevance, None)]
    return [*marks, *signs, deep * relevant, deep * (not relevant)]


def _fixed(one: PooledPair, grade: Relevance | None, signs: Sequence[float]) -> float:
    if grade is None:
        return float(one.origin is Origin.FEEDBACK)
    answers = one.origin is not Origin.SOURCE and grade == Relevance.ANSWERS
    return math.fsum(map(mul, _BY_SIGN, signs)) + 0.5 * (grade >= RELEVANT) + 0.5 * answers


def _ranks(pooled: Sequence[PooledPair], runs: Runs) -> dict[Pair, dict[str, int]]:
    """Return the rank of each pair at the retrievers of the pool and in further rankings."""
    places: defaultdict[Pair, dict[str, int]] = defaultdict(dict, {_pair(one): dict(one.ranks) for one in pooled})
    for system, ranking in runs.items():
        for query_id, chunk_ids in ranking.items():
            for rank, chunk_id in enumerate(chunk_ids, 1):
                if (query_id, chunk_id) in places:
                    places[query_id, chunk_id].setdefault(system, rank)
    return dict(places)


def _pair(one: PooledPair) -> Pair:
    return one.query_id, one.chunk_id
