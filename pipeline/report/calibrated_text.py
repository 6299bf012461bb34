"""Scores before and after correction by people's judgments, as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from goldbench.pipeline.report.text_tables import aligned
from goldbench.pipeline.text.display import amount, queries
from goldbench.schemas.agreement_report import Estimate
from goldbench.schemas.calibrated import Calibration


def lines(found: Calibration) -> Iterator[str]:
    """Yield the tables, line by line."""
    both = found.people + found.model
    yield (
        f"{found.people:,} of {amount(both, 'judgment')} by people; people judged "
        f"{found.complete:,} of {queries(found.queries)} completely."
    )
    yield ""
    rows = [["run", "measure", "raw", "expected gains", "corrected", "95 %", "95 %, this set", "trust"]]
    for one in found.scores:
        ends = _ends(one.corrected), _ends(one.this_set)
        means = f"{one.raw:.4f}", _value(one.gains), _value(one.corrected)
        rows.append([one.system, one.measure, *means, *ends, _trust(one.weight)])
    yield from aligned(rows)
    if found.differences:
        yield ""
        rows = [["difference", "measure", "raw", "corrected", "95 %", "95 %, this set", "trust"]]
        for two in found.differences:
            ends = _ends(two.corrected), _ends(two.this_set)
            raw, corrected = f"{two.raw:+.4f}", _value(two.corrected, sign="+")
            rows.append([f"{two.first} - {two.second}", two.measure, raw, corrected, *ends, _trust(two.weight)])
        yield from aligned(rows)
    yield ""
    depth = found.resting[0].depth if found.resting else 0
    rows = [[f"top {depth} results", "judged by people", "by the model", "unjudged"]]
    rows += [[one.system, f"{one.people:,}", f"{one.model:,}", f"{one.unjudged:,}"] for one in found.resting]
    yield from aligned(rows)


def remarks(found: Calibration) -> Iterator[str]:
    """Yield a line for each thing that a reader must know: why a figure is missing, which figures rest on few pairs."""
    yield from found.remarks
    absent = [
        ("corrected scores", {one.corrected.reason for one in found.scores}),
        ("expected gains", {one.gains.reason for one in found.scores}),
    ]
    for name, reasons in absent:
        for reason in sorted(one for one in reasons if one is not None):
            yield f"no {name}: {reason}"
    gains = ", ".join(f"{grade}: {gain:.2f}" for grade, gain in found.expected_gains.items())
    if gains:
        yield (
            f"average grade by people for each grade of the model: {gains} "
            f"({amount(found.sample, 'pair')}, equivalent to {found.effective:,.0f} drawn with equal probability)"
        )


def _value(found: Estimate, *, sign: str = "") -> str:
    return "-" if found.value is None else f"{found.value:{sign}.4f}"


def _ends(found: Estimate) -> str:
    return "-" if found.low is None or found.high is None else f"{found.low:.4f} to {found.high:.4f}"


def _trust(weight: float | None) -> str:
    return "-" if weight is None else f"{weight:.2f}"
