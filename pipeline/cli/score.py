"""``goldset score``: runs against a gold set; and the options that every command on runs shares."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipeline.errors import UnknownMeasure, UsageError
from pipeline.goldset.file_names import DATASET

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.measures.names import Measure
    from pipeline.measures.result import Result
    from pipeline.score.runs import Gold
    from schemas.calibrated import Calibration

GoldPath = Annotated[
    str, typer.Argument(metavar="GOLD", help=f"Judgments: TREC, BEIR, {DATASET} or the folder of a build.")
]
RunOption = Annotated[
    list[str],
    typer.Option("--run", metavar="NAME=FILE", help="Results: TREC, JSON, CSV, Parquet, .gz, .zst; - is stdin."),
]
MeasureOption = Annotated[
    list[str] | None, typer.Option("--measure", metavar="NAMES", help="As ndcg@10 or 'recall@5,map@100(norm=hits)'.")
]
CutoffOption = Annotated[
    str | None, typer.Option("--k", metavar="LIST", help="Cutoffs of measures without one: 1,3,5,10.")
]
MissingOption = Annotated[
    Literal["zero", "skip", "error"], typer.Option("--missing", help="What a judged query that the run lacks counts.")
]
ScoresOption = Annotated[
    Literal["float64", "float32"], typer.Option("--scores", help="float32 compares as trec_eval 9 and pytrec_eval do.")
]
MatchOption = Annotated[Literal["id", "text"], typer.Option("--match", help="How a retrieved passage is recognised.")]
Form = Annotated[Literal["table", "json", "csv", "markdown", "latex"], typer.Option("--format", help="What to print.")]

_WITHOUT_CUTOFF = ("hit", "p", "r", "f1", "mrr", "map", "ndcg", "judged")


def score(
    gold: GoldPath,
    run: RunOption,
    measure: MeasureOption = None,
    k: CutoffOption = None,
    missing: MissingOption = "zero",
    scores: ScoresOption = "float64",
    match: MatchOption = "id",
    per_query: Annotated[
        Path | None, typer.Option("--per-query", metavar="FILE", help="Write each query's values: .csv, .json, .jsonl.")
    ] = None,
    form: Form = "table",
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page, and scorecard.json beside it.")
    ] = None,
    calibrated: Annotated[
        bool, typer.Option("--calibrated", help="Also show what people's judgments make of the scores.")
    ] = False,
    ledger: Annotated[
        str | None, typer.Option("--ledger", metavar="URL", help="Where people's judgments are (the build's folder).")
    ] = None,
) -> None:
    """Score runs with trec_eval's measures."""
    import gc

    from pipeline.goldset.gold_path import check_apart
    from pipeline.score.runs import load_gold, named_runs, score_run

    gc.disable()  # what is read makes no cycles, and looking for them takes a tenth of the time
    _check_calibrated(form, missing, ledger, calibrated=calibrated)
    runs = named_runs(run)
    loaded = load_gold(gold)
    asked = chosen(measure, k, loaded)
    beside = html.with_name("scorecard.json") if html else None
    check_apart(
        {"--per-query": per_query, "--html, the card goes beside it": beside, "--html": html},
        [gold, *(one.path for one in runs.values())],
    )
    results = {
        name: score_run(loaded, one, asked, missing=missing, scores=scores, match=match) for name, one in runs.items()
    }
    corrected = None
    if calibrated:
        from pipeline.review.corrected_scores import Reading, calibrate

        deciding = chosen(["ndcg@10", "mrr@10", "r@10"], None, loaded) if measure is None and k is None else asked
        corrected = calibrate(loaded, runs, deciding, ledger=ledger, reading=Reading(scores, match))
    if per_query is not None:
        _write(per_query, results)
    if corrected is not None and form == "json":
        _print_both(results, corrected, gold=gold, missing=missing, scores=scores, match=match)
    else:
        _print(results, form, gold=gold, missing=missing, scores=scores, match=match)
    if corrected is not None and form != "json":
        _print_calibrated(corrected)
    warn(loaded)
    if html is not None:
        from pipeline.score.page_data import write_report
        from pipeline.score.scorecards import DECIDING
        from schemas.scorecard import Method

        shown = chosen(list(DECIDING), None, loaded) if measure is None and k is None else asked
        written = write_report(html, loaded, runs, shown, match=match, method=Method(missing=missing, scores=scores))
        typer.echo(f"Written: {', '.join(map(str, written))}", err=True)


