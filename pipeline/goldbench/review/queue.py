"""The queue: what people judge and in which order, three lanes interleaved and grouped by query, drawn with a seed.

Lane A is a random sample within strata of the judge's grade; every pair carries the probability of its drawing. Lane C
holds all pairs of random queries. Lane B holds all other pairs, the likeliest error first.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from goldbench.records.judgment import Judgment, Origin, PooledPair
from goldbench.records.relevance import RELEVANT, Relevance, settled
from goldbench.records.review_event import Lane
from goldbench.review.state import Pair

SHARES = {"2-3": 0.4, "1": 0.3, "0": 0.3}
"""The shares of the judge's grades in lane A."""

UNGRADED = "ungraded"
BAND = 30
"""Consecutive pairs of lane B that are grouped by query; grouping more would delay likely errors."""

Runs = Mapping[str, Mapping[str, Sequence[str]]]
"""The documents returned by each system, best first, by query."""

IMPACT = 0.3
"""How much more a pair counts that matters most to scores than one that matters least (0.3 = 30 %)."""

_GAIN = 2**3 - 1


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """The settings of a queue.

    ``calibration`` is the size of lane A, ``first`` how much of it comes before anything else, ``complete`` the number
    of queries of lane C, ``overlap`` the share of pairs that two people judge.
    """

    calibration: int = 200
    first: int = 60
    complete: int = 20
    overlap: float = 0.2
    seed: int = 0
    lanes: frozenset[Lane] = field(default_factory=lambda: frozenset(Lane))


@dataclass(frozen=True, slots=True)
class QueueItem:
    """A pair in the queue. ``wanted`` people judge it; only pairs of lane A have a ``stratum`` and an ``inclusion``."""

    query_id: str
    chunk_id: str
    lane: Lane
    inclusion: float | None = None
    stratum: str | None = None
    wanted: int = 1

    @property
    def pair(self) -> Pair:
        """The ids of the query and the chunk."""
        return self.query_id, self.chunk_id


def make_queue(
    pool: Iterable[PooledPair],
    judgments: Iterable[Judgment],
    *,
    settings: QueueSettings,
    covers: Mapping[Pair, float] | None = None,
    runs: Runs | None = None,
) -> tuple[QueueItem, ...]:
    """Return all pairs in the order of judging.

    Args:
        pool: The pairs to judge, each once; a near-duplicate that shares another's grade is left out.
        judgments: The judge's judgments; those of planted pairs are left out.
        settings: The settings of the queue.
        covers: The share of a query's terms that a passage holds, 0 to 1, by pair.
        runs: Further rankings, besides those of the pool.
    """
    own_grade = (pair for pair in pool if pair.shared_from is None)
    pooled = sorted(own_grade, key=lambda pair: (pair.query_id, pair.chunk_id))
    by_pair = _by_pair(judgments)
    seed = settings.seed
    lanes = settings.lanes
    size = settings.calibration if Lane.CALIBRATION in lanes else 0
    drawn = calibration(pooled, by_pair, size=size, seed=seed)
    chosen = complete_sample(pooled, count=settings.complete if Lane.COMPLETE in lanes else 0, seed=seed)
    rest = [pair for pair in pooled if _pair(pair) not in drawn]
    complete = [pair for pair in rest if pair.query_id in chosen]
    likely = [pair for pair in rest if pair.query_id not in chosen] if Lane.ERRORS in lanes else []
    scores = likely_errors(pooled, by_pair, covers=covers, runs=runs)
    first, later = _split(_groups(list(drawn.values()), order=_shuffled(seed, "queries"), seed=seed), settings.first)
    others = _alternating(
        list(_bands(likely, scores, seed=seed)),
        [[each] for each in _groups(_items(complete, Lane.COMPLETE), order=chosen.index, seed=seed)],
    )
    return tuple(_overlapping([*first, *_woven(later, others)], settings.overlap))


def stratum_of(grade: Relevance | None) -> str:
    """Return the stratum of lane A for a judge's grade."""
    if grade is None:
        return UNGRADED
    return "2-3" if grade >= RELEVANT else str(int(grade))


def calibration(
    pooled: Sequence[PooledPair], judgments: Mapping[Pair, Sequence[Judgment]], *, size: int, seed: int
) -> dict[Pair, QueueItem]:
    """Return lane A: within each stratum every pair with the same probability, spread over the queries.

    The sample is systematic with a random start, along the queries in random order: the probability of every pair is
    exactly its stratum's share, and few queries occur twice before many occur once.
    Source: W. G. Cochran, Sampling Techniques, 3rd ed., chapter 8.

    Args:
        pooled: The pairs to judge.
        judgments: The judge's judgments of each pair.
        size: Number of pairs to draw.
        seed: Seed of the sample.
    """
    grades = settled_grades(judgments)
    strata: defaultdict[str, list[Pair]] = defaultdict(list)
    rank = _shuffled(seed, "sample queries")
    within = _shuffled(seed, "sample pairs")
    for pair in sorted(map(_pair, pooled), key=lambda pair: (rank(pair[0]), within(_name(pair)))):
        strata[stratum_of(grades.get(pair))].append(pair)
    items = {}
    for stratum, number in _allotted({name: len(pairs) for name, pairs in strata.items()}, size).items():
        pairs = strata[stratum]
        start = random.Random(f"{seed} start {stratum}").random()  # noqa: S311  a sample, not a secret
        for i in range(number):
            pair = pairs[min(math.floor((i + start) * len(pairs) / number), len(pairs) - 1)]
            items[pair] = QueueItem(*pair, Lane.CALIBRATION, inclusion=number / len(pairs), stratum=stratum)
    return items


