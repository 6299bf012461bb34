"""Several runs scored alike, and the measures that decide between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from goldbench.measures.assessment import Missing
from goldbench.measures.names import Measure
from goldbench.measures.ranks.judged_ranks import Scores
from goldbench.measures.result import Result
from goldbench.score.runs import Gold, Match, Run, score_run

DECIDING = ("ndcg@10", "mrr@10", "r@10")
"""The measures of a comparison that names none: few, so that the correction for many comparisons costs little."""


def score_all(
    gold: Gold, runs: Mapping[str, Run], measures: Sequence[Measure], *, missing: Missing, scores: Scores, match: Match
) -> dict[str, Result]:
    """Return the result of every run.

    Args:
        gold: The judgments.
        runs: The runs by name.
        measures: The measures to compute.
        missing: As in `score_run`.
        scores: As in `score_run`.
        match: As in `score_run`.

    Raises:
        InputError: A run or the judgments cannot be used.
    """
    return {
        name: score_run(gold, run, measures, missing=missing, scores=scores, match=match) for name, run in runs.items()
    }
