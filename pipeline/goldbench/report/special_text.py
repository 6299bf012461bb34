"""Queries of particular kinds in reports of scores: by kind, by noise, and those without an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from goldbench.report.text_tables import Rows
from goldbench.text.display import amount, printable

if TYPE_CHECKING:
    from goldbench.measures.statistics.special_figures import Kind, Special
    from goldbench.records.scorecard import Score


BY_KIND, BY_LEVEL = "By kind of query", "By difficulty of the query"
BY_NOISE = "Noisy queries minus their originals, by pairs"


def tables(special: Mapping[str, Special], measures: Sequence[str]) -> list[tuple[str, Rows]]:
    """Return the tables that are not empty, each with its title.

    Args:
        special: The figures by run.
        measures: The measures to show.
    """
    found = (
        (BY_KIND, kind_rows(special, measures)),
        (BY_LEVEL, level_rows(special, measures)),
        (BY_NOISE, noise_rows(special, measures)),
    )
    return [(title, rows) for title, rows in found if rows]


def kind_rows(special: Mapping[str, Special], measures: Sequence[str]) -> Rows:
    """Return the headings, then a row for each run and kind; empty if no query has a kind."""
    return _part_rows("kind", {name: one.kinds for name, one in special.items()}, measures)


def level_rows(special: Mapping[str, Special], measures: Sequence[str]) -> Rows:
    """Return the headings, then a row for each run and level of difficulty; empty if no query has a level."""
    return _part_rows("difficulty", {name: one.levels for name, one in special.items()}, measures)


def _part_rows(trait: str, parts: Mapping[str, Mapping[str, Kind]], measures: Sequence[str]) -> Rows:
    rows = [
        [name, part, f"{found.queries:,}", *(f"{found.means[m]:.4f}" if m in found.means else "-" for m in measures)]
        for name, one in parts.items()
        for part, found in one.items()
    ]
    return [["run", trait, "queries", *measures], *rows] if rows else []


def noise_rows(special: Mapping[str, Special], measures: Sequence[str]) -> Rows:
    """Return the headings, then a row for each run and noise; empty if no query is a noisy form of another."""
    rows = [
        [
            name,
            noise,
            f"{loss.pairs:,}",
            *(_signed(loss.differences[m], loss.over.get(m)) if m in loss.differences else "-" for m in measures),
        ]
        for name, one in special.items()
        for noise, loss in one.noise.items()
    ]
    return [["run", "noise", "pairs", *measures], *rows] if rows else []


def unanswerable_lines(special: Mapping[str, Special], asked: int) -> Iterator[str]:
    """Yield a line for each run on the queries that nothing in the corpus answers.

    Args:
        special: The figures by run.
        asked: The number of such queries in the set.
    """
    if not asked:
        return
    for run, one in special.items():
        name, found = printable(run), one.separation
        if not one.unanswerable:
            yield f"{name}: holds none of the {amount(asked, 'query', 'queries')} without an answer."
            continue
        if found is None:
            yield (
                f"{name}: every first result has the same score, which tells no query from another; "
                f"{one.empty:,} of {one.unanswerable:,} unanswerable queries are without results."
            )
            continue
        empty = f"; {one.empty:,} of these without results" if one.empty else ""
        yield (
            f"{name}: the first result's score tells {found.answerable:,} answerable from {found.unanswerable:,} "
            f"unanswerable queries with AUROC {found.auroc:.4f} [{found.low:.4f}, {found.high:.4f}] "
            f"(1 tells all, 0.5 none){empty}."
        )


def as_members(one: Special) -> dict[str, Any]:
    """Return the figures of a run as members of a JSON object."""
    noise = {
        name: {
            "pairs": loss.pairs,
            "differences": {m: _dumped(score) for m, score in loss.differences.items()},
            **({"over": dict(loss.over)} if loss.over else {}),
        }
        for name, loss in one.noise.items()
    }
    told = asdict(one.separation) if one.separation else {"unanswerable": one.unanswerable}
    found = {**told, "empty": one.empty} if one.unanswerable else {}
    members = {"kinds": _parts(one.kinds), "difficulty": _parts(one.levels), "noise": noise, "unanswerable": found}
    return {name: value for name, value in members.items() if value}


def _parts(parts: Mapping[str, Kind]) -> dict[str, Any]:
    return {name: {"queries": each.queries, "means": dict(each.means)} for name, each in parts.items()}


def _dumped(score: Score) -> dict[str, Any]:
    return score.model_dump(mode="json")


def _signed(score: Score, pairs: int | None) -> str:
    ends = "" if score.low is None or score.high is None else f" [{score.low:+.4f}, {score.high:+.4f}]"
    return f"{score.mean:+.4f}{ends}" + (f" ({amount(pairs, 'pair')})" if pairs else "")
