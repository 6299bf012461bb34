"""Figures on the grades of a pool, and on whether its judge can be believed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import numpy as np

from pipeline.card.described_set import Material
from pipeline.card.figures import absent, figure, good
from pipeline.stages.canaries import CONTROL_BELOW, FAIL_ABOVE, TRAPS, WARN_ABOVE, tally
from schemas.judgment import Canary, Flag, Judgment
from schemas.set_card import Figure, State

GRADES, JUDGE = "grades", "judge"
NOT_GRADED = "the set was not graded: no pool was judged"


def grading_figures(material: Material) -> Iterator[Figure]:
    """Yield the figures on grades and on whoever gave them."""
    yield from _grades(material)
    yield _people(material)
    yield from _judge(material)


def _people(material: Material) -> Figure:
    said = material.metadata.get("review")
    counts = said.get("judgments") if isinstance(said, Mapping) else None
    given = [counts.get(who) for who in ("people", "model")] if isinstance(counts, Mapping) else []
    numbers = [count for count in given if isinstance(count, int) and count >= 0]
    if len(numbers) < 2 or not sum(numbers):
        return absent(GRADES, "judged by people", "no review of this set was applied (goldset review, review apply)")
    people, model = numbers
    return figure(
        GRADES,
        "judged by people",
        people / (people + model),
        "Share of the labels that people gave. What the card says of the judge is about the judge, not about these.",
        unit="share of labels",
        values={"of people": people, "of the model": model},
    )


def _grades(material: Material) -> Iterator[Figure]:
    names = ("grade 3 in the pool", "grade of the source")
    if not material.graded:
        for name in names:
            yield absent(GRADES, name, NOT_GRADED)
        return
    counts = Counter(grade for judged in material.qrels.values() for grade in judged.values())
    total = counts.total()
    yield figure(
        GRADES,
        names[0],
        counts[3] / total,
        "Where much of a pool answers the query fully, the queries are too broad or the judge too kind.",
        unit="share of judged pairs",
        values={f"grade {grade}": counts[grade] for grade in range(4)} | {"pairs": total},
        threshold="< 0.25",
        state=good(counts[3] / total < 0.25),
    )
    grades = [
        material.qrels[query_id][source]
        for query_id in material.queries
        if (source := material.source(query_id)) is not None and source in material.qrels.get(query_id, {})
    ]
    if not grades:
        yield absent(GRADES, names[1], "no source passage is among the judged")
        return
    given, high = Counter(grades), sum(grade >= 2 for grade in grades) / len(grades)
    checked = Counter(
        grade
        for query_id in material.queries
        if (grade := material.notes.get(query_id, {}).get("source_grade")) is not None
    )
    yield figure(
        GRADES,
        names[1],
        high,
        "Share of the sources that whoever judged last, shown nothing but the query and the passage, finds relevant.",
        unit="share of sources graded 2 or 3",
        values={f"grade {grade}": given[grade] for grade in range(4)}
        | {f"shown with its answer, grade {grade}": checked[grade] for grade in range(4) if checked},
    )


def _judge(material: Material) -> Iterator[Figure]:
    if not material.graded:
        for name in ("canaries", "evidence alone", "spread of the panel", "guard", "unjudged"):
            yield absent(JUDGE, name, NOT_GRADED)
        return
    yield from _canaries(material)
    real = [one for one in material.judgments if one.canary is None and one.shared_from is None]
    yield _spread(real)
    yield _guard(real)
    yield _unjudged(material)


def _canaries(material: Material) -> Iterator[Figure]:
    counts = tally(material.judgments)
    grading = material.manifest.grading if material.manifest else None
    if not counts and grading is not None:
        counts = {Canary(kind): (count.graded, count.relevant) for kind, count in sorted(grading.canaries.items())}
    put, fell = (sum(counts[kind][part] for kind in TRAPS if kind in counts) for part in (0, 1))
    if not put:
        yield absent(JUDGE, "canaries", "no made-up pair was put to the judge")
    else:
        yield figure(
            JUDGE,
            "canaries",
            fell / put,
            f"{fell:,} of {put:,} made-up pairs that are not relevant were graded 2 or 3: "
            + ("do not use this judge." if fell / put > FAIL_ABOVE else "so often this judge is fooled."),
            unit="share of traps graded 2 or 3",
            values={
                f"{kind.value}, {word}": counts[kind][part]
                for kind in TRAPS
                if kind in counts
                for part, word in ((0, "put"), (1, "graded 2 or 3"))
            },
            threshold=f"<= {WARN_ABOVE:g}, fails above {FAIL_ABOVE:g}",
            state=State.FAIL if fell / put > FAIL_ABOVE else good(fell / put <= WARN_ABOVE),
        )
    shown, found = counts.get(Canary.EVIDENCE_ALONE, (0, 0))
    if not shown:
        yield absent(JUDGE, "evidence alone", "no judge was shown an evidence sentence alone")
        return
    yield figure(
        JUDGE,
        "evidence alone",
        found / shown,
        f"Of {shown:,} sentences that answer their query, the judge recognised {found:,}.",
        unit="share graded 2 or 3",
        threshold=f">= {CONTROL_BELOW:g}",
        state=good(found / shown >= CONTROL_BELOW),
    )


def _spread(real: list[Judgment]) -> Figure:
    by_pair: dict[tuple[str, str], list[int]] = defaultdict(list)
    for one in real:
        by_pair[one.query_id, one.chunk_id].append(int(one.relevance))
    several = [grades for grades in by_pair.values() if len(grades) > 1]
    if not several:
        return absent(JUDGE, "spread of the panel", "no pair was judged by more than one assessor")
    spreads = Counter(max(grades) - min(grades) for grades in several)
    return figure(
        JUDGE,
        "spread of the panel",
        float(np.mean([max(grades) - min(grades) for grades in several])),
        f"Highest less lowest grade of {len(several):,} pairs that several assessors judged; look where they split.",
        unit="grades, mean",
        values={f"spread {spread}": spreads[spread] for spread in sorted(spreads)} | {"pairs": len(several)},
    )


def _guard(real: list[Judgment]) -> Figure:
    if not real:
        return absent(JUDGE, "guard", "there are no judgments to look at")
    capped = sum(one.capped for one in real)
    flags = Counter(one.flag.value for one in real if one.flag is not Flag.NONE)
    return figure(
        JUDGE,
        "guard",
        capped / len(real),
        f"{capped:,} of {len(real):,} judgments were taken down to 1: they quoted nothing that stands in the passage.",
        unit="share of judgments capped",
        values={"capped": capped, **{f"flag {flag}": flags[flag] for flag in sorted(flags)}},
    )


def _unjudged(material: Material) -> Figure:
    grading = material.manifest.grading if material.manifest else None
    if material.pool:
        asked = [row for row in material.pool if row.shared_from is None and row.query_id in material.queries]
        missing = sum(row.chunk_id not in material.qrels.get(row.query_id, {}) for row in asked)
        total = len(asked)
    elif grading is not None:
        missing, total = grading.unjudged, grading.pairs
    else:
        return absent(JUDGE, "unjudged", "there is no pool to compare with")
    if not total:
        return absent(JUDGE, "unjudged", "the pool is empty")
    return figure(
        JUDGE,
        "unjudged",
        missing / total,
        f"{missing:,} of {total:,} pairs of the pool have no grade: no reply could be read, which is not irrelevance.",
        unit="share of the pool",
        values={"unjudged": missing, "pairs": total},
        threshold="0",
        state=good(not missing),
    )
