"""``goldbench compare``: which of several runs is better, and whether the difference is real."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from goldbench.pipeline.cli.options import console_for, output_option, statistics_option
from goldbench.pipeline.cli.run_options import (
    Alpha,
    CutoffOption,
    GoldPath,
    MatchOption,
    MeasureOption,
    MissingOption,
    Permutations,
    RunOption,
    ScoresOption,
    Seed,
    check_alpha,
    chosen,
)
from goldbench.pipeline.errors import UsageError

if TYPE_CHECKING:
    from goldbench.schemas.scorecard import Scorecard


def compare(
    gold: GoldPath,
    run: RunOption,
    measure: MeasureOption = None,
    k: CutoffOption = None,
    missing: MissingOption = "zero",
    scores: ScoresOption = "float64",
    match: MatchOption = "id",
    permutations: Permutations = 10_000,
    resamples: Annotated[
        int, statistics_option(metavar="N", min=100, help="Resamples of the bootstrap (default: 10000).")
    ] = 10_000,
    seed: Seed = 0,
    alpha: Alpha = 0.05,
    form: Annotated[
        Literal["table", "markdown", "json"], output_option("--format", help="What to print (default: table).")
    ] = "table",
    out: Annotated[Path | None, output_option(metavar="FILE", help="Also write the scorecard, as JSON.")] = None,
) -> None:
    """Test which run is better, pair by pair.

    Shows confidence intervals, tests with Holm's correction, and the difference that the queries can detect.
    """
    from goldbench.pipeline.formats.runs.scorecard_files import write_record
    from goldbench.pipeline.goldset.gold_path import check_apart
    from goldbench.pipeline.score.runs import load_gold, named_runs
    from goldbench.pipeline.score.scorecards import card_of, notice_of, to_compare
    from goldbench.pipeline.score.several_runs import DECIDING, score_all
    from goldbench.schemas.scorecard import Method

    check_alpha(alpha)
    runs = named_runs(run)
    if len(runs) < 2:
        raise UsageError("--run: give at least two runs, as --run A=a.trec --run B=b.trec")
    check_apart({"--out": out}, [gold, *(one.path for one in runs.values())])
    loaded = load_gold(gold)
    asked = chosen(measure or (None if k else list(DECIDING)), k, loaded)
    compared, judged = to_compare(asked)
    method = Method(
        missing=missing,
        scores=scores,
        permutations=permutations,
        resamples=resamples,
        seed=seed,
        alpha=alpha,
        confidence=0.95,
    )
    results = score_all(loaded, runs, [*compared, judged], missing=missing, scores=scores, match=match)
    card = card_of(loaded, results, compared, judged=judged, method=method)
    if out:
        write_record(out, card)
    show(card, form, notice_of(loaded))


def show(card: Scorecard, form: str, notice: str | None) -> None:
    """Print a scorecard.

    Args:
        card: The scorecard.
        form: ``table``, ``markdown`` or ``json``.
        notice: The gold set's warning, or None.
    """
    from goldbench.pipeline.report.scorecard_text import markdown, method_line, tables, words
    from goldbench.pipeline.report.verdict_text import verdict_lines
    from goldbench.pipeline.text.display import printable

    if form == "json":
        typer.echo(card.model_dump_json(indent=2))
        return
    if form == "markdown":
        typer.echo(markdown(card), nl=False)
        return
    console = console_for(wide=True)
    for table in tables(card):
        console.print(table)
        console.print()
    for line in [*verdict_lines(card.verdict), *words(card)]:
        console.print(printable(line))
    for line in [*card.warnings, *([notice] if notice else [])]:
        console.print(f"Warning: {printable(line)}", style="yellow")
    console.print(method_line(card), style="dim")
