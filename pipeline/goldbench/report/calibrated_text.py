"""Scores before and after correction by people's judgments, as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from goldbench.records.agreement_report import Estimate
from goldbench.records.calibrated import Calibration
from goldbench.text.display import amount, queries

_LITTLE = 0.2
"""Share of common error below which systems count as corrected one by one."""


def summary(found: Calibration) -> str:
    """Return how much of the judgments is people's, one line."""
    both = found.people + found.model
    return (
        f"{found.people:,} of {amount(both, 'judgment')} by people; people judged "
        f"{found.complete:,} of {queries(found.queries)} completely."
    )


def tables(found: Calibration, *, whole: bool) -> Iterator[tuple[list[list[str]], int]]:
    """Yield the tables, each with the number of its columns of words.

    Args:
        found: The corrected scores.
        whole: Whether the intervals for this set alone are shown, too.
    """
    several = bool(found.differences)
    yield _scores(found, several=several, whole=whole), 2
    if several:
        yield _differences(found, whole=whole), 2
    depth = found.resting[0].depth if found.resting else 0
    rows = [[f"top {depth} results", "judged by people", "by the model", "unjudged"]]
    rows += [[one.system, f"{one.people:,}", f"{one.model:,}", f"{one.unjudged:,}"] for one in found.resting]
    yield rows, 1


def _scores(found: Calibration, *, several: bool, whole: bool) -> list[list[str]]:
    last = ["P(best)", "favoured by the model"] if several else ["trust"]
    rows = [
        ["run", "measure", "raw", "expected gains", "corrected", "95 %", *(["95 %, this set"] if whole else []), *last]
    ]
    for one in found.scores:
        ends = [_ends(one.corrected), *([_ends(one.this_set)] if whole else [])]
        told = [_share(one.best), _favoured(one.favoured)] if several else [_share(one.weight)]
        means = f"{one.raw:.4f}", _value(one.gains), _value(one.corrected)
        rows.append([one.system, one.measure, *means, *ends, *told])
    return rows


def _differences(found: Calibration, *, whole: bool) -> list[list[str]]:
    rows = [["difference", "measure", "raw", "corrected", "95 %", *(["95 %, this set"] if whole else [])]]
    for two in found.differences:
        ends = [_ends(two.corrected), *([_ends(two.this_set)] if whole else [])]
        raw, corrected = f"{two.raw:+.4f}", _value(two.corrected, sign="+")
        rows.append([f"{two.first} - {two.second}", two.measure, raw, corrected, *ends])
    return rows


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
    yield from _common(found)
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


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.2f}"


def _favoured(found: Estimate | None) -> str:
    if found is None:
        return "-"
    return f"{_value(found, sign='+')} ({_ends(found)})" if found.low is not None else _value(found, sign="+")


def _common(found: Calibration) -> Iterator[str]:
    """Yield what the corrections of several systems rest on, and whom the model favours for certain."""
    for measure, share in found.shared.items():
        if share < _LITTLE:
            yield (
                f"{measure}: the model's error differs by system or the model does not know the systems, so each is "
                "corrected by its own judged queries"
            )
        else:
            yield f"{measure}: {100 * share:.0f} % of the model's error counts as common to all systems"
    for one in found.scores:
        bias = one.favoured
        if bias is None or bias.value is None or bias.low is None or bias.high is None or bias.low <= 0 <= bias.high:
            continue
        verb = "favours" if bias.value > 0 else "disfavours"
        yield f"{one.measure}: the model {verb} {one.system} by {abs(bias.value):.3f} ({_ends(bias)})"
