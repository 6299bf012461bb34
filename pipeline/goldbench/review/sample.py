"""The random sample as people judged it blindly, and how much of it may be shown or learnt from by now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from goldbench.records.relevance import Relevance
from goldbench.records.review_event import Lane, Review
from goldbench.review.state import Pair, State

MIN_PAIRS = 60
"""Fewer pairs of the random sample give no figures: an interval may be narrow by chance."""

STEP = 20
"""Pairs by which the figures on the page advance; pair by pair they would reveal the judge's grades."""


@dataclass(frozen=True, slots=True)
class SampledPair:
    """A pair of the random sample with people's blind grades by their names, which are in order."""

    pair: Pair
    inclusion: float
    grades: Mapping[str, Relevance]

    @property
    def people(self) -> Relevance:
        """The lower median of people's grades."""
        return sorted(self.grades.values())[(len(self.grades) - 1) // 2]


def sampled(reviews: Iterable[Review], state: State) -> list[SampledPair]:
    """Return the judged pairs of the random sample, in the order of their judgments."""
    by_pair: defaultdict[Pair, list[Review]] = defaultdict(list)
    for review in reviews:
        if review.lane is Lane.CALIBRATION and review.inclusion is not None and review.blind:
            by_pair[review.query_id, review.chunk_id].append(review)

    def first_number(pair: Pair) -> int:
        decisions = (state.says(review.annotator, pair) for review in by_pair[pair])
        return min((event.seq or 0 for event in decisions if event), default=0)

    return [
        SampledPair(
            pair,
            by_pair[pair][0].inclusion or 1.0,
            {review.annotator: review.first_grade for review in sorted(by_pair[pair], key=attrgetter("annotator"))},
        )
        for pair in sorted(by_pair, key=first_number)
    ]


def in_steps(pairs: Sequence[SampledPair], *, finished: bool) -> Sequence[SampledPair]:
    """Return the pairs whose figures may be shown now: all when finished, else in steps."""
    if finished:
        return pairs
    return pairs[: len(pairs) - len(pairs) % STEP] if len(pairs) >= MIN_PAIRS else ()
