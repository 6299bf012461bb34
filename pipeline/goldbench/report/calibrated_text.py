"""Scores before and after correction by people's judgments, as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from goldbench.records.agreement_report import Estimate
from goldbench.records.calibrated import Calibration
from goldbench.text.display import amount, queries


def summary(calibration: Calibration) -> str:
    """Return how much of the judgments is people's, one line."""
    both = calibration.people + calibration.model
    return (
        f"{calibration.people:,} of {amount(both, 'judgment')} by people; people judged "
        f"{calibration.complete:,} of {queries(calibration.queries)} completely."
    )


def tables(calibration: Calibration) -> Iterator[tuple[list[list[str]], int]]:
    """Yield the tables, each with the number of its columns of words."""
    several = bool(calibration.differences)
    yield _scores(calibration, several=several), 2
    if several:
        yield _differences(calibration), 2
    depth = calibration.resting[0].depth if calibration.resting else 0
    rows = [[f"top {depth} results", "judged by people", "by the model", "unjudged"]]
    rows += [
        [resting.system, f"{resting.people:,}", f"{resting.model:,}", f"{resting.unjudged:,}"]
        for resting in calibration.resting
    ]
    yield rows, 1


def _scores(calibration: Calibration, *, several: bool) -> list[list[str]]:
    last = ["P(best)", "favoured by the model"] if several else ["trust"]
    rows = [["run", "measure", "raw", "corrected", "95 %", *last]]
    for score in calibration.scores:
        shares = [_share(score.best), _favoured(score.favoured)] if several else [_share(score.weight)]
        means = f"{score.raw:.4f}", _value(score.corrected)
        rows.append([score.system, score.measure, *means, _ends(score.corrected), *shares])
    return rows


def _differences(calibration: Calibration) -> list[list[str]]:
    rows = [["difference", "measure", "raw", "corrected", "95 %"]]
    for two in calibration.differences:
        raw = f"{two.raw:+.4f}"
        corrected = _value(two.corrected, sign="+")
        rows.append([f"{two.first} - {two.second}", two.measure, raw, corrected, _ends(two.corrected)])
    return rows


def remarks(calibration: Calibration) -> Iterator[str]:
    """Yield a line for each thing that a reader must know: why a figure is missing, which figures rest on few pairs."""
    yield from calibration.remarks
    for reason in sorted({score.corrected.reason for score in calibration.scores if score.corrected.reason}):
        yield f"no corrected scores: {reason}"


def _value(estimate: Estimate, *, sign: str = "") -> str:
    return "-" if estimate.value is None else f"{estimate.value:{sign}.4f}"


def _ends(estimate: Estimate) -> str:
    return "-" if estimate.low is None or estimate.high is None else f"{estimate.low:.4f} to {estimate.high:.4f}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.2f}"


def _favoured(estimate: Estimate | None) -> str:
    if estimate is None:
        return "-"
    return (
        f"{_value(estimate, sign='+')} ({_ends(estimate)})" if estimate.low is not None else _value(estimate, sign="+")
    )
