"""An experiment of `goldbench bench` as tables: for a terminal, as Markdown and CSV; times have their own tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from goldbench.measures.names import parse_measure
from goldbench.records.experiment import Experiment, Latency, Timing, Timings
from goldbench.records.scorecard import Verdict
from goldbench.report.scorecard_text import (
    PAIR_HEADINGS,
    best,
    claims_nothing,
    leaderboard_rows,
    method_line,
    pair_row,
    sentences,
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


def leaderboard(found: Experiment) -> Rows:
    """Return a row for each system: the measures that no table by cutoff holds, and the judged share."""
    headings, *rows = leaderboard_rows(found.card, list(dict.fromkeys([*found.compared, *alone(found)])))
    passages = {one.system: f"{one.passages:,}" for one in found.systems}
    return [(*headings[:-1], "passages"), *((*row[:-1], passages[row[0]]) for row in rows)]


MAIN = ("ndcg", "mrr", "r", "hit")
"""The families of measures that a terminal shows at one cutoff, the first one ranks; the others with ``--wide``."""


def main_rows(found: Experiment, timings: Timings, *, every: bool = False) -> Rows:
    """Return a row for each system: the measures, judged share, median time.

    Of more than `MOST_MEASURES` measures, those that matter at the cutoff of the tests are shown.

    Args:
        found: The experiment.
        timings: The times.
        every: Whether all measures are shown, because somebody named them.
    """
    cutoff = next((parse_measure(name).k for name in found.compared), None)
    known = {name: parse_measure(name) for name in found.card.measures}
    same = [name for name, one in known.items() if one.k == cutoff and one.family in MAIN]
    every = every or len(known) <= MOST_MEASURES
    measures = list(known) if every else list(dict.fromkeys([*found.compared, *same]))[:MOST_MEASURES]
    judged = sorted({name for system in found.card.systems for name in system.judged})
    rows: Rows = [("system", *measures, *judged, "p50 ms")]
    for system in found.card.systems:
        timing = timings.timings.get(system.system)
        means = (f"{system.scores[name].mean:.4f}" for name in measures)
        shares = (f"{system.judged[name]:.4f}" for name in judged)
        rows.append((system.system, *means, *shares, _milliseconds(timing.search.p50_ms) if timing else ""))
    return rows


def families(found: Experiment) -> dict[str, list[tuple[int, str]]]:
    """Return the measures with a cutoff, grouped by name without it; each with its cutoff, the smallest first."""
    groups: dict[str, list[tuple[int, str]]] = {}
    for name in found.card.measures:
        measure = parse_measure(name)
        if measure.k:
            title = name.replace(f"@{measure.k}", "", 1)
            groups.setdefault(title, []).append((measure.k, name))
    return {title: sorted(measures) for title, measures in sorted(groups.items(), key=lambda item: _place(item[0]))}


def alone(found: Experiment) -> list[str]:
    """Return the measures with no or only one cutoff, in the order given."""
    several = {name for measures in families(found).values() if len(measures) > 1 for _, name in measures}
    return [name for name in found.card.measures if name not in several]


def by_cutoff(found: Experiment) -> Iterator[tuple[str, Rows]]:
    """Yield a table of means for each measure with several cutoffs: a row for each system, a column for each cutoff."""
    for title, measures in families(found).items():
        if len(measures) == 1:
            continue
        rows: Rows = [(title, *(f"@{cutoff}" for cutoff, _ in measures))]
        rows += [
            (system.system, *(f"{system.scores[name].mean:.4f}" for _, name in measures))
            for system in found.card.systems
        ]
        yield title, rows


def times(timings: Timings, order: Sequence[str]) -> Rows:
    """Return a row for each system: seconds to index, milliseconds per query, and the share of models in them."""
    shown = [timings.timings[name] for name in order if name in timings.timings]
    parts = [part for part in ("embed", "rerank", "expand") if any(getattr(one, part) for one in shown)]
    embeds = any(one.index_embed_s for one in shown)
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
    one = next(iter(timings.timings.values()), None)
    if one is None:
        return "Nothing was timed."
    return (
        f"Times: one query at a time, {queries(one.queries)} after a warm-up of {queries(one.warm_up)} that is not "
        "counted; search excludes the time of models."
    )


def beside_published(found: Experiment) -> Iterator[tuple[str, Rows]]:
    """Yield a table for each measure: published figures, below them the measured ones and the difference."""
    ours = {(one.published, one.system, one.measure): one for one in found.differences}
    for title, measures in families(found).items():
        names = [name for _, name in measures if any(name in row.values for row in found.published)]
        if not names:
            continue
        rows: Rows = [(title, *(f"@{parse_measure(name).k}" for name in names))]
        for row in found.published:
            if not row.values.keys() & set(names):
                continue
            printed = [f"{row.values[name]:.4f}" if name in row.values else "" for name in names]
            rows.append((f"published {row.published}", *printed))
            for system in row.beside or (row.published,):
                cells = [ours.get((row.published, system, name)) for name in names]
                if any(cells):
                    shown = [f"{one.ours:.4f} ({one.queries:+.1f})" if one else "" for one in cells]
                    rows.append((f"  {system}", *shown))
        if len(rows) > 1:
            yield title, rows


def pairs(found: Experiment, measure: str | None = None) -> Rows:
    """Return the comparisons by one measure or by all, or nothing if there are none."""
    shown = [one for one in found.card.comparisons if measure in {None, one.measure}]
    return [PAIR_HEADINGS, *(pair_row(one) for one in shown)] if shown else []


def verdict(found: Experiment) -> Iterator[str]:
    """Yield what follows about the systems as a whole; nothing follows from simulated queries."""
    card = found.card
    if not card.comparisons or claims_nothing(card):
        return
    if found.baseline is None:
        top = best(card)
        if top:
            yield top
        return
    groups: dict[str, list[str]] = {"better than": [], "worse than": [], "not separable from": []}
    for one in card.comparisons:
        if one.measure == found.compared[0]:
            other = one.second if one.first == found.baseline else one.first
            wins = one.verdict is (Verdict.FIRST if other == one.first else Verdict.SECOND)
            settled = one.verdict in {Verdict.FIRST, Verdict.SECOND}
            groups["better than" if wins else "worse than" if settled else "not separable from"].append(other)
    for words, names in groups.items():
        if names:
            yield f"By {found.compared[0]}, {words} the baseline {found.baseline}: {', '.join(names)}."


def warned(found: Experiment) -> list[str]:
    """Return the warnings, including the gold set's own."""
    return [*found.card.warnings, *([found.notice] if found.notice else [])]


