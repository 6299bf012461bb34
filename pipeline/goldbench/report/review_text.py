"""The state of a review as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from goldbench.records.agreement_report import Estimate, PairFigures
from goldbench.records.relevance import RELEVANT
from goldbench.records.review_report import PeopleAgreement, ReviewReport
from goldbench.report.agreement_text import LABELS, pair_sections
from goldbench.report.text_tables import aligned, with_interval
from goldbench.text.display import amount, cut, printable, queries, shell_command

LANES = {"A": "random sample", "B": "likely judge errors", "C": "queries judged completely"}
"""The names of the lanes for people."""
OUTSIDE = "outside the samples"
"""Where judgments stand that belong to no lane, as those made in the workbench."""

_FIRST = 10
_SHOWN = 80
"""Decisions that are shown, and characters of a text, when they no longer apply."""
_BETWEEN = ("exact", "kappa", "kappa_quadratic", "kappa_binary", "alpha")


def lines(report: ReviewReport) -> Iterator[str]:
    """Yield the report, line by line."""
    lanes = {LANES.get(lane, OUTSIDE): count for lane, count in report.by_lane.items()}
    yield (
        f"{report.judged:,} of {amount(report.pairs, 'pair')} judged, {amount(report.judgments, 'judgment')}"
        + _listed(lanes)
    )
    yield (
        f"{amount(report.adjudicated, 'disagreement')} settled, {report.disputed:,} open; "
        f"{amount(report.cannot, 'pair')} that people cannot judge; "
        f"{queries(report.complete_queries)} judged completely"
    )
    for name, counts in (("decisions on queries", report.verdicts), ("bad queries", report.bad_queries)):
        if counts:
            yield name + _listed(counts)
    change = report.rubric_change
    if change is not None:
        yield (
            f"Rubric {change.before} edited to {change.after}: people and model agree whether a passage is relevant on "
            f"{change.agreed_after:,} of {amount(change.compared, 'pair')}, before on {change.agreed_before:,}; "
            f"{change.asked:,} asked again. Pairs with agreement were not, so judge new pairs to confirm it"
        )
    if report.sample is not None:
        weighted = f", equivalent to {report.sample.effective_pairs:,.0f} drawn with equal probability"
        yield from _agreement(
            report.sample, f"People and model on the random sample: {amount(report.sample.pairs, 'pair')}{weighted}"
        )
    if report.complete is not None:
        yield from _agreement(
            report.complete, f"People and model on queries judged completely: {amount(report.complete.pairs, 'pair')}"
        )
    if report.between is not None:
        yield from _between(report.between)
    yield from _people(report)
    yield ""
    yield "When to stop"
    for rule in report.stop:
        word = {True: " (done)", False: " (not done)", None: ""}[rule.holds]
        yield f"  {rule.rule}: {rule.found}{word}"
    yield from _not_applied(report)
    for remark in report.remarks:
        yield f"Note: {printable(remark)}"
    yield f"Intervals: {report.confidence:.0%}, {report.resamples:,} resamples of the queries, seed {report.seed}"


def _agreement(figures: PairFigures, title: str) -> Iterator[str]:
    for section in pair_sections(figures, title, ("people", "model"), level=RELEVANT):
        yield from _table(section.title, section.head, [row for row in section.rows if any(row)])


def _between(people_agreement: PeopleAgreement) -> Iterator[str]:
    rows = [[LABELS[key], _long(getattr(people_agreement, key))] for key in _BETWEEN]
    title = f"Agreement between people, the ceiling for a model: {amount(people_agreement.pairs, 'pair')} judged twice"
    yield from _table(title, ["", ""], rows)


def no_longer_applies(count: int) -> str:
    """Return the line on decisions of people that do not apply to a set any more."""
    command = shell_command("review report")
    return f"No longer applies: {amount(count, 'decision')} of people; {command} lists them with their texts"


def _not_applied(report: ReviewReport) -> Iterator[str]:
    """Yield how many decisions on earlier sets apply and do not apply, and the first of those that do not."""
    if report.carried:
        yield f"Note: {amount(report.carried, 'decision')} on an earlier set, carried to the same texts or evidence"
    count = len(report.not_applied)
    if not count:
        return
    yield ""
    command = shell_command("review export")
    yield f"No longer applies: {amount(count, 'decision')}; {command} writes all, with their texts"
    for decision in report.not_applied[:_FIRST]:
        kind = decision.kind if decision.grade is None else f"{decision.kind} {decision.grade}"
        passage = "" if decision.passage is None else f" | {_short(decision.passage)}"
        query = "query of unknown text" if decision.query is None else _short(decision.query)
        yield f"  {printable(decision.annotator)}, {kind}: {query}{passage} ({decision.reason})"
    if count > _FIRST:
        yield f"  and {count - _FIRST:,} more"


def _short(text: str) -> str:
    return cut(printable(" ".join(text.split())), _SHOWN)


def _people(report: ReviewReport) -> Iterator[str]:
    rows = [
        [
            annotator.name,
            f"{annotator.judgments:,}",
            "-" if annotator.median_ms is None else f"{annotator.median_ms / 1000:.1f} s",
            f"{annotator.too_fast:,}",
            f"{annotator.same:,} of {annotator.repeated:,}" if annotator.repeated else "-",
        ]
        for annotator in report.annotators
    ]
    yield from _table("Annotators", ["", "judgments", "median time", "too fast", "same grade again"], rows)


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        yield ""
        yield printable(title)
        yield from aligned([head, *rows] if any(head) else rows, indent="  ")


def _long(estimate: Estimate) -> str:
    return (
        f"- ({estimate.reason})"
        if estimate.value is None
        else with_interval(estimate.value, estimate.low, estimate.high, places=2)
    )


def _listed(counts: dict[str, int]) -> str:
    return ": " + ", ".join(f"{printable(key)} {count:,}" for key, count in counts.items()) if counts else ""
