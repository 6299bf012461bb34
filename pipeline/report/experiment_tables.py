"""An experiment as tables: for a terminal, as Markdown and as CSV. Times stand in tables of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pipeline.measures.names import parse_measure
from pipeline.report.scorecard_tables import PAIR_HEADINGS, harmless, method_line, pair_row, score_text
from pipeline.report.verdicts import SMOKE, best, sentences
from schemas.scorecard import Verdict

if TYPE_CHECKING:
    from rich.table import Table

    from schemas.experiment import Experiment, Latency, Timing, Timings

Rows = list[tuple[str, ...]]
"""Headings, then cells."""

MOST_PAIRS = 12
"""In a terminal; the files hold all of them."""


def leaderboard(found: Experiment) -> Rows:
    """Return a row per system: the compared measures and those that no other table holds, the share judged."""
    judged = sorted({name for system in found.card.systems for name in system.judged})
    passages = {one.system: one.passages for one in found.systems}
    measures = list(dict.fromkeys([*found.compared, *alone(found)]))
    rows: Rows = [("system", *measures, *judged, "passages")]
    for system in found.card.systems:
        rows.append(
            (
                system.system,
                *(score_text(system.scores[measure]) for measure in measures),
                *(f"{system.judged[name]:.4f}" for name in judged),
                f"{passages[system.system]:,}",
            )
        )
    return rows


def families(found: Experiment) -> dict[str, list[tuple[int, str]]]:
    """Return the measures with a cutoff by what they measure, each with its cutoff, the smallest first."""
    groups: dict[str, list[tuple[int, str]]] = {}
    for name in found.card.measures:
        measure = parse_measure(name)
        if measure.k:
            title = name.replace(f"@{measure.k}", "", 1)
            groups.setdefault(title, []).append((measure.k, name))
    return {title: sorted(measures) for title, measures in sorted(groups.items(), key=lambda item: _place(item[0]))}


def alone(found: Experiment) -> list[str]:
    """Return the measures of one cutoff only, or of whole lists, as they were asked for."""
    several = {name for measures in families(found).values() if len(measures) > 1 for _, name in measures}
    return [name for name in found.card.measures if name not in several]


def by_cutoff(found: Experiment) -> Iterator[tuple[str, Rows]]:
    """Yield a table of means per measure with several cutoffs: a row per system, a column per cutoff."""
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
    """Return a row per system: seconds to index, milliseconds per query, what a model took of them."""
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
    """Return how times were measured."""
    one = next(iter(timings.timings.values()), None)
    if one is None:
        return "Nothing was timed."
    return (
        f"Times: one query at a time, {one.queries:,} queries after a warm-up of {one.warm_up:,} that is thrown away; "
        "search is without the time of a model."
    )


def beside_published(found: Experiment) -> Iterator[tuple[str, Rows]]:
    """Yield, measure by measure, what was published, and ours below with the difference counted in queries."""
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
    """Return the comparisons by one measure or by all; nothing where nothing was compared."""
    shown = [one for one in found.card.comparisons if measure in {None, one.measure}]
    return [PAIR_HEADINGS, *(pair_row(one) for one in shown)] if shown else []


def verdict(found: Experiment) -> Iterator[str]:
    """Yield what may be said of the systems as a whole; of simulated queries nothing."""
    card = found.card
    if not card.comparisons or card.gold.evidence_level == SMOKE:
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


def says(found: Experiment) -> list[str]:
    """Return a sentence per comparison."""
    return list(sentences(found.card))


def warned(found: Experiment) -> list[str]:
    """Return everything to be wary of, a line each."""
    return [*found.card.warnings, *([found.notice] if found.notice else [])]


def figures_markdown(found: Experiment) -> str:
    """Return everything but the times as Markdown, names made harmless."""
    tables = [leaderboard(found), *(rows for _, rows in by_cutoff(found))]
    tables += [rows for _, rows in beside_published(found)]
    if found.failures:
        tables.append([("system", "failed"), *((one.system, one.problem) for one in found.failures)])
    tables.append(pairs(found))
    lines = [*verdict(found), *says(found), *(f"Warning: {line}" for line in warned(found))]
    lines += [*(f"Note: {line}" for line in found.notes), method_line(found.card)]
    parts = [_markdown(rows) for rows in tables if rows]
    return "\n\n".join([*parts, "\n".join(f"- {harmless(line)}" for line in lines)]) + "\n"


def times_markdown(timings: Timings, order: Sequence[str]) -> str:
    """Return the times as Markdown."""
    return f"{_markdown(times(timings, order))}\n\n- {timing_line(timings)}\n"


def figures_csv(found: Experiment) -> list[list[object]]:
    """Return a row per system: every mean in full with the ends of its interval."""
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


def times_csv(timings: Timings, order: Sequence[str]) -> list[list[object]]:
    """Return a row per system with every time."""
    parts = ("search", "embed", "rerank", "expand", "whole")
    heads = [f"{part}_{share}_ms" for part in parts for share in ("p50", "p95")]
    rows: list[list[object]] = [["system", "index_s", "index_embed_s", "passages", "queries", "warm_up", *heads]]
    for name in order:
        if name in timings.timings:
            one = timings.timings[name]
            values: list[object] = [name, one.index_s, one.index_embed_s, one.passages, one.queries, one.warm_up]
            for part in parts:
                latency: Latency | None = getattr(one, part)
                values += [latency.p50_ms, latency.p95_ms] if latency else ["", ""]
            rows.append(values)
    return rows


def published_csv(found: Experiment) -> list[list[object]]:
    """Return a row per published figure that one of ours stands beside."""
    rows: list[list[object]] = [["published", "system", "measure", "value", "ours", "difference", "queries"]]
    rows += [
        [one.published, one.system, one.measure, *map(repr, (one.value, one.ours, one.difference, one.queries))]
        for one in found.differences
    ]
    return rows


def terminal_table(rows: Rows, *, words: int = 1) -> Table:
    """Return rows as a table for a terminal, the first columns to the left."""
    from rich.table import Table
    from rich.text import Text

    from pipeline.text.display import printable

    table = Table(title=None, box=None, pad_edge=False)
    for position, heading in enumerate(rows[0]):
        table.add_column(Text(heading), justify="left" if position < words else "right", no_wrap=position >= words)
    for row in rows[1:]:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


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


def _markdown(rows: Rows) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(map(harmless, cells)) + " |" for cells in lines)


_ORDER: Mapping[str, int] = {"hit": 0, "mrr": 1, "r": 2, "ndcg": 3}


def _place(title: str) -> tuple[int, str]:
    return _ORDER.get(title, len(_ORDER)), title
