"""A scorecard as tables: for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pipeline.report.verdicts import best, p_value, sentences
from schemas.scorecard import Comparison, Score, Scorecard

if TYPE_CHECKING:
    from rich.table import Table

PAIR_HEADINGS = (
    "measure",
    "first",
    "second",
    "difference",
    "interval",
    "p",
    "p Holm",
    "p t",
    "win/tie/loss",
    "effect",
    "detectable",
)


def leaderboard_rows(card: Scorecard) -> Iterator[tuple[str, ...]]:
    """Yield the headings, then a row per system: mean and interval of every measure, the share judged."""
    judged = sorted({name for system in card.systems for name in system.judged})
    yield ("system", *card.measures, *judged, "queries")
    for system in card.systems:
        yield (
            system.system,
            *(score_text(system.scores[measure]) for measure in card.measures),
            *(f"{system.judged[name]:.4f}" for name in judged),
            f"{system.counts.queries:,}",
        )


def score_text(score: Score) -> str:
    """Return a mean with its interval, if it has one."""
    ends = "" if score.low is None or score.high is None else f" [{score.low:.4f}, {score.high:.4f}]"
    return f"{score.mean:.4f}{ends}"


def pair_row(found: Comparison) -> tuple[str, ...]:
    """Return the cells of one comparison, in the order of ``PAIR_HEADINGS``."""
    return (
        found.measure,
        found.first,
        found.second,
        f"{found.difference:+.4f}",
        f"[{found.low:+.4f}, {found.high:+.4f}]",
        p_value(found.p),
        p_value(found.p_holm),
        "-" if found.p_t is None else p_value(found.p_t),
        f"{found.wins}/{found.ties}/{found.losses}",
        "-" if found.effect_size is None else f"{found.effect_size:+.2f}",
        f"{found.detectable:.4f}" if found.detectable else "-",
    )


def method_line(card: Scorecard) -> str:
    """Return how the figures were made, in one line."""
    method, count = card.method, len(card.comparisons)
    parts = [f"judged queries: {card.gold.queries:,}", f"missing queries: {method.missing}"]
    if any(score.low is not None for system in card.systems for score in system.scores.values()):
        parts.append(f"{method.confidence:.0%} paired bootstrap intervals ({method.resamples:,} resamples)")
    if count:
        family = f"Holm over {count:,} comparisons" if count > 1 else "one comparison"
        parts.append(f"sign-flip test ({method.permutations:,} permutations), {family}, level {method.alpha:g}")
    return f"Method: {'; '.join(parts)}; seed {method.seed}."


def tables(card: Scorecard) -> Iterator[Table]:
    """Yield the leaderboard and, where there are pairs, the comparisons for a terminal."""
    headings, *rows = leaderboard_rows(card)
    yield _table(headings, rows, words=1)
    if card.comparisons:
        yield _table(PAIR_HEADINGS, [pair_row(found) for found in card.comparisons], words=3)


def words(card: Scorecard) -> Iterator[str]:
    """Yield what the card says: a sentence per comparison, and which system may be the best."""
    yield from sentences(card)
    top = best(card)
    if top:
        yield top


def markdown(card: Scorecard) -> str:
    """Return the card as Markdown, names made harmless."""
    headings, *rows = leaderboard_rows(card)
    parts = [_markdown_table(headings, rows)]
    if card.comparisons:
        parts.append(_markdown_table(PAIR_HEADINGS, [pair_row(found) for found in card.comparisons]))
    lines = [*words(card), *(f"Warning: {warning}." for warning in card.warnings), method_line(card)]
    parts.append("\n".join(f"- {harmless(line)}" for line in lines))
    return "\n\n".join(parts) + "\n"


def harmless(text: str) -> str:
    """Return text that Markdown shows as it is: marks escaped, on one line."""
    marked = "".join("\\" + mark if mark in r"\`*_[]<>|#~&" else mark for mark in text)
    return " ".join(marked.split())


def _markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(map(harmless, cells)) + " |" for cells in lines)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, words: int) -> Table:
    from rich.table import Table
    from rich.text import Text

    from pipeline.text.display import printable

    table = Table(title=None, box=None, pad_edge=False)
    for position, heading in enumerate(headings):
        table.add_column(Text(heading), justify="left" if position < words else "right", no_wrap=position >= words)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table
