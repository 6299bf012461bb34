"""Scores before and after people's judgments, side by side, as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.text.display import printable
from schemas.agreement_report import Estimate
from schemas.calibrated import Calibration


def lines(found: Calibration) -> Iterator[str]:
    """Yield everything, a line each."""
    both = found.people + found.model
    yield (
        f"{found.people:,} of {both:,} judgments are people's; {found.complete:,} of {found.queries:,} queries are "
        "judged by people to the end"
    )
    yield ""
    yield from _table(
        ["run", "measure", "raw", "expected gains", "corrected", "95 %", "95 %, this set", "trust"],
        [
            [
                one.system,
                one.measure,
                f"{one.raw:.4f}",
                _value(one.gains),
                _value(one.corrected),
                _ends(one.corrected),
                _ends(one.this_set),
                _trust(one.weight),
            ]
            for one in found.scores
        ],
    )
    if found.differences:
        yield ""
        yield from _table(
            ["difference", "measure", "raw", "corrected", "95 %", "95 %, this set", "trust"],
            [
                [
                    f"{one.first} - {one.second}",
                    one.measure,
                    f"{one.raw:+.4f}",
                    _value(one.corrected, sign=True),
                    _ends(one.corrected),
                    _ends(one.this_set),
                    _trust(one.weight),
                ]
                for one in found.differences
            ],
        )
    yield ""
    depth = found.resting[0].depth if found.resting else 0
    yield from _table(
        [f"first {depth} documents", "by people", "by the model", "by nobody"],
        [[one.system, f"{one.people:,}", f"{one.model:,}", f"{one.unjudged:,}"] for one in found.resting],
    )


def remarks(found: Calibration) -> Iterator[str]:
    """Yield what a reader must know beside the figures, a line each: why one is missing, what rests on little."""
    yield from found.remarks
    absent = [
        ("corrected", {one.corrected.reason for one in found.scores}),
        ("expected gains", {one.gains.reason for one in found.scores}),
    ]
    for name, reasons in absent:
        for reason in sorted(one for one in reasons if one is not None):
            yield f"no {name} figure: {reason}"
    gains = ", ".join(f"{grade}: {gain:.2f}" for grade, gain in found.expected_gains.items())
    if gains:
        yield (
            f"people give on average, by the model's grade, {gains} "
            f"({found.sample:,} pairs, worth {found.effective:,.0f} drawn with equal probability)"
        )


def _value(found: Estimate, *, sign: bool = False) -> str:
    if found.value is None:
        return "-"
    return f"{found.value:+.4f}" if sign else f"{found.value:.4f}"


def _ends(found: Estimate) -> str:
    return "-" if found.low is None or found.high is None else f"{found.low:.4f} to {found.high:.4f}"


def _trust(weight: float | None) -> str:
    return "-" if weight is None else f"{weight:.2f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    cells = [[printable(cell) for cell in row] for row in [head, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        yield "   ".join(padded).rstrip()
