"""An experiment of `goldbench bench` as tables: for a terminal, as Markdown and CSV; times have their own tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from goldbench.measures.names import parse_measure
from goldbench.records.experiment import Experiment, Latency, Timing, Timings
from goldbench.records.scorecard import Verdict
from goldbench.report.scorecard_text import (
    best,
    claims_nothing,
    leaderboard_rows,
    method_line,
    pair_rows,
    verdict_markdown,
)
from goldbench.report.text_tables import markdown_table
from goldbench.text.display import queries
from goldbench.text.markdown import escaped

Rows = list[tuple[str, ...]]
"""The headings, then a row of cells for each line."""

MOST_MEASURES = 4
"""Measures that a terminal shows without ``--wide``."""

MOST_PAIRS = 12
"""Comparisons shown in a terminal; the files hold all of them."""


def leaderboard(experiment: Experiment) -> Rows:
    """Return a row for each system: the measures that no table by cutoff holds, and the judged share."""
    headings, *rows = leaderboard_rows(experiment.card, list(dict.fromkeys([*experiment.compared, *alone(experiment)])))
    passages = {system.system: f"{system.passages:,}" for system in experiment.systems}
    return [(*headings[:-1], "passages"), *((*row[:-1], passages[row[0]]) for row in rows)]


MAIN = ("ndcg", "mrr", "r", "hit")
"""The families of measures that a terminal shows at one cutoff, the first one ranks; the others with ``--wide``."""


def main_rows(experiment: Experiment, timings: Timings, *, every: bool = False) -> Rows:
    """Return a row for each system: the measures, judged share, median time.

    Of more than `MOST_MEASURES` measures, those that matter at the cutoff of the tests are shown.

    Args:
        experiment: The experiment.
        timings: The times.
        every: Whether all measures are shown, because somebody named them.
    """
    cutoff = next((parse_measure(name).k for name in experiment.compared), None)
    known = {name: parse_measure(name) for name in experiment.card.measures}
    same = [name for name, measure in known.items() if measure.k == cutoff and measure.family in MAIN]
    every = every or len(known) <= MOST_MEASURES
    measures = list(known) if every else list(dict.fromkeys([*experiment.compared, *same]))[:MOST_MEASURES]
    judged = sorted({name for system in experiment.card.systems for name in system.judged})
    rows: Rows = [("system", *measures, *judged, "p50 ms")]
    for system in experiment.card.systems:
        timing = timings.timings.get(system.system)
        means = (f"{system.scores[name].mean:.4f}" for name in measures)
        shares = (f"{system.judged[name]:.4f}" for name in judged)
        rows.append((system.system, *means, *shares, _milliseconds(timing.search.p50_ms) if timing else ""))
    return rows


def families(experiment: Experiment) -> dict[str, list[tuple[int, str]]]:
    """Return the measures with a cutoff, grouped by name without it; each with its cutoff, the smallest first."""
    groups: dict[str, list[tuple[int, str]]] = {}
    for name in experiment.card.measures:
        measure = parse_measure(name)
        if measure.k:
            title = name.replace(f"@{measure.k}", "", 1)
            groups.setdefault(title, []).append((measure.k, name))
    return {title: sorted(measures) for title, measures in sorted(groups.items(), key=lambda item: _place(item[0]))}


def alone(experiment: Experiment) -> list[str]:
    """Return the measures with no or only one cutoff, in the order given."""
    several = {name for measures in families(experiment).values() if len(measures) > 1 for _, name in measures}
    return [name for name in experiment.card.measures if name not in several]


def by_cutoff(experiment: Experiment) -> Iterator[tuple[str, Rows]]:
    """Yield a table of means for each measure with several cutoffs: a row for each system, a column for each cutoff."""
    for title, measures in families(experiment).items():
        if len(measures) == 1:
            continue
        rows: Rows = [(title, *(f"@{cutoff}" for cutoff, _ in measures))]
        rows += [
            (system.system, *(f"{system.scores[name].mean:.4f}" for _, name in measures))
            for system in experiment.card.systems
        ]
        yield title, rows


def times(timings: Timings, order: Sequence[str]) -> Rows:
    """Return a row for each system: seconds to index, milliseconds per query, and the share of models in them."""
    shown = [timings.timings[name] for name in order if name in timings.timings]
    parts = [part for part in ("embed", "rerank", "expand") if any(getattr(timing, part) for timing in shown)]
    embeds = any(timing.index_embed_s for timing in shown)
    rows: Rows = [
        (
            "system",
            "index s",
            *(["index embed s"] if embeds else []),
            "search p50 ms",
            "search p95 ms",
            *(f"{part} {share} ms" for part in parts for share in ("p50", "p95")),
            *(["whole p50 ms", "whole p95 ms"] if parts else []),
        )
    ]
    for name in order:
        if name in timings.timings:
            rows.append((name, *_times(timings.timings[name], parts, embeds=embeds)))
    return rows


def timing_line(timings: Timings) -> str:
    """Return the method of the times, one line."""
    timing = next(iter(timings.timings.values()), None)
    if timing is None:
        return "Nothing was timed."
    return (
        f"Times: one query at a time, {queries(timing.queries)} after a warm-up of {queries(timing.warm_up)} that is "
        "not counted; search excludes the time of models."
    )


def beside_published(experiment: Experiment) -> Iterator[tuple[str, Rows]]:
    """Yield a table for each measure: published figures, below them ours with the difference in queries."""
    scores = {system.system: system.scores for system in experiment.card.systems}
    for title, measures in families(experiment).items():
        names = [name for _, name in measures if any(name in row.values for row in experiment.published)]
        rows: Rows = [(title, *(f"@{parse_measure(name).k}" for name in names))]
        for row in experiment.published:
            if row.values.keys().isdisjoint(names):
                continue
            rows.append((f"published {row.published}", *(f"{row.values[name]:.4f}" for name in names)))
            for system in row.beside:
                if system in scores:
                    cells = []
                    for name in names:
                        mean = scores[system][name].mean
                        difference = (mean - row.values[name]) * experiment.card.gold.queries
                        cells.append(f"{mean:.4f} ({difference:+.1f})")
                    rows.append((f"  {system}", *cells))
        if len(rows) > 1:
            yield title, rows


def verdict(experiment: Experiment) -> Iterator[str]:
    """Yield what follows about the systems as a whole; nothing follows from simulated queries."""
    card = experiment.card
    if not card.comparisons or claims_nothing(card):
        return
    if experiment.baseline is None:
        top = best(card)
        if top:
            yield top
        return
    groups: dict[str, list[str]] = {"better than": [], "worse than": [], "not separable from": []}
    for comparison in card.comparisons:
        if comparison.measure == experiment.compared[0]:
            other_system = comparison.second if comparison.first == experiment.baseline else comparison.first
            wins = comparison.verdict is (Verdict.FIRST if other_system == comparison.first else Verdict.SECOND)
            settled = comparison.verdict in {Verdict.FIRST, Verdict.SECOND}
            groups["better than" if wins else "worse than" if settled else "not separable from"].append(other_system)
    for words, names in groups.items():
        if names:
            yield f"By {experiment.compared[0]}, {words} the baseline {experiment.baseline}: {', '.join(names)}."


def warned(experiment: Experiment) -> list[str]:
    """Return the warnings, including the gold set's own."""
    return [*experiment.card.warnings, *([experiment.notice] if experiment.notice else [])]


