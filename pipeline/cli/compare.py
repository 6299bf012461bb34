"""``goldset compare``: which of several runs is better, and whether the difference is real."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipeline.cli.score import (
    CutoffOption,
    GoldPath,
    MatchOption,
    MeasureOption,
    MissingOption,
    RunOption,
    ScoresOption,
    chosen,
)
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from pipeline.measures.names import Measure
    from schemas.scorecard import Scorecard

Permutations = Annotated[int, typer.Option(metavar="N", min=1, help="Draws of the randomization test.")]
Resamples = Annotated[int, typer.Option(metavar="N", min=100, help="Resamples of the bootstrap.")]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="The same seed gives the same figures.")]
Alpha = Annotated[float, typer.Option(metavar="P", help="Bound on the chance of any wrong claim.")]


def compare(
    gold: GoldPath,
    run: RunOption,
    measure: MeasureOption = None,
    k: CutoffOption = None,
    missing: MissingOption = "zero",
    scores: ScoresOption = "float64",
    match: MatchOption = "id",
    permutations: Permutations = 10_000,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    alpha: Alpha = 0.05,
    form: Annotated[Literal["table", "markdown", "json"], typer.Option("--format", help="What to print.")] = "table",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the scorecard here, as JSON.")] = None,
) -> None:
    """Say which run is better, pair by pair: intervals, tests, Holm, what the queries can show."""
    from pipeline.formats.runs.scorecard_files import write_record
    from pipeline.goldset.gold_path import check_apart
    from pipeline.score.runs import load_gold, named_runs
    from pipeline.score.scorecards import DECIDING, card_of, notice_of, score_all
    from schemas.scorecard import Method

    check_alpha(alpha)
    runs = named_runs(run)
    if len(runs) < 2:
        raise UsageError("compare: give at least two runs, as --run A=a.trec --run B=b.trec")
    check_apart({"--out": out}, [gold, *(one.path for one in runs.values())])
    loaded = load_gold(gold)
    asked = chosen(measure or (None if k else list(DECIDING)), k, loaded)
    judged = judged_beside(asked)
    method = Method(
        missing=missing,
        scores=scores,
        permutations=permutations,
        resamples=resamples,
        seed=seed,
        alpha=alpha,
        confidence=0.95,
    )
    compared = [one for one in asked if one.family != "judged"]
    if not compared:
        raise UsageError("compare: judged@k says how much is judged, not how good it is; name another measure")
    results = score_all(loaded, runs, [*compared, judged], missing=missing, scores=scores, match=match)
    card = card_of(loaded, results, compared, judged=judged, method=method)
    if out:
        write_record(out, card)
    show(card, form, notice_of(loaded))


def judged_beside(measures: list[Measure]) -> Measure:
    """Return which judged@k to show beside the measures: at the cutoff of the first that has one, else at 10."""
    from pipeline.measures.names import parse_measure

    cutoff = next((measure.k for measure in measures if measure.k), 10)
    return parse_measure(f"judged@{cutoff}")


def check_alpha(alpha: float) -> None:
    """Refuse a level that is none."""
    if not 0 < alpha < 1:
        raise UsageError(f"--alpha {alpha:g}: give a probability between 0 and 1, as 0.05")


def show(card: Scorecard, form: str, notice: str | None) -> None:
    """Print a scorecard."""
    from pipeline.report.scorecard_text import markdown, method_line, tables, words
    from pipeline.text.display import printable

    if form == "json":
        typer.echo(card.model_dump_json(indent=2))
        return
    if form == "markdown":
        typer.echo(markdown(card), nl=False)
        return
    console = wide_console()
    for table in tables(card):
        console.print(table)
        console.print()
    for line in words(card):
        console.print(printable(line))
    for line in [*card.warnings, *([notice] if notice else [])]:
        console.print(f"Warning: {printable(line)}", style="yellow")
    console.print(method_line(card), style="dim")


def wide_console() -> Console:
    """Return a console that never cuts a table: a narrow terminal wraps its lines."""
    from rich.console import Console

    return Console(soft_wrap=True, markup=False, highlight=False, width=1000)
