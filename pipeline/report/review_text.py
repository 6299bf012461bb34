"""The state of a review as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.text.display import printable
from schemas.agreement_report import Estimate, PairFigures
from schemas.review_report import Between, ReviewReport

_FIGURES = {
    "exact": "same grade",
    "kappa": "Cohen kappa",
    "kappa_quadratic": "kappa, quadratic weights",
    "kappa_binary": "kappa, relevant or not",
    "alpha": "Krippendorff alpha, ordinal",
    "bias": "bias, model minus people",
}


def lines(found: ReviewReport) -> Iterator[str]:
    """Yield everything, a line each."""
    yield (
        f"{found.judged:,} of {found.pairs:,} pairs judged, {found.judgments:,} judgments"
        + _listed(" by lane", found.by_lane)
    )
    yield (
        f"adjudicated {found.adjudicated:,}, waiting for it {found.disputed:,}; cannot judge {found.cannot:,}; "
        f"queries judged to the end {found.complete_queries:,}"
    )
    for name, counts in (("queries decided", found.verdicts), ("queries called bad", found.bad_queries)):
        if counts:
            yield name + _listed("", counts)
    if found.sample is not None:
        weighted = f", worth {found.sample.effective_pairs:,.0f} drawn with equal probability"
        yield from _agreement(found.sample, f"People and model, lane A: {found.sample.pairs:,} pairs{weighted}")
    if found.complete is not None:
        yield from _agreement(found.complete, f"People and model, lane C: {found.complete.pairs:,} pairs")
    for slice_, groups in found.by.items():
        rows = [
            [name, f"{one.pairs:,}", _short(one.kappa), _short(one.kappa_quadratic), _short(one.kappa_binary)]
            for name, one in groups.items()
        ]
        yield from _table(f"By {slice_}", ["", "pairs", "kappa", "quadratic", "relevant or not"], rows)
    if found.between is not None:
        yield from _between(found.between)
    yield from _people(found)
    yield ""
    yield "When to stop"
    for rule in found.stop:
        word = {True: "yes", False: "no", None: "not known yet"}[rule.holds]
        yield f"  {rule.rule}: {word} ({rule.found})"
    for remark in found.remarks:
        yield f"Note: {printable(remark)}"
    yield f"{found.resamples:,} resamples of the queries, seed {found.seed}; intervals {found.confidence:.0%}"


def _agreement(figures: PairFigures, title: str) -> Iterator[str]:
    rows = [[name, _long(getattr(figures, key))] for key, name in _FIGURES.items()]
    rows.append(
        ["relevant to people, to the model", f"{_share(figures.prevalence_reference, figures.prevalence_judge)}"]
    )
    yield from _table(title, ["", ""], rows)
    grades = range(len(figures.confusion))
    yield from _table(
        "Pairs by grade: rows people, columns the model",
        ["", *(str(grade) for grade in grades)],
        [[str(grade), *(f"{cell:,}" for cell in figures.confusion[grade])] for grade in grades],
    )
    yield from _table(
        "What the model's grade is worth",
        ["grade", "pairs", "relevant to people"],
        [[str(one.grade), f"{one.pairs:,}", _long(one.share)] for one in figures.relevant_by_grade],
    )


def _between(found: Between) -> Iterator[str]:
    rows = [[_FIGURES[key], _long(getattr(found, key))] for key in _FIGURES if key != "bias"]
    yield from _table(f"People among themselves, the ceiling: {found.pairs:,} pairs judged twice", ["", ""], rows)
    yield from _table(
        "Each two",
        ["", "pairs", "kappa", "quadratic", "relevant or not"],
        [
            [
                f"{one.first} / {one.second}",
                f"{one.pairs:,}",
                _short(one.kappa),
                _short(one.kappa_quadratic),
                _short(one.kappa_binary),
            ]
            for one in found.two_by_two
        ],
    )


def _people(found: ReviewReport) -> Iterator[str]:
    rows = [
        [
            one.name,
            f"{one.judgments:,}",
            "-" if one.median_ms is None else f"{one.median_ms / 1000:.1f} s",
            f"{one.too_fast:,}",
            f"{one.same:,} of {one.repeated:,}" if one.repeated else "-",
        ]
        for one in found.annotators
    ]
    yield from _table("Annotators", ["", "judgments", "median", "too fast", "same grade again"], rows)


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    cells = [[printable(cell) for cell in row] for row in ([head] if any(head) else []) + list(rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    yield ""
    yield printable(title)
    for row in cells:
        padded = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        yield ("  " + "   ".join(padded)).rstrip()


def _long(found: Estimate) -> str:
    if found.value is None:
        return f"- ({found.reason})"
    ends = "" if found.low is None or found.high is None else f" [{found.low:.2f}, {found.high:.2f}]"
    return f"{found.value:.2f}{ends}"


def _short(found: Estimate) -> str:
    return "-" if found.value is None else f"{found.value:.2f}"


def _share(*values: float | None) -> str:
    return ", ".join("-" if value is None else f"{value:.0%}" for value in values)


def _listed(name: str, counts: dict[str, int]) -> str:
    return f"{name}: " + ", ".join(f"{printable(key)} {count:,}" for key, count in counts.items()) if counts else ""
