"""A scorecard and the verdict on its set in words and tables, for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from goldbench.records.scorecard import Comparison, Score, Scorecard, Verdict
from goldbench.records.set_verdict import SetVerdict
from goldbench.report.text_tables import markdown_table, p_value, with_interval
from goldbench.text.display import printable
from goldbench.text.markdown import escaped

SMOKE = "smoke"
"""The evidence level of queries of simulation or a tiny model, from which nothing follows about systems."""

_CLAIMS_NOTHING = {"unusable"}
"""The levels of a verdict at which nothing follows about systems."""

_RESULTS = {
    Verdict.FIRST: "first",
    Verdict.SECOND: "second",
    Verdict.NOT_SEPARABLE: "not separable",
    Verdict.SAME: "same",
}
"""The result of a comparison in the table: which of the two runs scores higher."""


def leaderboard_rows(card: Scorecard, measures: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the headings, then a row for each system: measures (else all) with intervals, and the judged share."""
    measures = measures or card.measures
    judged = sorted({name for system in card.systems for name in system.judged})
    yield ("system", *measures, *judged, "queries")
    for system in card.systems:
        yield (
            system.system,
            *(score_text(system.scores[measure]) for measure in measures),
            *(f"{system.judged[name]:.4f}" for name in judged),
            f"{system.counts.queries:,}",
        )


def score_text(score: Score) -> str:
    """Return a mean with its interval, if it has one."""
    return with_interval(score.mean, score.low, score.high)


def pair_rows(comparisons: Sequence[Comparison]) -> list[tuple[str, ...]]:
    """Return the headings, then the cells of each comparison; the first three columns hold words."""
    cells = [_pair_cells(comparison) for comparison in comparisons]
    return [tuple(cells[0]), *(tuple(row.values()) for row in cells)]


def _pair_cells(comparison: Comparison) -> dict[str, str]:
    return {
        "measure": comparison.measure,
        "first": comparison.first,
        "second": comparison.second,
        "difference": f"{comparison.difference:+.4f}",
        "interval": f"[{comparison.low:+.4f}, {comparison.high:+.4f}]",
        "p": p_value(comparison.p),
        "p Holm": p_value(comparison.p_holm),
        "p t": "-" if comparison.p_t is None else p_value(comparison.p_t),
        "win/tie/loss": f"{comparison.wins}/{comparison.ties}/{comparison.losses}",
        "effect": "-" if comparison.effect_size is None else f"{comparison.effect_size:+.2f}",
        "detectable (Holm)": _detectable(comparison),
        "result": _RESULTS[comparison.verdict],
    }


def _detectable(comparison: Comparison) -> str:
    """Return the detectable difference of this comparison alone and, in brackets, after Holm over all of them."""
    alone, adjusted = (
        f"{difference:.4f}" if difference else "-" for difference in (comparison.detectable, comparison.detectable_holm)
    )
    return alone if alone == "-" else f"{alone} ({adjusted})"


def method_line(card: Scorecard) -> str:
    """Return the method of the intervals and tests, one line."""
    method = card.method
    count = len(card.comparisons)
    parts = [f"judged queries: {card.gold.queries:,}", f"missing queries: {method.missing}"]
    if card.gold.content_sha256:
        parts.insert(0, f"content {card.gold.content_sha256[:12]} of the set")
    if any(score.low is not None for system in card.systems for score in system.scores.values()):
        parts.append(f"{method.confidence:.0%} paired bootstrap intervals ({method.resamples:,} resamples)")
    if count:
        family = f"Holm over {count:,} comparisons" if count > 1 else "one comparison"
        parts.append(f"sign-flip test ({method.permutations:,} permutations), {family}, level {method.alpha:g}")
    return f"Method: {'; '.join(parts)}; seed {method.seed}."


