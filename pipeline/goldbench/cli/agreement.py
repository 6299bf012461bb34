"""``goldbench agreement``: how far two sets of labels agree, on pairs and on which system is better."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from goldbench import __version__
from goldbench.cli.options import input_option, measure_option, output_option, statistics_option
from goldbench.cli.output import Wide, screen
from goldbench.cli.run_options import Seed
from goldbench.errors import NEGATIVE, InputError, UsageError

if TYPE_CHECKING:
    from goldbench.agreement.judgment_files import Labels
    from goldbench.formats.runs.score_tables import ScoreTable
    from goldbench.records.agreement_report import Agreement, Ranking


def agreement(
    first: Annotated[
        str | None, typer.Argument(metavar="A", help="Reference labels, as people's: a file or a set's folder.")
    ] = None,
    second: Annotated[
        str | None, typer.Argument(metavar="B", help="Labels to compare, as a model's; FILE@ASSESSOR.")
    ] = None,
    run: Annotated[
        list[str] | None, input_option("--run", metavar="NAME=FILE", help="Runs that A and B rank. Repeatable.")
    ] = None,
    scores: Annotated[
        str | None, input_option("--scores", metavar="FILE", help="CSV of scores per set of labels, instead of runs.")
    ] = None,
    measure: Annotated[
        str | None, measure_option("--measure", metavar="NAME", help="Measure that ranks systems (default: ndcg@10).")
    ] = None,
    level: Annotated[
        int, measure_option("--rel", metavar="N", min=1, help="Smallest relevant grade (default: 2).")
    ] = 2,
    scale: Annotated[
        int | None, measure_option("--scale", metavar="N", min=1, help="Highest grade; higher ones count as N.")
    ] = None,
    per_type: Annotated[bool, measure_option("--per-type", help="Also per type, style and language of query.")] = False,
    resamples: Annotated[
        int, statistics_option(metavar="N", min=100, help="Resamples of the bootstrap (default: 1000).")
    ] = 1000,
    seed: Seed = 0,
    form: Annotated[
        Literal["table", "json", "markdown"], output_option("--format", help="What to print (default: table).")
    ] = "table",
    wide: Wide = False,
) -> None:
    """Compare two sets of labels.

    Shows how far they agree (kappa, alpha, bias, the worth of a grade), and whether they rank systems alike. A and B
    are qrels, judgments, reviews or the folder of a gold set.
    """
    if run and scores is not None:
        raise UsageError("agreement: give --run or --scores, not both")
    if first is None and scores is None:
        raise UsageError("agreement: give two files of labels, A the reference and B the judge, or --scores FILE")
    found = _compared(first, second, run or [], scores, measure, level, scale, per_type, resamples, seed)
    _print(found, form, wide=wide)
    if found.overall is None and found.ranking is None and not found.raters:
        raise typer.Exit(NEGATIVE)


def _compared(
    first: str | None,
    second: str | None,
    runs: list[str],
    scores: str | None,
    measure: str | None,
    level: int,
    scale: int | None,
    per_type: bool,
    resamples: int,
    seed: int,
) -> Agreement:
    from goldbench.agreement import agree, agree_within
    from goldbench.agreement.judgment_files import read_labels, tell_apart
    from goldbench.formats.runs.score_tables import read_scores

    table = None if scores is None else read_scores(scores)
    if table is not None and (first is None or _names_labels(table, first, second)):
        return _by_scores_alone(table, first, second, measure, resamples, seed)
    assert first is not None
    reference = read_labels(first)
    if second is None:
        if runs or table is not None or per_type:
            raise UsageError("agreement: B is missing: give goldbench agreement A B")
        return agree_within(reference, level=level, scale=scale, resamples=resamples, seed=seed)
    judge = read_labels(second)
    tell_apart(reference, judge)
    found = agree(reference, judge, level=level, scale=scale, per_type=per_type, resamples=resamples, seed=seed)
    ranking = _ranking(reference, judge, runs, table, measure, level, seed)
    return found if ranking is None else found.model_copy(update={"ranking": ranking})


def _names_labels(table: ScoreTable, first: str, second: str | None) -> bool:
    """Return whether A and B name sets of labels in the table, and no files."""
    return first in table.sets and not Path(first).exists() and (second is None or not Path(second).exists())


def _by_scores_alone(
    table: ScoreTable, first: str | None, second: str | None, measure: str | None, resamples: int, seed: int
) -> Agreement:
    from goldbench.agreement import rank_scores
    from goldbench.records.agreement_report import Agreement

    one, other = _two_sets(table, first, second)
    ranking = rank_scores(table, one, other, measure=measure or table.measures[0], seed=seed)
    return Agreement(
        goldbench=__version__,
        reference=one,
        judge=other,
        grades=[],
        level=1,
        ranking=ranking,
        resamples=resamples,
        seed=seed,
    )


def _two_sets(table: ScoreTable, first: str | None, second: str | None) -> tuple[str, str]:
    names = list(table.sets)
    if first is not None and second is not None:
        return first, second
    if first is None and len(names) == 2:
        return names[0], names[1]
    raise InputError(
        table.name, f"holds the sets of labels {', '.join(names)}; name two, as agreement {names[0]} OTHER"
    )


def _ranking(
    reference: Labels,
    judge: Labels,
    runs: list[str],
    table: ScoreTable | None,
    measure: str | None,
    level: int,
    seed: int,
) -> Ranking | None:
    from goldbench.agreement import final_grades, rank_runs, rank_scores
    from goldbench.measures.names import parse_measure
    from goldbench.score.runs import named_runs

    if table is not None:
        one, other = _two_sets(table, None, None)
        return rank_scores(table, one, other, measure=measure or table.measures[0], seed=seed)
    if not runs:
        return None
    return rank_runs(
        final_grades(reference),
        final_grades(judge),
        named_runs(runs),
        measure=parse_measure(measure or "ndcg@10", rel=level),
        seed=seed,
    )


def _print(found: Agreement, form: str, *, wide: bool) -> None:
    from goldbench.report.agreement_text import markdown

    if form == "table":
        show(found, whole=wide or screen.verbose)
    elif form == "json":
        typer.echo(found.model_dump_json(indent=2))
    else:
        typer.echo(markdown(found), nl=False)


def show(found: Agreement, *, whole: bool) -> None:
    """Print an agreement.

    Args:
        found: The agreement.
        whole: Whether every figure is shown, or the few that matter most.
    """
    from goldbench.report import agreement_text as report

    said = report.verdict(found)
    screen.show(*([said] if said else []), *report.words(found))
    for section in report.sections(found, whole=whole):
        screen.show("", section.title)
        if section.head[-1] == "" and any(row[-1] for row in section.rows):
            screen.table([[cell or "-" for cell in row[:-1]] for row in [section.head, *section.rows]], indent="  ")
            screen.show(*(f"  {row[0]} is absent: {row[-1]}" for row in section.rows if row[-1]), indent="    ")
        else:
            screen.table([section.head, *section.rows], indent="  ")
    screen.show("", report.method(found))
