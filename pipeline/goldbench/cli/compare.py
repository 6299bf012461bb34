"""``goldbench compare``: which of several runs is better, and whether the difference is real."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from goldbench.cli.options import output_option, statistics_option
from goldbench.cli.output import Wide, screen
from goldbench.cli.run_options import (
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
    note_old_runs,
)
from goldbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from goldbench.measures.result import Result
    from goldbench.records.scorecard import Scorecard


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
    wide: Wide = False,
) -> None:
    """Test which run is better, pair by pair.

    Shows confidence intervals, tests with Holm's correction, and the difference that the queries can detect.
    """
    from goldbench.formats.runs.scorecard_files import write_record
    from goldbench.goldset.gold_path import check_apart
    from goldbench.records.scorecard import Method
    from goldbench.score.runs import load_gold, named_runs
    from goldbench.score.scorecards import card_of, notice_of, to_compare
    from goldbench.score.set_makers import makers_of
    from goldbench.score.several_runs import DECIDING, score_all

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
    note_old_runs(loaded, runs, match)
    show(card, form, notice_of(loaded), results, makers_of(loaded).place, wide=wide)


def show(
    card: Scorecard,
    form: str,
    notice: str | None,
    results: Mapping[str, Result],
    place: str | None,
    *,
    wide: bool = False,
) -> None:
    """Print a scorecard.

    Args:
        card: The scorecard.
        form: ``table``, ``markdown`` or ``json``.
        notice: The gold set's warning, or None.
        results: The results it was made of.
        place: The folder of the set as a shell takes it, or None.
        wide: Whether every column of the comparisons is shown.
    """
    from goldbench.report import scorecard_text as report

    if form == "json":
        typer.echo(card.model_dump_json(indent=2))
    elif form == "markdown":
        typer.echo(report.markdown(card), nl=False)
    else:
        _show(card, results, place, wide=wide)
        screen.warn(*card.warnings, *([notice] if notice else []))


def _show(card: Scorecard, results: Mapping[str, Result], place: str | None, *, wide: bool) -> None:
    from goldbench.report import scorecard_text as report
    from goldbench.report.named_queries import difference_line, worst_line
    from goldbench.report.verdict_text import first_lines, further_lines

    top = report.best(card)
    screen.show(*first_lines(card.verdict), *([top] if top else []), "")
    screen.table(list(report.leaderboard_rows(card)))
    screen.show(*worst_line(results, card.measures[0], place))
    if card.comparisons:
        screen.show("")
        if wide:
            screen.table([report.PAIR_HEADINGS, *map(report.pair_row, card.comparisons)], words=3)
        else:
            screen.table(report.main_pair_rows(card.comparisons), words=2)
        screen.show(*difference_line(results, card.measures[0], place))
    further = further_lines(card.verdict, whole=screen.verbose)
    if further:
        screen.show("", *further)
    if screen.verbose:
        screen.show("", *report.sentences(card), report.method_line(card))
