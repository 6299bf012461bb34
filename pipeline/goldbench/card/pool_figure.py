"""The figure on the worth of a pool: whether its judge's errors cost more than its further labels bring."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from goldbench.card.baseline_search import Ranked
from goldbench.card.described_set import DEPTH, DescribedSet
from goldbench.card.figures import absent, figure
from goldbench.measures.statistics.pool_worth import JudgedPool, PoolWorth, pool_worth, relevance_rates
from goldbench.records.judgment import Origin
from goldbench.records.relevance import RELEVANT, Relevance, settled
from goldbench.records.set_card import Figure, State
from goldbench.text.display import shell_command

NAME = "worth of the pool"
ENOUGH = 60
"""Fewer judged pairs of the random sample give no figure."""
FEWEST_SYSTEMS = 3
_MOST = 10**9
"""Most pairs of a random sample; a larger number in a set's metadata is none."""
DEPTHS = (1, 3, 5, 10, 20, 50)
_GRADES = {str(int(grade)): int(grade) for grade in Relevance}
_STATES = {True: State.WARN, False: State.INFO, None: State.INFO}


@dataclass(frozen=True, slots=True)
class _Sampled:
    """Pairs of the random sample: their number, the equally weighted ones they are worth, the relevant share."""

    pairs: int
    worth: float
    share: float


def pool_figure(material: DescribedSet, baselines: Ranked) -> Figure:
    """Return how much closer than the single known label the pool is expected to come to the true order of systems.

    Args:
        material: The set.
        baselines: The rankings of the card's baselines, ranked beside the runs.
    """
    sample = _sample(material)
    judged = sum(one.pairs for one in sample.values())
    systems = [*baselines.values(), *material.runs.values()]
    if not material.pool or not material.judgments:
        return absent("positives", NAME, "no pool was judged")
    if judged < ENOUGH:
        reason = f"people have judged {judged} pairs of the random sample, and {ENOUGH} are needed to know its judge"
        return absent("positives", NAME, f"{reason}; run {shell_command('review')}, then review apply")
    if len(systems) < FEWEST_SYSTEMS:
        return absent("positives", NAME, "fewer than three systems could be ranked")
    rates = relevance_rates({grade: (one.worth, one.worth * one.share) for grade, one in sample.items()})
    pool = judged_pool(material, systems, rates)
    if pool is None:
        return absent("positives", NAME, "no source of a query is known")
    deepest = int(pool.rank.max(initial=1))
    found = pool_worth(pool, tuple(sorted({depth for depth in DEPTHS if depth < deepest} | {deepest})))
    return _figure(found, judged)


def _figure(found: list[PoolWorth], judged: int) -> Figure:
    whole = found[-1]
    false = "no relevant passage was added" if whole.false_share is None else f"{whole.false_share:.0%} are false"
    harm = {
        True: "The pool is expected to do harm: the single known label ranks systems better. Score by it, or let "
        "people judge what the model found relevant",
        False: "No harm is expected of the judge's errors within the pool",
        None: "Whether the pool helps is not decided",
    }[whole.harms]
    return figure(
        "positives",
        NAME,
        whole.gain,
        f"{harm} (tau {whole.pool:.2f} with the drawn truth, against {whole.single:.2f}). Of the relevant passages "
        f"that it adds, {false} by people's judgments of {judged} pairs. Passages outside the pool are not considered.",
        unit="gain in tau over one label",
        values={
            f"depth {one.depth}, {name}": value
            for one in found
            for name, value in (("added per query", one.positives), ("false", one.false_share), ("gain", one.gain))
        },
        limit=("better for 9 of 10 drawn truths", _STATES[whole.harms]),
    )


def judged_pool(
    material: DescribedSet, systems: list[dict[str, list[str]]], rates: tuple[float, ...]
) -> JudgedPool | None:
    """Return the pool with the probability of each pair, or None if no query has a known source.

    Args:
        material: The set.
        systems: What each system found, best first, by query.
        rates: The probability that a pair is relevant, by the judge's grade.
    """
    grades: defaultdict[tuple[str, str], list[Relevance]] = defaultdict(list)
    for one in material.judgments:
        if one.canary is None:
            grades[one.query_id, one.chunk_id].append(one.relevance)
    rows = [one for one in material.pool if (one.query_id, one.chunk_id) in grades]
    sourced = {one.query_id for one in rows if one.origin is Origin.SOURCE}
    rows = [one for one in rows if one.query_id in sourced]
    if not rows:
        return None
    said = [settled(grades[one.query_id, one.chunk_id]) for one in rows]
    source = np.array([one.origin is Origin.SOURCE for one in rows])
    place = {(one.query_id, one.chunk_id): number for number, one in enumerate(rows)}
    query_ids = sorted(sourced)
    number = {query_id: at for at, query_id in enumerate(query_ids)}
    return JudgedPool(
        chance=np.where(source, 1.0, np.array(rates)[[int(grade) for grade in said]]),
        positive=np.array([grade >= RELEVANT for grade in said]),
        source=source,
        rank=np.array([min(one.ranks.values(), default=1) for one in rows]),
        query=np.array([number[one.query_id] for one in rows]),
        top=np.array([[_top(found, query_id, place) for query_id in query_ids] for found in systems]),
    )


def _top(found: Mapping[str, list[str]], query_id: str, place: Mapping[tuple[str, str], int]) -> list[int]:
    ranked = [place.get((query_id, chunk_id), -1) for chunk_id in found.get(query_id, [])[:DEPTH]]
    return ranked + [-1] * (DEPTH - len(ranked))


def _sample(material: DescribedSet) -> dict[int, _Sampled]:
    """Return what people find of the random sample, by the judge's grade."""
    said = material.metadata.get("review")
    counts = said.get("random_sample") if isinstance(said, Mapping) else None
    found = {}
    for grade, given in counts.items() if isinstance(counts, Mapping) else ():
        if grade in _GRADES and (one := _sampled(given)) is not None:
            found[_GRADES[grade]] = one
    return found


def _sampled(given: object) -> _Sampled | None:
    """Return what `review apply` recorded of a grade, or None if it is something else."""
    if not isinstance(given, list):
        return None
    numbers = [one for one in given if isinstance(one, int | float) and abs(one) <= _MOST]
    if len(numbers) == 4 and 0 < numbers[2] <= numbers[0] and 0 <= numbers[3] <= 1:
        return _Sampled(int(numbers[0]), numbers[2], numbers[3])
    return None
