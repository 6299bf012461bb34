"""The agreement of two sets of labels in words and tables, and the guardrails of a judge, as text and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from goldbench.measures.statistics.rank_correlation import FEW_SYSTEMS
from goldbench.records.agreement_report import Agreement, Estimate, PairFigures, Ranking
from goldbench.records.guardrail import Guardrail, GuardrailVerdict
from goldbench.report.text_tables import markdown_table, with_interval
from goldbench.text.display import amount, queries
from goldbench.text.markdown import escaped

LABELS = {
    "exact": "same grade",
    "kappa": "Cohen kappa",
    "kappa_linear": "kappa, linear weights",
    "kappa_quadratic": "kappa, quadratic weights",
    "kappa_binary": "kappa, relevant or not",
    "alpha": "Krippendorff alpha, ordinal",
    "bias": "bias, judge minus reference",
}


@dataclass(frozen=True, slots=True)
class FigureTable:
    """A table with its title; the first column holds text, the others figures."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


MAIN = ("exact", "kappa_quadratic", "kappa_binary", "bias")
"""The figures that a terminal shows; the others with ``--wide``."""


def sections(agreement: Agreement, *, whole: bool = True) -> Iterator[FigureTable]:
    """Yield the tables.

    Args:
        agreement: The agreement.
        whole: Whether every figure is in them, or the few that matter most.
    """
    if agreement.overall is not None:
        title = f"Agreement of {agreement.judge} with {agreement.reference}"
        names = (agreement.reference, agreement.judge)
        yield from pair_sections(agreement.overall, title, names, level=agreement.level, whole=whole)
    if agreement.ranking is not None:
        yield _ranking(agreement.ranking)
        yield _systems(agreement.ranking, agreement.reference, agreement.judge)


def words(agreement: Agreement) -> Iterator[str]:
    """Yield the lines above the tables: what was compared, and what limits the figures."""
    if agreement.overall is None and (agreement.only_reference or agreement.only_judge):
        yield (
            f"No pair was graded by both: {agreement.reference} graded {amount(agreement.only_reference, 'pair')}, "
            f"{agreement.judge} {amount(agreement.only_judge, 'other pair')}. Are these ids of the same collection?"
        )
    if agreement.overall is not None:
        figures = agreement.overall
        yield (
            f"{amount(figures.pairs, 'pair')} of {queries(figures.queries)} graded by both; "
            f"{agreement.only_reference:,} only by {agreement.reference}, "
            f"{agreement.only_judge:,} only by {agreement.judge}."
        )
        if figures.pairs == 1:
            yield "One pair says nothing about agreement."
        if figures.weighted:
            yield (
                "Pairs were drawn with known probabilities and are weighted by the inverse; "
                f"this is equivalent to {figures.effective_pairs:,.0f} equally weighted pairs."
            )
    if agreement.ranking is not None and len(agreement.ranking.systems) < FEW_SYSTEMS:
        yield (
            f"{amount(len(agreement.ranking.systems), 'system')} are too few for a meaningful tau; "
            f"compare at least {FEW_SYSTEMS}."
        )
    yield from guardrail_lines(agreement.guardrails)
    yield from agreement.remarks


def verdict(agreement: Agreement) -> str | None:
    """Return how far the labels agree in one sentence, None if no pair was graded by both or it says nothing."""
    figures = agreement.overall
    kappa = None if figures is None else figures.kappa_binary
    if figures is None or kappa is None or kappa.value is None:
        return None
    alike = f"relevant or not, kappa is {with_interval(kappa.value, kappa.low, kappa.high, places=3)}"
    exact = "" if figures.exact.value is None else f"; {figures.exact.value:.0%} of the grades are the same"
    return f"Verdict: {alike} ({_strength(kappa.value)}){exact}."


def _strength(kappa: float) -> str:
    """Return the usual word for a kappa (Landis and Koch, Biometrics 33, 1977)."""
    words = ((0.8, "almost perfect"), (0.6, "substantial"), (0.4, "moderate"), (0.2, "fair"), (0.0, "slight"))
    return next((word for least, word in words if kappa > least), "no more than chance")


def markdown(agreement: Agreement) -> str:
    """Return everything in Markdown."""
    parts = [line for sentence in words(agreement) for line in (escaped(sentence), "")]
    for section in sections(agreement):
        parts += [f"**{escaped(section.title)}**", "", markdown_table([section.head, *section.rows]), ""]
    return "\n".join([*parts, escaped(method(agreement)), ""])