def complete_sample(pooled: Sequence[PooledPair], *, count: int, seed: int) -> tuple[str, ...]:
    """Return the queries of lane C, in the order in which they are shown.

    Args:
        pooled: As in `calibration`.
        count: Number of queries.
        seed: As in `calibration`.
    """
    return tuple(sorted({pair.query_id for pair in pooled}, key=_shuffled(seed, "complete"))[:count])


def _allotted(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    """Return the number to draw from each stratum by its share; what a stratum lacks goes to the others."""
    pool = sum(sizes.values())
    ungraded = sizes.get(UNGRADED, 0) / pool if pool else 0.0
    shares = {name: (1 - ungraded) * SHARES[name] if name in SHARES else ungraded for name in sorted(sizes)}
    numbers = dict.fromkeys(shares, 0)
    left = min(total, pool)
    while left:
        open_ = {name: share for name, share in shares.items() if numbers[name] < sizes[name]}
        whole = sum(open_.values())
        exact = {name: left * share / whole for name, share in open_.items()}
        step = {name: min(int(exact[name]), sizes[name] - numbers[name]) for name in open_}
        if not any(step.values()):
            step = {max(exact, key=lambda name: (exact[name], name)): 1}
        for name, number in step.items():
            numbers[name] += number
        left -= sum(step.values())
    return {name: number for name, number in numbers.items() if number}


def _groups(items: Sequence[QueueItem], *, order: Callable[[str], Any], seed: int) -> list[list[QueueItem]]:
    """Return items grouped by query, the queries in the given order, their passages shuffled."""
    groups: defaultdict[str, list[QueueItem]] = defaultdict(list)
    within = _shuffled(seed, "passages")
    for item in sorted(items, key=lambda item: within(_name(item.pair))):
        groups[item.query_id].append(item)
    return [groups[query_id] for query_id in sorted(groups, key=order)]


def _bands(rest: Sequence[PooledPair], scores: Mapping[Pair, float], *, seed: int) -> Iterator[list[list[QueueItem]]]:
    """Yield lane B in bands of descending score, each grouped by query, the group with the highest score first."""
    tie = _shuffled(seed, "ties")
    ordered = sorted(_items(rest, Lane.ERRORS), key=lambda item: (-scores[item.pair], tie(_name(item.pair))))
    for start in range(0, len(ordered), BAND):
        band = ordered[start : start + BAND]
        yield _groups(band, order=[item.query_id for item in band].index, seed=seed)


def _alternating(*lanes: Sequence[list[list[QueueItem]]]) -> list[list[QueueItem]]:
    """Return the groups of two lanes, one batch of each in turn."""
    turns = itertools.zip_longest(*lanes, fillvalue=[])
    return [group for turn in turns for batch in turn for group in batch]


def _split(groups: Sequence[list[QueueItem]], first: int) -> tuple[list[QueueItem], list[list[QueueItem]]]:
    """Return the items of whole groups until there are ``first`` or more, and the remaining groups."""
    head: list[QueueItem] = []
    for i, group in enumerate(groups):
        if len(head) >= first:
            return head, list(groups[i:])
        head += group
    return head, []


def _woven(sampled: Sequence[list[QueueItem]], others: Sequence[list[QueueItem]]) -> Iterator[QueueItem]:
    """Yield items, one in three of lane A as long as there are any, without splitting a group."""
    balance = 0  # items of the other lanes so far, less two for each of lane A
    waiting = list(reversed(sampled))
    rest = list(reversed(others))
    while waiting or rest:
        is_turn = bool(waiting) and (not rest or balance >= 0)
        group = (waiting if is_turn else rest).pop()
        balance += -2 * len(group) if is_turn else len(group)
        yield from group


def _overlapping(items: Sequence[QueueItem], share: float) -> Iterator[QueueItem]:
    """Yield the items, exactly this share of them for two people, evenly along the queue."""
    exact = Fraction(str(share))
    for i, item in enumerate(items):
        twice = math.floor((i + 1) * exact) > math.floor(i * exact)
        yield replace(item, wanted=2 if twice else 1)


def _items(pooled: Iterable[PooledPair], lane: Lane) -> list[QueueItem]:
    return [QueueItem(pair.query_id, pair.chunk_id, lane) for pair in pooled]


def _by_pair(judgments: Iterable[Judgment]) -> dict[Pair, list[Judgment]]:
    by_pair: defaultdict[Pair, list[Judgment]] = defaultdict(list)
    for judgment in judgments:
        if judgment.canary is None:
            by_pair[judgment.query_id, judgment.chunk_id].append(judgment)
    return dict(by_pair)


def _pair(pooled: PooledPair) -> Pair:
    return pooled.query_id, pooled.chunk_id


def _name(pair: Pair) -> str:
    return f"{pair[0]} {pair[1]}"


def _shuffled(seed: int, purpose: str) -> Callable[[str], str]:
    """Return a key function that orders names at random, depending only on seed and purpose."""
    return lambda name: hashlib.sha256(f"{seed} {purpose} {name}".encode()).hexdigest()


# --- likely errors ----------------------------------------------------------------------------------------------------


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
