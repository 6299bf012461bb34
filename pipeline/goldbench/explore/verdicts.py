"""Decide for each query of a log whether a passage answers it: by rules, and by thresholds read off a gold set.

Thresholds are read off queries that people or a model wrote, never off simulated ones, which hold the words of their
passages. Above the highest likeness of nearly all of them to passages that do not answer them a query is covered, below
the likeness of nearly all of them to what is nearest it is not, and in between it stays undecided.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from goldbench.explore.word_rules import CoverageState, Decider, Passages, WordVerdict
from goldbench.formats.query_logs import folded
from goldbench.goldset.gold_path import metadata_of
from goldbench.measures.statistics.coverage import Nearest
from goldbench.measures.statistics.floats import Floats
from goldbench.score.runs import Gold
from goldbench.text.injection import tells_how_to_judge

RISK = 0.03
CONFIDENCE = 0.95
"""Share of answered queries, and of what does not answer them, on the wrong side of its threshold: at most this share,
with this confidence."""
NEEDED = 100
"""Answered queries by people or a model that thresholds need: even the extreme of fewer than 99 is not sure enough."""


class QueryOrigin(StrEnum):
    """Who wrote a query: people or a model, or a simulation."""

    AUTHOR = "author"
    SIMULATION = "simulation"


@dataclass(frozen=True, slots=True)
class LikenessThresholds:
    """From which likeness a query is covered, and below which it is not; None where it is unknown."""

    written: int
    covered_from: float | None = None
    not_covered_below: float | None = None

    @property
    def known(self) -> bool:
        """Whether enough queries were written by people or a model."""
        return self.covered_from is not None

    def as_json(self) -> dict[str, Any]:
        """Return the thresholds with what they rest on; they are None if unknown."""
        return {
            "covered_from": self.covered_from,
            "not_covered_below": self.not_covered_below,
            "written": self.written,
            "needed": NEEDED,
        }


def writers(gold: Gold, query_ids: Collection[str]) -> dict[str, QueryOrigin]:
    """Return who wrote each query; judgments without notes of a build count as people's unless the set is a smoke test.

    Args:
        gold: The gold set.
        query_ids: Its queries.
    """
    notes = gold.about()
    simulated = metadata_of(gold.path).get("evidence_level") == "smoke"
    origins = {}
    for query_id in query_ids:
        note = notes.get(query_id, {})
        is_simulated = str(note.get("generator") or ("offline" if simulated else "")).startswith("offline")
        origins[query_id] = QueryOrigin.SIMULATION if is_simulated else QueryOrigin.AUTHOR
    return origins


def thresholds(own: Floats, others: Floats, written: Sequence[bool]) -> LikenessThresholds:
    """Return the thresholds that the gold set's own queries give, or none if too few were written.

    Args:
        own: How near each query of the gold set is to its nearest passage.
        others: How near it is to its nearest passage that does not answer it.
        written: Whether people or a model wrote it and a passage answers it.
    """
    chosen = np.array(written, dtype=bool)
    count = int(chosen.sum())
    if count < NEEDED:
        return LikenessThresholds(count)
    passed = _passed(count)
    above = float(np.sort(others[chosen])[-1 - passed])
    return LikenessThresholds(count, above, float(np.sort(own[chosen])[passed]))


def _passed(count: int) -> int:
    """Return how many of ``count`` values may lie beyond a threshold that keeps the risk with the confidence.

    Source: distribution-free tolerance limits, Wilks, Ann. Math. Stat. 12, 1941.
    """
    from scipy.special import bdtr

    passed = int(count * RISK)
    while passed and bdtr(passed, count, RISK) > 1 - CONFIDENCE:
        passed -= 1
    return passed


def by_rules(
    texts: Sequence[str],
    passages: Sequence[str],
    queries: Mapping[str, str],
    answers: Mapping[str, Collection[int]],
    written: Mapping[str, QueryOrigin],
    language: str | None,
) -> list[WordVerdict]:
    """Return the verdict of the rules on each query of the log.

    A query of the gold set is covered by what answers it there; its words count as words of that passage.

    Args:
        texts: The queries of the log.
        passages: The passages.
        queries: The queries of the gold set.
        answers: The positions of the passages that answer them.
        written: Who wrote them.
        language: ISO 639-1 code of most passages, or None.
    """
    known: dict[int, list[str]] = {}
    for query_id, places in answers.items():
        for position in places if written[query_id] != QueryOrigin.SIMULATION else ():
            known.setdefault(position, []).append(queries[query_id])
    rules = Passages(passages, texts, language, known)
    same = {folded(queries[query_id]): tuple(sorted(places)) for query_id, places in answers.items() if places}
    honest = functools.cache(lambda position: not tells_how_to_judge(passages[position]))
    return [
        WordVerdict(CoverageState.COVERED, "the gold set has this query", same[folded(text)])
        if folded(text) in same
        else _trusted(rules.verdict(text), honest)
        for text in texts
    ]


def _trusted(verdict: WordVerdict, honest: Callable[[int], bool]) -> WordVerdict:
    """Return a verdict without passages that tell how to grade; if no other has the words, nothing is decided."""
    if verdict.state != CoverageState.COVERED:
        return verdict
    trusted = tuple(passage for passage in verdict.passages if honest(passage))
    if trusted:
        return replace(verdict, passages=trusted)
    return WordVerdict(
        CoverageState.UNDECIDED, "its words stand only in a passage that tells how to grade", verdict.passages
    )


def with_thresholds(verdicts: Sequence[WordVerdict], near: Nearest, limits: LikenessThresholds) -> list[WordVerdict]:
    """Return the verdicts with what the rules left undecided decided by likeness, if thresholds are known.

    Args:
        verdicts: What the rules say.
        near: How near each query of the log is to its nearest passage, and which it is.
        limits: The thresholds.
    """
    if limits.covered_from is None or limits.not_covered_below is None:
        return list(verdicts)
    checked = []
    for verdict, likeness, position in zip(verdicts, near.likeness.tolist(), near.position.tolist(), strict=True):
        if verdict.state != CoverageState.UNDECIDED:
            checked.append(verdict)
        elif likeness > limits.covered_from + 1e-9:
            reason = f"similarity {likeness:.3f} to a passage"
            checked.append(WordVerdict(CoverageState.COVERED, reason, (position,), Decider.SIMILARITY))
        elif likeness < limits.not_covered_below - 1e-9:
            reason = f"similarity {likeness:.3f} to the nearest passage"
            checked.append(WordVerdict(CoverageState.NOT_COVERED, reason, by=Decider.SIMILARITY))
        else:
            checked.append(verdict)
    return checked
