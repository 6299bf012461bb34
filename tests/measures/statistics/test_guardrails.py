"""Guardrails: passed or failed only where the interval leaves no doubt."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from goldbench.measures.statistics.guardrails import PROBES, guardrails, matched_difference
from goldbench.records.guardrail import Guardrail, GuardrailVerdict
from goldbench.records.judgment import Canary, Judgment
from goldbench.records.relevance import Relevance


def _said(kind: Canary, grades: list[int]) -> list[Judgment]:
    return [
        Judgment(query_id=f"q{position}", chunk_id="c", relevance=Relevance(grade), assessor="m", canary=kind)
        for position, grade in enumerate(grades)
    ]


def _held(kind: Canary, grades: list[int]) -> Guardrail:
    return next(guardrail for guardrail in guardrails(_said(kind, grades)) if guardrail.probe == PROBES[kind])


@pytest.mark.parametrize(
    ("grades", "verdict"),
    [
        ([0] * 4, GuardrailVerdict.UNDECIDED),
        ([0] * 12, GuardrailVerdict.PASSED),
        ([3] * 3, GuardrailVerdict.FAILED),
        ([3] * 10 + [0] * 30, GuardrailVerdict.UNDECIDED),
        ([3] * 20 + [0] * 20, GuardrailVerdict.FAILED),
    ],
)
def test_a_verdict_needs_an_interval_on_one_side_of_the_limit(grades: list[int], verdict: GuardrailVerdict) -> None:
    held = _held(Canary.QUERY_WORDS, grades)
    assert held.verdict is verdict
    wrong = sum(grade >= 2 for grade in grades)
    oracle = binomtest(wrong, len(grades)).proportion_ci(method="wilson")
    assert (held.low, held.high) == pytest.approx((oracle.low, oracle.high), abs=1e-9)


def test_the_number_of_further_pairs_is_the_least_that_decides() -> None:
    held = _held(Canary.EMPTY, [0] * 4)
    assert held.more is not None
    assert _held(Canary.EMPTY, [0] * (4 + held.more)).verdict is GuardrailVerdict.PASSED
    assert _held(Canary.EMPTY, [0] * (3 + held.more)).verdict is GuardrailVerdict.UNDECIDED
    assert _held(Canary.EMPTY, [3, 0, 0, 0]).more is None  # just at the limit


def test_missed_answers_count_and_lowered_grades_count_as_given() -> None:
    assert _held(Canary.EVIDENCE_ALONE, [3, 3, 0, 1]).wrong == 2
    [lowered] = _said(Canary.CLAIMED_RELEVANT, [1])
    found = guardrails([lowered.model_copy(update={"capped": True})])
    assert next(one for one in found if one.probe == PROBES[Canary.CLAIMED_RELEVANT]).wrong == 1


def test_own_answers_are_held_against_the_documents_sentences() -> None:
    own, theirs = _said(Canary.OWN_ANSWER, [3] * 40), _said(Canary.EVIDENCE_ALONE, [0] * 20 + [3] * 20)
    found = guardrails([*own, *theirs])[-1]
    assert (found.wrong, found.shown, found.rate) == (20, 40, 0.5)
    assert found.verdict is GuardrailVerdict.FAILED
    fair = guardrails([*own, *_said(Canary.EVIDENCE_ALONE, [3] * 40)])[-1]
    assert fair.verdict is GuardrailVerdict.PASSED
    absent = guardrails(theirs, own="written by another model")[-1]
    assert (absent.verdict, absent.reason) == (GuardrailVerdict.ABSENT, "written by another model")


@pytest.mark.parametrize(("both", "one", "other"), [(0.5, 0.2, 0.1), (0.6, 0.05, 0.05), (0.3, 0.3, 0.1)])
def test_the_interval_of_a_matched_difference_covers_the_truth(both: float, one: float, other: float) -> None:
    drawn = np.random.default_rng(1).multinomial(40, [both, one, other, 1 - both - one - other], size=2000)
    ends = np.array([matched_difference(float(row[1]), float(row[2]), 40)[1:] for row in drawn])
    covered = ((ends[:, 0] <= one - other) & (one - other <= ends[:, 1])).mean()
    assert 0.93 <= covered <= 0.985
