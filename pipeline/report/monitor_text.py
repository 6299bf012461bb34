"""A run's scores beside those of the last time and of the baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from schemas.scorecard import HistoryEntry, Score

if TYPE_CHECKING:
    from rich.table import Table


def change_table(now: HistoryEntry, last: HistoryEntry | None, baseline: Mapping[str, float]) -> Table:
    """Return a row per measure: now with its interval, the change since the last time, the change from the baseline."""
    from rich.table import Table

    from pipeline.text.display import printable

    table = Table(title=None, box=None, pad_edge=False)
    table.add_column(printable(now.system))
    for heading in ("now", "interval", "since last", "from baseline"):
        table.add_column(heading, justify="right")
    for measure, score in now.means.items():
        before = last.means.get(measure) if last else None
        table.add_row(
            measure,
            f"{score.mean:.4f}",
            "" if score.low is None else f"[{score.low:.4f}, {score.high:.4f}]",
            _change(score, before.mean if before else None),
            _change(score, baseline.get(measure)),
        )
    return table


def notes(now: HistoryEntry, earlier: Sequence[HistoryEntry]) -> Iterator[str]:
    """Yield what keeps the changes from being those of the system alone, one line each."""
    if earlier and earlier[-1].gold.sha256 != now.gold.sha256:
        yield "the judgments have changed since the last time; a change may come from them"
    elif earlier and earlier[0].gold.sha256 != now.gold.sha256:
        yield "the judgments are not those of the first time; a change from then may come from them"
    if now.counts.missing:
        yield f"judged queries missing from the run: {now.counts.missing:,}"


def _change(score: Score, before: float | None) -> str:
    return "-" if before is None else f"{score.mean - before:+.4f}"
