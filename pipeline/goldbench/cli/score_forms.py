"""What ``goldbench score`` prints and writes in other forms than a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from goldbench.measures.result import Result
    from goldbench.measures.statistics.special_figures import Special
    from goldbench.records.calibrated import Calibration
    from goldbench.records.set_verdict import SetVerdict
    from goldbench.report.text_tables import Rows

FORMS_OF_VALUES = ("", ".csv", ".json", ".jsonl")
"""Suffixes of a file for the values per query; without one, as of a pipe, they are CSV."""


def print_form(
    results: Mapping[str, Result],
    special: Mapping[str, Special],
    form: str,
    verdict: SetVerdict,
    unanswerable: int,
    **method: str,
) -> None:
    """Print the scores as JSON, CSV or Markdown."""
    from goldbench.report.score_text import comma_separated

    if form == "json":
        typer.echo(_json(results, special, verdict, **method), nl=False)
    elif form == "markdown":
        typer.echo(_markdown(results, special, verdict, unanswerable), nl=False)
    else:
        typer.echo(comma_separated(results), nl=False)


def print_both(
    results: Mapping[str, Result],
    corrected: Calibration,
    special: Mapping[str, Special],
    verdict: SetVerdict,
    **method: str,
) -> None:
    """Print the scores and the corrected ones as one JSON object."""
    import json

    both = {**json.loads(_json(results, special, verdict, **method)), "calibrated": corrected.model_dump(mode="json")}
    typer.echo(json.dumps(both, ensure_ascii=False, indent=2))


def _json(results: Mapping[str, Result], special: Mapping[str, Special], verdict: SetVerdict, **method: str) -> str:
    from dataclasses import asdict

    from goldbench.report.score_text import as_json
    from goldbench.report.special_text import as_members
    from goldbench.report.weighted_text import as_member
    from goldbench.score.scorecards import means_of

    more = {name: as_members(one) for name, one in special.items()}
    for name, result in results.items():
        if result.weighted_by is not None:
            means = means_of(result, list(result.values))
            more[name] = {**more.get(name, {}), "weighted": as_member(result, means)}
            method["weight"] = result.weighted_by
    return as_json(results, more=more, verdict=asdict(verdict), **method)


def _markdown(
    results: Mapping[str, Result], special: Mapping[str, Special], verdict: SetVerdict, unanswerable: int
) -> str:
    """Return the verdict and every table in Markdown."""
    from goldbench.report.score_text import markdown
    from goldbench.report.special_text import tables, unanswerable_lines
    from goldbench.report.text_tables import markdown_table
    from goldbench.report.verdict_text import verdict_markdown

    titled = list(tables(special, list(next(iter(results.values())).values)))
    if next(iter(results.values())).weighted_by is not None:
        titled.append(("Weighted means", weighted_rows(results)))
    parts = [f"{title}:\n\n{markdown_table(rows, words=2)}\n" for title, rows in titled]
    parts += [f"{line}\n" for line in unanswerable_lines(special, unanswerable)]
    return "\n".join([f"{verdict_markdown(verdict)}\n", markdown(results), *parts])


def weighted_rows(results: Mapping[str, Result]) -> Rows:
    """Return the rows of the weighted means."""
    from goldbench.report.weighted_text import table_rows
    from goldbench.score.scorecards import means_of

    return table_rows(results, {name: means_of(result, list(result.values)) for name, result in results.items()})


def write_values(path: Path | None, results: Mapping[str, Result]) -> None:
    """Write the values per query into a file; its suffix tells the form."""
    if path is None:
        return
    from goldbench.formats.runs.scorecard_files import write_whole
    from goldbench.report.score_text import per_query

    # Half of a surrogate pair becomes what JSON writes for it: the file is UTF-8 and says the same id.
    write_whole(path, per_query(results, path.suffix.lower()).encode("utf-8", "backslashreplace"))