def main_pair_rows(comparisons: Sequence[Comparison]) -> list[tuple[str, ...]]:
    """Return the headings, then for each comparison what decides it: difference, interval, p, and the result."""
    columns = ("difference", "interval", "p Holm", "result")
    rows: list[tuple[str, ...]] = [("measure", "runs", *columns)]
    for comparison in comparisons:
        cells = _pair_cells(comparison)
        runs = f"{comparison.first} - {comparison.second}"
        rows.append((comparison.measure, runs, *(cells[name] for name in columns)))
    return rows


def markdown(card: Scorecard) -> str:
    """Return the card as Markdown."""
    parts = [markdown_table(list(leaderboard_rows(card)))]
    if card.comparisons:
        parts.append(markdown_table(pair_rows(card.comparisons), words=3))
    if card.verdict is not None:
        parts.append(verdict_markdown(card.verdict))
    top = best(card)
    remarks = [*([top] if top else []), *(f"Warning: {warning}." for warning in card.warnings), method_line(card)]
    parts.append("\n".join(f"- {escaped(line)}" for line in remarks))
    return "\n\n".join(parts) + "\n"


def best(card: Scorecard) -> str | None:
    """Return which systems may be the best by the first measure, or None if `unbeaten` names none."""
    measure = card.measures[0]
    top = unbeaten(card)
    if len(top) == 1:
        return f"By {measure}, {top[0]} is the best of {len(card.systems)}."
    return f"By {measure}, these are not separable from the best: {', '.join(top)}." if top else None


def claims_nothing(card: Scorecard) -> str | None:
    """Return why nothing about the systems follows from the figures, None if something does."""
    if card.gold.evidence_level == SMOKE:
        return "simulated queries or those of a tiny model"
    return card.verdict.sentence if card.verdict is not None and card.verdict.level in _CLAIMS_NOTHING else None


def unbeaten(card: Scorecard) -> list[str]:
    """Return the systems that no other beats by the first measure; none if `claims_nothing`, or without comparisons."""
    if not card.comparisons or claims_nothing(card):
        return []
    beaten = set()
    for comparison in card.comparisons:
        if comparison.measure == card.measures[0]:
            beaten |= {Verdict.FIRST: {comparison.second}, Verdict.SECOND: {comparison.first}}.get(
                comparison.verdict, set()
            )
    return [system.system for system in card.systems if system.system not in beaten]


_HEADING = "What would change it most, the cheapest first:"


def verdict_lines(verdict: SetVerdict | None) -> list[str]:
    """Return the verdict, and a line for each improvement below a heading; nothing for None."""
    if verdict is None:
        return []
    lines = [f"Verdict: {verdict.sentence}."]
    if verdict.improvements:
        lines += [_HEADING, *(f"- {improvement}" for improvement in verdict.improvements)]
    return [printable(line) for line in lines]


def first_lines(verdict: SetVerdict | None) -> list[str]:
    """Return the verdict in one line, as a command prints it first; nothing for None."""
    return verdict_lines(None if verdict is None else replace(verdict, improvements=()))


def further_lines(verdict: SetVerdict | None, *, whole: bool) -> list[str]:
    """Return what would change the verdict: the cheapest improvement in one line, or with ``whole`` every one."""
    if verdict is None or not verdict.improvements:
        return []
    if whole:
        return verdict_lines(verdict)[1:]
    first = verdict.improvements[0]
    rest = len(verdict.improvements) - 1
    more = f" ({rest:,} more with -v)" if rest else ""
    return [printable(f"To improve it: {first}{more}")]


def verdict_markdown(verdict: SetVerdict) -> str:
    """Return the verdict and the list of improvements, without a line end."""
    from goldbench.text.markdown import escaped

    sentence = f"**Verdict:** {escaped(verdict.sentence)}."
    if not verdict.improvements:
        return sentence
    return "\n".join(
        [sentence, "", escaped(_HEADING), "", *(f"- {escaped(improvement)}" for improvement in verdict.improvements)]
    )
