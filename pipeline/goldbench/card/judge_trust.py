"""Figures on the grades of a pool, and on whether its judge can be believed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import numpy as np

from goldbench.card.described_set import DescribedSet
from goldbench.card.figures import absent, figure
from goldbench.card.guardrail_figure import guardrail_figure
from goldbench.records.judgment import Canary, Flag, Judgment
from goldbench.records.manifest import CanaryVerdict
from goldbench.records.set_card import Figure, State
from goldbench.stages.canaries import (
    FAIL_ABOVE,
    FAIL_BELOW,
    TRAPS,
    WARN_ABOVE,
    WARN_BELOW,
    tally,
    verdict_on_answers,
    verdict_on_fakes,
)
from goldbench.text.display import shell_command

GRADES, JUDGE = "grades", "judge"
NOT_GRADED = "the set was not graded: no pool was judged"
_NOT_TO_BE_USED = ": do not use this judge."
_STATES = {CanaryVerdict.PASSED: State.OK, CanaryVerdict.WARNING: State.WARN, CanaryVerdict.FAILED: State.FAIL}


def grading_figures(material: DescribedSet) -> Iterator[Figure]:
    """Yield the figures on the grades and on the judge."""
    if material.graded:
        yield _highest_grade(material)
        yield _sources(material)
    else:
        yield from (absent(GRADES, name, NOT_GRADED) for name in ("grade 3 in the pool", "grade of the source"))
    yield _people(material)
    if not material.graded:
        names = ("canaries", "evidence alone", "guardrails", "spread of the panel", "guard", "unjudged")
        yield from (absent(JUDGE, name, _why_not_graded(material)) for name in names)
        return
    yield from _judge_checks(material)
    yield guardrail_figure(material)
    real = [one for one in material.judgments if one.canary is None and one.shared_from is None]
    yield _spread(real)
    yield _guard(real)
    yield _unjudged(material)


def _why_not_graded(material: DescribedSet) -> str:
    refused = material.manifest.refused_grading if material.manifest else None
    return NOT_GRADED if refused is None else f"the set was not graded: {refused.reason}"


def _people(material: DescribedSet) -> Figure:
    said = material.metadata.get("review")
    counts = said.get("judgments") if isinstance(said, Mapping) else None
    given = [counts.get(who) for who in ("people", "model")] if isinstance(counts, Mapping) else []
    numbers = [count for count in given if isinstance(count, int) and count >= 0]
    if len(numbers) < 2 or not sum(numbers):
        reason = f"no review was applied to this set ({shell_command('review')}, then {shell_command('review apply')})"
        return absent(GRADES, "judged by people", reason)
    people, model = numbers
    return figure(
        GRADES,
        "judged by people",
        people / (people + model),
        "Share of the labels that people gave. The figures on the judge do not concern these labels.",
        unit="share of labels",
        values={"of people": people, "of the model": model},
    )


def _highest_grade(material: DescribedSet) -> Figure:
    counts = Counter(grade for judged in material.qrels.values() for grade in judged.values())
    share = counts[3] / counts.total()
    return figure(
        GRADES,
        "grade 3 in the pool",
        share,
        "If much of a pool answers its query fully, the queries are too broad or the judge is too lenient.",
        unit="share of judged pairs",
        values={f"grade {grade}": counts[grade] for grade in range(4)} | {"pairs": counts.total()},
        limit=("< 0.25", share < 0.25),
    )


def _sources(material: DescribedSet) -> Figure:
    grades = [
        material.qrels[query_id][source]
        for query_id in material.queries
        if (source := material.source(query_id)) is not None and source in material.qrels.get(query_id, {})
    ]
    if not grades:
        return absent(GRADES, "grade of the source", "no source passage was judged")
    given, high = Counter(grades), sum(grade >= 2 for grade in grades) / len(grades)
    notes = [material.notes.get(query_id, {}).get("source_grade") for query_id in material.queries]
    checked = Counter(grade for grade in notes if grade is not None)
    return figure(
        GRADES,
        "grade of the source",
        high,
        "Share of the source passages that the last judge found relevant, shown only the query and the passage.",
        unit="share of sources graded 2 or 3",
        values={f"grade {grade}": given[grade] for grade in range(4)}
        | {f"shown with its answer, grade {grade}": checked[grade] for grade in range(4) if checked},
    )


def _judge_checks(material: DescribedSet) -> Iterator[Figure]:
    counts = tally(material.judgments)
    grading = material.manifest.grading if material.manifest else None
    if not counts and grading is not None:
        counts = {Canary(kind): (count.graded, count.relevant) for kind, count in sorted(grading.canaries.items())}
    unanswered = sum(count.unanswered for count in grading.canaries.values()) if grading else 0
    planted, accepted = (sum(counts[kind][part] for kind in TRAPS if kind in counts) for part in (0, 1))
    if not planted:
        reason = "the judge gave no usable reply to them" if unanswered else "the judge was given no planted fakes"
        yield absent(JUDGE, "canaries", reason)
    else:
        fooled = accepted / planted
        state = _STATES[verdict_on_fakes(fooled)]
        yield figure(
            JUDGE,
            "canaries",
            fooled,
            f"Judge check: accepted {accepted:,} of {planted:,} planted fakes (graded them 2 or 3)"
            + (_NOT_TO_BE_USED if state is State.FAIL else "."),
            unit="share of fakes graded 2 or 3",
            values={
                f"{kind.value}, {word}": counts[kind][part]
                for kind in TRAPS
                if kind in counts
                for part, word in ((0, "put"), (1, "graded 2 or 3"))
            },
            limit=(f"<= {WARN_ABOVE:g}, fails above {FAIL_ABOVE:g}", state),
        )
    shown, found = counts.get(Canary.EVIDENCE_ALONE, (0, 0))
    if not shown:
        reason = "the judge gave no usable reply to them" if unanswered else "the judge was given no planted answers"
        yield absent(JUDGE, "evidence alone", reason)
        return
    state = _STATES[verdict_on_answers(found, shown)]
    yield figure(
        JUDGE,
        "evidence alone",
        found / shown,
        f"Judge check: recognised {found:,} of {shown:,} planted answers (sentences that answer their query)"
        + (_NOT_TO_BE_USED if state is State.FAIL else "."),
        unit="share graded 2 or 3",
        limit=(f">= {WARN_BELOW:g}, fails below {FAIL_BELOW:g}", state),
    )


def _spread(real: list[Judgment]) -> Figure:
    by_pair: dict[tuple[str, str], list[int]] = defaultdict(list)
    for one in real:
        by_pair[one.query_id, one.chunk_id].append(int(one.relevance))
    several = [max(grades) - min(grades) for grades in by_pair.values() if len(grades) > 1]
    if not several:
        return absent(JUDGE, "spread of the panel", "no pair was judged by more than one assessor")
    spreads = Counter(several)
    return figure(
        JUDGE,
        "spread of the panel",
        float(np.mean(several)),
        f"Highest minus lowest grade, mean of {len(several):,} pairs that several assessors judged. Look at the pairs "
        "on which they differ.",
        unit="grades, mean",
        values={f"spread {spread}": spreads[spread] for spread in sorted(spreads)} | {"pairs": len(several)},
    )


def _guard(real: list[Judgment]) -> Figure:
    if not real:
        return absent(JUDGE, "guard", "the set holds no judgments")
    capped = sum(one.capped for one in real)
    flags = Counter(one.flag.value for one in real if one.flag is not Flag.NONE)
    return figure(
        JUDGE,
        "guard",
        capped / len(real),
        f"{capped:,} of {len(real):,} grades were lowered to 1 because the quote was missing from the passage.",
        unit="share of grades lowered",
        values={"capped": capped, **{f"flag {flag}": flags[flag] for flag in sorted(flags)}},
    )


def _unjudged(material: DescribedSet) -> Figure:
    grading = material.manifest.grading if material.manifest else None
    if material.pool:
        asked = [row for row in material.pool if row.shared_from is None and row.query_id in material.queries]
        missing = sum(row.chunk_id not in material.qrels.get(row.query_id, {}) for row in asked)
        total = len(asked)
    elif grading is not None:
        missing, total = grading.unjudged, grading.pairs
    else:
        return absent(JUDGE, "unjudged", "the set has no pool to compare with")
    if not total:
        return absent(JUDGE, "unjudged", "the pool is empty")
    return figure(
        JUDGE,
        "unjudged",
        missing / total,
        f"{missing:,} of {total:,} pairs of the pool have no grade because no reply could be read. This does not mean "
        "that they are irrelevant.",
        unit="share of the pool",
        values={"unjudged": missing, "pairs": total},
        limit=("0", not missing),
    )