def figures_markdown(experiment: Experiment) -> str:
    """Return everything but the times as Markdown."""
    tables = [leaderboard(experiment), *(rows for _, rows in by_cutoff(experiment))]
    tables += [rows for _, rows in beside_published(experiment)]
    if experiment.failures:
        tables.append([("system", "failed"), *((failure.system, failure.problem) for failure in experiment.failures)])
    lines = [*verdict(experiment), *(f"Warning: {line}" for line in warned(experiment))]
    lines += [*(f"Note: {line}" for line in experiment.notes), method_line(experiment.card)]
    parts = [markdown_table(rows) for rows in tables if rows]
    if experiment.card.comparisons:
        parts.append(markdown_table(pair_rows(experiment.card.comparisons), words=3))
    if experiment.card.verdict is not None:
        parts.append(verdict_markdown(experiment.card.verdict))
    return "\n\n".join([*parts, "\n".join(f"- {escaped(line)}" for line in lines)]) + "\n"


def figures_csv(experiment: Experiment) -> list[list[object]]:
    """Return a row for each system: every mean with all digits and the ends of its interval."""
    measures = experiment.card.measures
    heads = [head for name in measures for head in (name, f"{name} low", f"{name} high")]
    rows: list[list[object]] = [["system", "chunk_size", "chunk_overlap", "passages", "queries", *heads]]
    by_system = {system_figures.system: system_figures for system_figures in experiment.systems}
    for system in experiment.card.systems:
        cut = by_system[system.system].chunking
        scores = [system.scores[name] for name in measures]
        rows.append(
            [
                system.system,
                cut.size if cut else "",
                cut.overlap if cut else "",
                by_system[system.system].passages,
                system.counts.queries,
                *(_full(value) for score in scores for value in (score.mean, score.low, score.high)),
            ]
        )
    return rows


def _times(timing: Timing, parts: Sequence[str], *, embeds: bool) -> Iterator[str]:
    yield f"{timing.index_s:.2f}"
    if embeds:
        yield f"{timing.index_embed_s:.2f}"
    for part in ("search", *parts, *(["whole"] if parts else [])):
        latency: Latency | None = getattr(timing, part)
        yield _milliseconds(latency.p50_ms) if latency else ""
        yield _milliseconds(latency.p95_ms) if latency else ""


def _milliseconds(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def _full(value: float | None) -> str:
    return "" if value is None else repr(value)


_ORDER: Mapping[str, int] = {"hit": 0, "mrr": 1, "r": 2, "ndcg": 3}


def _place(title: str) -> tuple[int, str]:
    return _ORDER.get(title, len(_ORDER)), title