def figures_markdown(found: Experiment) -> str:
    """Return everything but the times as Markdown."""
    tables = [leaderboard(found), *(rows for _, rows in by_cutoff(found))]
    tables += [rows for _, rows in beside_published(found)]
    if found.failures:
        tables.append([("system", "failed"), *((one.system, one.problem) for one in found.failures)])
    lines = [*verdict(found), *sentences(found.card), *(f"Warning: {line}" for line in warned(found))]
    lines += [*(f"Note: {line}" for line in found.notes), method_line(found.card)]
    parts = [markdown_table(rows) for rows in tables if rows]
    if found.card.comparisons:
        parts.append(markdown_table(pairs(found), words=3))
    if found.card.verdict is not None:
        parts.append(verdict_markdown(found.card.verdict))
    return "\n\n".join([*parts, "\n".join(f"- {escaped(line)}" for line in lines)]) + "\n"


def figures_csv(found: Experiment) -> list[list[object]]:
    """Return a row for each system: every mean with all digits and the ends of its interval."""
    measures = found.card.measures
    heads = [head for name in measures for head in (name, f"{name} low", f"{name} high")]
    rows: list[list[object]] = [["system", "chunk_size", "chunk_overlap", "passages", "queries", *heads]]
    kept = {one.system: one for one in found.systems}
    for system in found.card.systems:
        cut = kept[system.system].chunking
        scores = [system.scores[name] for name in measures]
        rows.append(
            [
                system.system,
                cut.size if cut else "",
                cut.overlap if cut else "",
                kept[system.system].passages,
                system.counts.queries,
                *(_full(value) for score in scores for value in (score.mean, score.low, score.high)),
            ]
        )
    return rows


def _times(one: Timing, parts: Sequence[str], *, embeds: bool) -> Iterator[str]:
    yield f"{one.index_s:.2f}"
    if embeds:
        yield f"{one.index_embed_s:.2f}"
    for part in ("search", *parts, *(["whole"] if parts else [])):
        latency: Latency | None = getattr(one, part)
        yield _milliseconds(latency.p50_ms) if latency else ""
        yield _milliseconds(latency.p95_ms) if latency else ""


def _milliseconds(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def _full(value: float | None) -> str:
    return "" if value is None else repr(value)


_ORDER: Mapping[str, int] = {"hit": 0, "mrr": 1, "r": 2, "ndcg": 3}


def _place(title: str) -> tuple[int, str]:
    return _ORDER.get(title, len(_ORDER)), title
