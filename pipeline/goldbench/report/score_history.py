"""A run beside earlier ones of a history, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from goldbench.records.scorecard import GoldReference, HistoryEntry, Score
from goldbench.text.display import queries


def change_rows(now: HistoryEntry, last: HistoryEntry | None, baseline: Mapping[str, float]) -> list[tuple[str, ...]]:
    """Return the headings, then a row for each measure: its mean now with the interval, and its changes.

    Args:
        now: The entry to show.
        last: The system's previous entry, or None for the first one.
        baseline: The means to compare with, by measure.
    """
    rows: list[tuple[str, ...]] = [(now.system, "now", "interval", "since last", "from baseline")]
    for measure, score in now.means.items():
        before = last.means.get(measure) if last else None
        interval = "" if score.low is None else f"[{score.low:.4f}, {score.high:.4f}]"
        changes = _change(score, before.mean if before else None), _change(score, baseline.get(measure))
        rows.append((measure, f"{score.mean:.4f}", interval, *changes))
    return rows


def notes(now: HistoryEntry, earlier: Sequence[HistoryEntry]) -> Iterator[str]:
    """Yield a line for each reason, other than the system itself, why a score may have changed."""
    last = earlier[-1].gold if earlier else now.gold
    if last.content_sha256 != now.gold.content_sha256:
        yield f"the set differs from that of the last entry: {_content(now.gold)} instead of {_content(last)}"
    if earlier and earlier[-1].gold.sha256 != now.gold.sha256:
        yield "the judgments differ from those of the last entry; they may be the reason for a change"
    elif earlier and earlier[0].gold.sha256 != now.gold.sha256:
        yield "the judgments differ from those of the first entry; they may be the reason for a change since then"
    if now.counts.missing:
        yield f"{queries(now.counts.missing)} judged but missing from the run"


def _content(gold: GoldReference) -> str:
    return f"content digest {gold.content_sha256[:12]}" if gold.content_sha256 else "judgments that belong to no set"


def _change(score: Score, before: float | None) -> str:
    return "-" if before is None else f"{score.mean - before:+.4f}"