def warn(gold: Gold) -> None:
    """Say what the gold set wants said wherever it is used."""
    from pipeline.goldset.gold_path import notice_of
    from pipeline.text.display import printable

    notice = notice_of(gold.path)
    if notice:
        typer.echo(f"Warning: {printable(notice)}", err=True)


def _check_calibrated(form: str, missing: str, ledger: str | None, *, calibrated: bool) -> None:
    """Refuse what does not go together before anything is read."""
    if ledger is not None and not calibrated:
        raise UsageError("--ledger is where --calibrated finds people's judgments: give both")
    if calibrated and form not in {"table", "json"}:
        raise UsageError(f"--format {form}: --calibrated prints a table or json")
    if calibrated and missing != "zero":
        raise UsageError(f"--missing {missing}: --calibrated estimates means over all queries; a missing one counts 0")


def _print_both(results: Mapping[str, Result], corrected: Calibration, **method: str) -> None:
    import json

    from pipeline.report.score_text import as_json

    both = {**json.loads(as_json(results, **method)), "calibrated": corrected.model_dump(mode="json")}
    typer.echo(json.dumps(both, ensure_ascii=False, indent=2))


def _print_calibrated(corrected: Calibration) -> None:
    from pipeline.report.calibrated_text import lines, remarks

    typer.echo()
    for line in lines(corrected):
        typer.echo(line)
    for line in remarks(corrected):
        typer.echo(line, err=True)


def chosen(measure: list[str] | None, k: str | None, gold: Gold) -> list[Measure]:
    """Return the measures asked for; those without a cutoff at every ``k``.

    Raises:
        UnknownMeasure: a name or a cutoff cannot be understood.
    """
    from pipeline.measures.names import DEFAULT, parse_measures

    cutoffs = []
    for text in (k or "").replace(",", " ").split():
        if not (text.isascii() and text.isdigit() and len(text) <= 10):
            raise UnknownMeasure([f"--k {k}: {text!r} is no cutoff; give whole numbers from 1, as 1,3,5,10"])
        cutoffs.append(int(text))
    return parse_measures(measure or (_WITHOUT_CUTOFF if cutoffs else DEFAULT), cutoffs=cutoffs, rel=gold.level)


def _write(path: Path, results: Mapping[str, Result]) -> None:
    from pipeline.formats.runs.scorecard_files import write_whole
    from pipeline.report.score_text import per_query

    # Half of a surrogate pair becomes what JSON writes for it: the file is UTF-8 and says the same id.
    write_whole(path, per_query(results, path.suffix.lower()).encode("utf-8", "backslashreplace"))


def _print(results: Mapping[str, Result], form: str, **method: str) -> None:
    from pipeline.report import score_text

    if form == "json":
        typer.echo(score_text.as_json(results, **method), nl=False)
    elif form == "csv":
        typer.echo(score_text.comma_separated(results), nl=False)
    elif form == "markdown":
        typer.echo(score_text.markdown(results), nl=False)
    elif form == "latex":
        typer.echo(score_text.latex(results), nl=False)
    elif not sys.stdout.isatty():
        typer.echo(score_text.plain_table(results), nl=False)
    else:
        from rich.console import Console

        Console(soft_wrap=True, markup=False, highlight=False, width=1000).print(score_text.terminal_table(results))
    for name, result in results.items():
        for line in score_text.remarks(name, result):
            typer.echo(line, err=True)
