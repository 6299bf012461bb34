"""Thresholds of a judge by yes or no, set by its probabilities for pairs whose grade is known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from goldbench.records.relevance import Relevance
from goldbench.stages.judge import Thresholds

_FEWEST = 3
"""Fewest probabilities of answers, and of fakes, that thresholds are set by."""
_LEAST_TOPIC = 0.01
"""The least probability of a grade of 1: at 0, where half of the fakes may be, every passage would get it."""


def thresholds_for(answers: Sequence[float], fakes: Sequence[float]) -> Thresholds:
    """Return the thresholds that probabilities of known answers and of planted fakes suggest.

    A grade of 2 begins where answers and fakes are told apart best, and of equal places nearest to even odds; a grade
    of 3 at the middle one of the answers, of 1 at the middle one of the fakes: a source below that is no better than
    they are, and its query is left out. Few pairs leave the default.
    """
    if min(len(answers), len(fakes)) < _FEWEST:
        return Thresholds()
    known = sorted({*answers, *fakes})
    places = [0.5, *((low + high) / 2 for low, high in pairwise(known))]
    helps = max(places, key=lambda place: (_balance(place, answers, fakes), -abs(place - 0.5)))
    topic = max(median(fakes), _LEAST_TOPIC)
    return Thresholds(min(topic, helps), helps, max(median(answers), helps))


def _balance(place: float, answers: Sequence[float], fakes: Sequence[float]) -> float:
    """Return the share of answers from a place on, less the share of fakes; rounded, so that equal is equal."""
    found = sum(value >= place for value in answers) / len(answers)
    return round(found - sum(value >= place for value in fakes) / len(fakes), 9)


def held_out_grades(answers: Sequence[float], fakes: Sequence[float]) -> tuple[list[Relevance], list[Relevance]]:
    """Return the grade of each probability by the thresholds that the other half of the pairs suggests."""
    halves = [thresholds_for(answers[1 - half :: 2], fakes[1 - half :: 2]) for half in (0, 1)]
    return (
        [halves[place % 2].grade(value) for place, value in enumerate(answers)],
        [halves[place % 2].grade(value) for place, value in enumerate(fakes)],
    )