def method(agreement: Agreement) -> str:
    """Return the method of the figures, one line."""
    if agreement.overall is None:
        return f"Relevant: grade {agreement.level} or higher."
    return (
        f"Intervals: {agreement.confidence:.0%}, over queries ({agreement.resamples:,} resamples, seed "
        f"{agreement.seed}; shares by grade: Wilson with the design effect of queries). Relevant: grade "
        f"{agreement.level} or higher. Several assessors count as their rounded mean."
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _row(name: str, estimate: Estimate) -> list[str]:
    if estimate.value is None:
        return [name, "absent", "", "", estimate.reason or ""]
    return [name, _number(estimate.value), _number(estimate.low), _number(estimate.high), ""]


def pair_sections(
    figures: PairFigures, title: str, names: tuple[str, str], *, level: int, whole: bool = True
) -> Iterator[FigureTable]:
    """Yield the figures on pairs that two sides graded, their pairs by grade, and what each grade is worth.

    Args:
        figures: The figures.
        title: The title of the first table.
        names: What the reference and the judge are called.
        level: The smallest relevant grade.
        whole: Whether every figure is in the first table, or the few that matter most.
    """
    labels = LABELS | {"kappa_binary": f"{LABELS['kappa_binary']} (grade >= {level})"}
    rows = [_row(label, getattr(figures, name)) for name, label in labels.items() if whole or name in MAIN]
    if whole:
        for label, value in (
            ("mean grade, reference", figures.mean_reference),
            ("mean grade, judge", figures.mean_judge),
            (f"share of grade >= {level}, reference", figures.prevalence_reference),
            (f"share of grade >= {level}, judge", figures.prevalence_judge),
        ):
            rows.append([label, _number(value), "", "", ""])
    yield FigureTable(title, ["", "value", "low", "high", ""], rows)
    head = [f"{names[0]} \\ {names[1]}", *map(str, range(len(figures.confusion))), "all"]
    rows = [
        [str(grade), *(f"{cell:,}" for cell in row), f"{sum(row):,}"] for grade, row in enumerate(figures.confusion)
    ]
    columns = [f"{sum(column):,}" for column in zip(*figures.confusion, strict=True)]
    rows.append(["all", *columns, f"{figures.pairs:,}"])
    yield FigureTable("Pairs by grade (rows: reference, columns: judge)", head, rows)
    rows = []
    for item in figures.relevant_by_grade:
        share = item.share
        cells = [_number(share.value), _number(share.low), _number(share.high)] if share.value is not None else [""] * 3
        rows.append([str(item.grade), f"{item.pairs:,}", f"{item.relevant:,}", *cells])
    title = f"Share of pairs that the reference grades {level} or higher, by the judge's grade"
    yield FigureTable(title, ["judge's grade", "pairs", "relevant", "share", "low", "high"], rows)


def _ranking(ranking: Ranking) -> FigureTable:
    title = f"Order of {len(ranking.systems)} systems by {ranking.measure} ({queries(ranking.queries)})"
    return FigureTable(title, ["", "value", "low", "high", ""], [_row("Kendall tau-b", ranking.tau)])


def _systems(ranking: Ranking, reference: str, judge: str) -> FigureTable:
    rows = [[system.system, f"{system.reference:.4f}", f"{system.judge:.4f}"] for system in ranking.systems]
    return FigureTable("Systems, best first by the reference", ["system", reference, judge], rows)


def guardrail_lines(held: Sequence[Guardrail]) -> Iterator[str]:
    """Yield a line for each guardrail: its rate, its interval, its limit and the verdict."""
    for guardrail in held:
        yield f"guardrail, {guardrail.probe}: {guardrail_text(guardrail)}"


def guardrail_text(guardrail: Guardrail) -> str:
    """Return what was found on a guardrail, in a few words."""
    if (
        guardrail.verdict is GuardrailVerdict.ABSENT
        or guardrail.rate is None
        or guardrail.low is None
        or guardrail.high is None
    ):
        return f"not tested: {guardrail.reason}"
    verdict = guardrail.verdict.value
    if guardrail.verdict is GuardrailVerdict.UNDECIDED:
        verdict += (
            f", {amount(guardrail.more, 'more pair')} would"
            if guardrail.more is not None
            else ", too close to the limit"
        )
    return (
        f"wrong on {guardrail.wrong:,} of {guardrail.shown:,} ({guardrail.rate:.0%}, 95 % interval "
        f"{guardrail.low:.0%} to {guardrail.high:.0%}; limit {guardrail.limit:.0%}): {verdict}"
    )
