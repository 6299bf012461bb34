"""A set whose documents changed: what was kept, moved, asked and retired, in lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from goldbench.goldset.file_names import RETIRED
from goldbench.records.manifest import RenewalCounts
from goldbench.records.query import RetiredQuery
from goldbench.text.display import amount, printable, queries, shell_command

RETIRED_SHOWN, CHARACTERS_SHOWN = 20, 100
"""Retired queries that are listed, and characters of each."""


def renewal_lines(renewed: RenewalCounts, retired: Sequence[RetiredQuery]) -> Iterator[str]:
    """Yield what became of the queries: a line of counts, and a line for each of the first retired ones.

    Args:
        renewed: The counts.
        retired: The queries that were retired now.
    """
    yield f"Documents changed: {_counts(renewed)}."
    yield from _listed(retired, RETIRED)


def planned_lines(renewed: RenewalCounts, retired: Sequence[RetiredQuery]) -> Iterator[str]:
    """Yield what would become of the queries.

    Args:
        renewed: As in `renewal_lines`.
        retired: The queries that would be retired.
    """
    yield f"Plan for the queries: {_counts(renewed)}."
    yield from _listed(retired, "all")


def _counts(renewed: RenewalCounts) -> str:
    return (
        f"{renewed.kept:,} kept (same passage), {renewed.moved:,} moved (passage changed, evidence stands), "
        f"{renewed.asked:,} new, {renewed.retired:,} retired"
    )


def _listed(retired: Sequence[RetiredQuery], place: str) -> Iterator[str]:
    for one in retired[:RETIRED_SHOWN]:
        yield f"  retired: {printable(one.query.text[:CHARACTERS_SHOWN])} ({one.reason})"
    if len(retired) > RETIRED_SHOWN:
        yield f"  and {len(retired) - RETIRED_SHOWN:,} more" + (f", in {place}" if place == RETIRED else "")


def renewal_warnings(renewed: RenewalCounts, graded: bool, unanswerable: int, out: Path) -> Iterator[str]:
    """Yield what a person should do next.

    Args:
        renewed: As in `renewal_lines`.
        graded: Whether the set holds grades of a judge.
        unanswerable: How many queries that nothing answers were kept.
        out: The folder of the set.
    """
    if renewed.unasked:
        unasked = amount(renewed.unasked, "new document")
        yield f"No query asks about {unasked}; {shell_command('refresh', str(out), queries='N')} asks more."
    if graded:
        if renewed.unjudged:
            yield f"{amount(renewed.unjudged, 'label')} dropped, because the passage changed or is gone."
        yield f"{shell_command('grade', str(out))} judges what nobody judged (stored answers are not paid again)."
    if unanswerable and renewed.new_passages:
        yield (
            f"{queries(unanswerable)} without an answer: judged before {amount(renewed.new_passages, 'new passage')} "
            "came; one of these may answer them."
        )
