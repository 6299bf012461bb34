"""When to stop: the sample is judged, agreement is known well enough, looking for errors finds none any more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pipeline.review.people import Pair, Reviewed, blind, current_ids
from pipeline.review.queue import stratum_of
from schemas.agreement_report import PairFigures
from schemas.judgment import Relevance
from schemas.review_event import EventKind, Lane, Review
from schemas.review_report import StopRule

FEW = 60
"""Below so many pairs of lane A figures say little: an interval may be narrow by chance."""
HALF_WIDTH = 0.1
LAST = 30
CHANGED = 0.1


def sample_done(reviewed: Reviewed, reviews: Sequence[Review]) -> StopRule:
    """Say whether lane A is done: what was drawn follows from the probabilities, which are those of whole strata."""
    rule = "the random sample (lane A) is judged"
    drawn = blind(reviews, Lane.CALIBRATION)
    sizes = Counter(
        stratum_of(_judged(reviewed, (one.query_id, one.chunk_id)))
        for one in reviewed.material.pool
        if one.shared_from is None
    )
    now = current_ids(reviewed.material)
    chance = {
        stratum_of(_judged(reviewed, (now[review.query_id], review.chunk_id))): review.inclusion
        for review in drawn
        if review.query_id in now and review.inclusion is not None
    }
    if sizes.keys() - chance.keys():
        return StopRule(rule=rule, holds=False if drawn else None, found=f"{len(drawn)} judgments so far")
    wanted = round(sum(inclusion * sizes[stratum] for stratum, inclusion in chance.items()))
    pairs = len({(now[one.query_id], one.chunk_id) for one in drawn if one.query_id in now})
    return StopRule(rule=rule, holds=pairs >= wanted, found=f"{pairs} of {wanted} pairs")


def _judged(reviewed: Reviewed, pair: Pair) -> Relevance | None:
    grade = reviewed.judge.get(pair[0], {}).get(pair[1])
    return None if grade is None else Relevance(grade)


def narrow_enough(sample: PairFigures | None) -> StopRule:
    """Say whether kappa of people and model is known well enough."""
    rule = f"the interval of kappa is at most {HALF_WIDTH:.2f} to either side"
    kappa = sample.kappa if sample else None
    if kappa is None or kappa.low is None or kappa.high is None:
        return StopRule(rule=rule, holds=None, found="kappa has no interval yet")
    half = (kappa.high - kappa.low) / 2
    if sample is not None and sample.pairs < FEW:
        return StopRule(rule=rule, holds=None, found=f"{half:.2f}, but of {sample.pairs} pairs; {FEW} are needed")
    return StopRule(rule=rule, holds=half <= HALF_WIDTH, found=f"{half:.2f}")


def errors_dried_up(reviewed: Reviewed) -> StopRule:
    """Say whether looking for errors still finds any: the last pairs of lane B, by their latest judgment."""
    rule = f"of the last {LAST} pairs of lane B less than {CHANGED:.0%} changed their grade"
    now = current_ids(reviewed.material)
    last: dict[Pair, int] = {}
    for event in reviewed.events:
        if event.kind is EventKind.JUDGE and event.lane is Lane.ERRORS and reviewed.state.stands(event):
            pair = now.get(event.query_id, event.query_id), event.chunk_id or ""
            last.pop(pair, None)
            last[pair] = int(event.grade or 0)
    compared = [(grade, _judged(reviewed, pair)) for pair, grade in list(last.items())[-LAST:]]
    changed = sum(model is not None and grade != model for grade, model in compared)
    if len(compared) < LAST:
        return StopRule(rule=rule, holds=None, found=f"{len(compared)} pairs so far, {changed} changed")
    return StopRule(rule=rule, holds=changed < CHANGED * LAST, found=f"{changed} of {LAST}")
