"""``goldset agreement``: how far two sets of labels agree, on pairs and on which system is better."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipeline.errors import InputError, UsageError

if TYPE_CHECKING:
    from pipeline.agreement.judgment_files import Labels
    from pipeline.formats.runs.score_tables import ScoreTable
    from schemas.agreement_report import Agreement, Ranking

First = Annotated[
    str | None,
    typer.Argument(
        metavar="A", help="The reference (people): qrels, judgments, reviews or a run folder; FILE@ASSESSOR."
    ),
]
Second = Annotated[str | None, typer.Argument(metavar="B", help="The judge (a model, other people), likewise.")]


def agreement(
    first: First = None,
    second: Second = None,
    run: Annotated[
        list[str] | None, typer.Option("--run", metavar="NAME=FILE", help="Runs to be ordered by A and by B.")
    ] = None,
    scores: Annotated[
        str | None,
        typer.Option("--scores", metavar="FILE", help="Scores of systems by set of labels: CSV, instead of runs."),
    ] = None,
    measure: Annotated[
        str | None, typer.Option("--measure", metavar="NAME", help="What orders systems (ndcg@10).")
    ] = None,
    level: Annotated[int, typer.Option("--rel", metavar="N", min=1, help="The smallest relevant grade.")] = 2,
    scale: Annotated[
        int | None, typer.Option("--scale", metavar="N", min=1, help="The highest grade; those above count as it.")
    ] = None,
    per_type: Annotated[bool, typer.Option("--per-type", help="Also by type, style and language of query.")] = False,
    resamples: Annotated[int, typer.Option(metavar="N", min=100, help="Resamples of the bootstrap.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="The same seed gives the same figures.")] = 0,
    form: Annotated[Literal["table", "json", "csv", "markdown"], typer.Option("--format", help="What to print.")] = (
        "table"
    ),
) -> None:
    """Say how far two sets of labels agree: kappa, alpha, bias, what a grade is worth, the order of systems."""
    if run and scores is not None:
        raise UsageError("agreement: give --run or --scores, not both")
    if first is None and scores is None:
        raise UsageError("agreement: give two files of labels, A the reference and B the judge; or --scores FILE")
    found = _compared(first, second, run or [], scores, measure, level, scale, per_type, resamples, seed)
    _print(found, form)
    if found.overall is None and found.ranking is None and not found.raters:
        raise typer.Exit(1)


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
    from pipeline.agreement import agree, agree_within
    from pipeline.agreement.judgment_files import read_labels
    from pipeline.formats.runs.score_tables import read_scores

    table = None if scores is None else read_scores(scores)
    if table is not None and (first is None or _names_labels(table, first, second)):
        return _by_scores_alone(table, first, second, measure, resamples, seed)
    assert first is not None
    reference = read_labels(first)
    if second is None:
        if runs or table is not None or per_type:
            raise UsageError("agreement: name the judge too: goldset agreement A B")
        return agree_within(reference, level=level, scale=scale, resamples=resamples, seed=seed)
    judge = read_labels(second)
    if judge.name == reference.name:
        judge.name = f"{judge.name} (B)"
    found = agree(reference, judge, level=level, scale=scale, per_type=per_type, resamples=resamples, seed=seed)
    ranking = _ranking(reference, judge, runs, table, measure, level, seed)
    return found if ranking is None else found.model_copy(update={"ranking": ranking})


def _names_labels(table: ScoreTable, first: str, second: str | None) -> bool:
    """Return whether A and B name sets of labels in the table, and no files."""
    return first in table.sets and not Path(first).exists() and (second is None or not Path(second).exists())


def _by_scores_alone(
    table: ScoreTable, first: str | None, second: str | None, measure: str | None, resamples: int, seed: int
) -> Agreement:
    from importlib.metadata import version

    from pipeline.agreement import rank_scores
    from schemas.agreement_report import Agreement

    one, other = _two_sets(table, first, second)
    ranking = rank_scores(table, one, other, measure=measure or table.measures[0], seed=seed)
    return Agreement(
        goldset=version("goldset"),
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
    from pipeline.agreement import final_grades, rank_runs, rank_scores
    from pipeline.measures.names import parse_measure
    from pipeline.score.runs import named_runs

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


def _print(found: Agreement, form: str) -> None:
    from pipeline.report.agreement_text import comma_separated, markdown, text

    if form == "json":
        typer.echo(found.model_dump_json(indent=2))
    elif form == "csv":
        typer.echo(comma_separated(found), nl=False)
    elif form == "markdown":
        typer.echo(markdown(found), nl=False)
    else:
        typer.echo(text(found), nl=False)
