"""``goldbench score`` and ``compare``: runs against a gold set."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from goldbench.cli import options
from goldbench.cli.output import screen
from goldbench.cli.runs import chosen, note_old_runs, warn
from goldbench.errors import UsageError
from goldbench.formats.runs.scorecard_files import scorecard_beside, write_record, write_whole
from goldbench.goldset.gold_path import check_apart, passages_up_to
from goldbench.measures.names import Measure, parse_measure
from goldbench.report.named_queries import difference_line, worst_line
from goldbench.report.scorecard_text import first_lines, further_lines, verdict_markdown
from goldbench.score.runs import DECIDING, Gold, Match, Run, load_gold, named_runs, score_all, score_run, weighted

if TYPE_CHECKING:
    from goldbench.measures.result import Result
    from goldbench.measures.statistics.special_figures import Special
    from goldbench.records.calibrated import Calibration
    from goldbench.records.scorecard import Scorecard
    from goldbench.records.set_verdict import SetVerdict
    from goldbench.report.text_tables import Rows

FORMS_OF_VALUES = ("", ".csv", ".json", ".jsonl")
"""Suffixes of a file for the values per query; without one, as of a pipe, they are CSV."""


def score(
    gold: options.GoldPath,
    run: options.RunOption,
    measure: options.MeasureOption = None,
    k: options.CutoffOption = None,
    missing: options.MissingOption = "zero",
    scores: options.ScoresOption = "float64",
    match: options.MatchOption = "id",
    per_query: Annotated[Path | None, options.Output(help="Values per query: .csv, .json or .jsonl.")] = None,
    form: Annotated[
        Literal["table", "json", "csv", "markdown"], options.Output("--format", help="What to print.")
    ] = "table",
    html: Annotated[Path | None, options.Output(help="Write a page, and scorecard.json beside it.")] = None,
    weight: Annotated[
        Literal["frequency", "traffic"] | None, options.Measures(help="Weigh queries by how often users asked them.")
    ] = None,
    calibrated: Annotated[
        bool, options.Measures("--calibrated", help="Also correct the scores by people's judgments.")
    ] = False,
    ledger: Annotated[
        str | None, options.Input(metavar="FILE", help="People's judgments (default: in the set's folder).")
    ] = None,
    wide: options.Wide = False,
) -> None:
    """Score runs with trec_eval's measures.

    --weight needs queries of a log: frequency counts a query as often as users asked it, traffic as often as the log
    searches for it. Comparisons and gates count every query once.

    Example: goldbench score runs/mine --run bm25=bm25.trec
    """
    import gc

    from goldbench.report.score_text import comma_separated
    from goldbench.score.special_queries import special_of

    gc.disable()  # runs and judgments form no cycles, and the search for cycles takes a tenth of the time
    _check_options(form, missing, ledger, weight, html, calibrated=calibrated)
    runs = named_runs(run)
    loaded = load_gold(gold)
    measures = chosen(measure, k, loaded)
    named = measures if measure or k else None
    _check_files(gold, runs, per_query, html)
    results = {
        name: weighted(
            loaded, score_run(loaded, scored_run, measures, missing=missing, scores=scores, match=match), weight
        )
        for name, scored_run in runs.items()
    }
    corrected = None
    if calibrated:
        from goldbench.review.corrected_scores import ScoreSettings, calibrate

        deciding = named or chosen(["ndcg@10", "mrr@10", "r@10"], None, loaded)
        corrected = calibrate(loaded, runs, deciding, ledger=ledger, settings=ScoreSettings(scores, match))
    special = special_of(loaded, runs, results)
    _write_values(per_query, results)
    verdict = _verdict(loaded, results, corrected)
    note_old_runs(loaded, runs, match)
    if form == "table":
        _show_scores(loaded, results, special, corrected, verdict, whole=wide, named=named is not None)
    elif form == "json":
        settings = {"gold": gold, "content_sha256": loaded.content_sha256(), "missing": missing, "scores": scores}
        _print_json(results, special, corrected, verdict, {**settings, "match": match, "weight": weight})
    elif form == "markdown":
        typer.echo(_markdown(results, special, verdict, len(loaded.unanswerable())), nl=False)
    else:
        typer.echo(comma_separated(results), nl=False)
    _note_doubts(loaded, results)
    if html is not None:
        _write_page(html, loaded, runs, named, match=match, missing=missing, scores=scores)


def _check_options(
    form: str, missing: str, ledger: str | None, weight: str | None, html: Path | None, *, calibrated: bool
) -> None:
    """Refuse options that contradict one another, before anything is read."""
    if ledger is not None and not calibrated:
        raise UsageError("--ledger: needs --calibrated, which reads people's judgments; give both")
    if calibrated and form not in {"table", "json"}:
        raise UsageError(f"--format {form}: --calibrated prints only table or json")
    if calibrated and missing != "zero":
        raise UsageError(
            f"--missing {missing}: --calibrated needs zero: its means are over all queries, and a missing one counts 0"
        )
    if weight is not None and (calibrated or html is not None):
        option = "--calibrated" if calibrated else "--html"
        raise UsageError(f"--weight: {option} counts every query once; leave out one of the two")


def _check_files(gold: str, runs: Mapping[str, Run], per_query: Path | None, html: Path | None) -> None:
    """Refuse to write over what is read, and a form of values that no suffix names."""
    card = scorecard_beside(html) if html else None
    written = {"--per-query": per_query, "--html, the card goes beside it": card, "--html": html}
    check_apart(written, [gold, *(run.path for run in runs.values())])
    if per_query is not None and per_query.suffix.lower() not in FORMS_OF_VALUES:
        raise UsageError(f"--per-query {per_query}: not a known suffix; give a .csv, .json or .jsonl file")


def _verdict(gold: Gold, results: Mapping[str, Result], corrected: Calibration | None) -> SetVerdict:
    from goldbench.score.set_makers import makers_of
    from goldbench.score.verdict import Case, deciding, verdict_on

    measure = deciding(list(next(iter(results.values())).values))
    ranking = None if corrected is None else corrected.ranking.get(measure)
    return verdict_on(Case(measure, makers_of(gold), results, ranking=ranking, counted=corrected is not None))


def _show_scores(
    gold: Gold,
    results: Mapping[str, Result],
    special: Mapping[str, Special],
    corrected: Calibration | None,
    verdict: SetVerdict,
    *,
    whole: bool,
    named: bool,
) -> None:
    """Print the verdict, the table and the tables of kinds of queries; all measures with ``whole`` or ``named``."""
    from goldbench.report.score_text import main_measures, shown_rows, unanswerable_lines
    from goldbench.score.set_makers import makers_of
    from goldbench.score.verdict import deciding

    measured = list(next(iter(results.values())).values)
    measures = measured if whole or named else main_measures(measured)
    screen.show(*first_lines(verdict), "")
    screen.table(shown_rows(results, measures, whole=whole))
    screen.show(*worst_line(results, deciding(measured), makers_of(gold).place))
    for title, rows in _titled_tables(results, special, measures):
        screen.show("", f"{title}:")
        screen.table(rows, words=2)
    for line in unanswerable_lines(special, len(gold.unanswerable())):
        screen.show("", line)
    if corrected is not None:
        _show_calibrated(corrected)
    further = further_lines(verdict, whole=screen.verbose)
    if further:
        screen.show("", *further)


def _titled_tables(
    results: Mapping[str, Result], special: Mapping[str, Special], measures: list[str]
) -> list[tuple[str, Rows]]:
    """Return the tables of kinds of queries, and that of the weighted means."""
    from goldbench.report.score_text import special_tables, weighted_rows
    from goldbench.score.scorecards import means_of

    titled = list(special_tables(special, measures))
    if next(iter(results.values())).weighted_by is not None:
        means = {name: means_of(result, list(result.values)) for name, result in results.items()}
        titled.append(("Weighted means", weighted_rows(results, means)))
    return titled


def _show_calibrated(corrected: Calibration) -> None:
    from goldbench.report.calibrated_text import remarks, summary, tables

    screen.show("", summary(corrected))
    for rows, words in tables(corrected):
        screen.show("")
        screen.table(rows, words=words)
    screen.note(*remarks(corrected))


def _print_json(
    results: Mapping[str, Result],
    special: Mapping[str, Special],
    corrected: Calibration | None,
    verdict: SetVerdict,
    method: Mapping[str, str | None],
) -> None:
    """Print the scores, and the corrected ones, as one JSON object."""
    from goldbench.report.score_text import as_record, special_members, weighted_member
    from goldbench.score.scorecards import means_of

    more = {name: special_members(figures) for name, figures in special.items()}
    for name, result in results.items():
        if result.weighted_by is not None:
            means = means_of(result, list(result.values))
            more[name] = {**more.get(name, {}), "weighted": weighted_member(result, means)}
    known = {name: value for name, value in method.items() if value is not None}
    record = {"verdict": asdict(verdict), **known, **as_record(results, more)}
    if corrected is not None:
        record["calibrated"] = corrected.model_dump(mode="json")
    typer.echo(json.dumps(record, ensure_ascii=False, indent=2))


def _markdown(
    results: Mapping[str, Result], special: Mapping[str, Special], verdict: SetVerdict, unanswerable: int
) -> str:
    """Return the verdict and every table in Markdown."""
    from goldbench.report.score_text import markdown, unanswerable_lines
    from goldbench.report.text_tables import markdown_table

    titled = _titled_tables(results, special, list(next(iter(results.values())).values))
    parts = [f"{title}:\n\n{markdown_table(rows, words=2)}\n" for title, rows in titled]
    parts += [f"{line}\n" for line in unanswerable_lines(special, unanswerable)]
    return "\n".join([f"{verdict_markdown(verdict)}\n", markdown(results), *parts])


def _write_values(path: Path | None, results: Mapping[str, Result]) -> None:
    """Write the values per query into a file; its suffix tells the form."""
    from goldbench.report.score_text import per_query

    if path is not None:
        # Half of a surrogate pair becomes what JSON writes for it: the file is UTF-8 and says the same id.
        write_whole(path, per_query(results, path.suffix.lower()).encode("utf-8", "backslashreplace"))


def _note_doubts(gold: Gold, results: Mapping[str, Result]) -> None:
    """Print what a reader of the scores must know: a line for each thing."""
    from goldbench.report.score_text import doubts

    screen.note(*doubts(results))
    screen.note(*_warn_of_small_corpus(gold, list(next(iter(results.values())).values)))
    warn(gold)


def _warn_of_small_corpus(gold: Gold, measures: Sequence[str]) -> Iterator[str]:
    """Yield a line if a cutoff takes in the whole corpus, so that each passage is found by construction."""
    from goldbench.text.display import amount

    parsed = {name: parse_measure(name) for name in measures}
    cutoffs = {name: measure.k for name, measure in parsed.items() if measure.family in {"hit", "r"} and measure.k}
    count = None if gold.in_memory or not cutoffs else passages_up_to(gold.path, max(cutoffs.values()))
    if count is not None:
        blind = " and ".join(name for name, k in cutoffs.items() if k >= count)
        yield (
            f"The corpus has {amount(count, 'passage')}: {blind} cannot tell systems apart that return them all; "
            "use a smaller cutoff, as hit@3."
        )


def _write_page(
    path: Path,
    gold: Gold,
    runs: Mapping[str, Run],
    named: list[Measure] | None,
    *,
    match: Match,
    **method: Any,  # noqa: ANN401
) -> None:
    from goldbench.records.scorecard import Method
    from goldbench.report.pages import check_installed
    from goldbench.score.page_data import write_report

    check_installed()
    measures = named or chosen(list(DECIDING), None, gold)
    written = write_report(path, gold, runs, measures, match=match, method=Method(**method))
    screen.note(f"Written: {', '.join(map(str, written))}")


def compare(
    gold: options.GoldPath,
    run: options.RunOption,
    measure: options.MeasureOption = None,
    k: options.CutoffOption = None,
    missing: options.MissingOption = "zero",
    scores: options.ScoresOption = "float64",
    match: options.MatchOption = "id",
    permutations: options.Permutations = 10_000,
    resamples: Annotated[int, options.Statistics(min=100, help="Resamples of the bootstrap.")] = 10_000,
    seed: options.Seed = 0,
    alpha: options.Alpha = 0.05,
    form: options.TableForm = "table",
    out: Annotated[Path | None, options.Output(help="Also write the scorecard, as JSON.")] = None,
    wide: options.Wide = False,
) -> None:
    """Test which run is better, pair by pair.

    Shows confidence intervals, tests with Holm's correction, and the difference that the queries can detect.

    Example: goldbench compare runs/mine --run a=a.trec --run b=b.trec
    """
    from goldbench.records.scorecard import Method
    from goldbench.report import scorecard_text as report
    from goldbench.score.scorecards import card_of, to_compare
    from goldbench.score.set_makers import makers_of

    runs = named_runs(run)
    if len(runs) < 2:
        raise UsageError("--run: give at least two runs, as --run A=a.trec --run B=b.trec")
    check_apart({"--out": out}, [gold, *(scored_run.path for scored_run in runs.values())])
    loaded = load_gold(gold)
    compared, judged = to_compare(chosen(measure or (None if k else list(DECIDING)), k, loaded))
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
    if form == "json":
        typer.echo(card.model_dump_json(indent=2))
    elif form == "markdown":
        typer.echo(report.markdown(card), nl=False)
    else:
        _show_comparison(card, results, makers_of(loaded).place, wide=wide)
        screen.warn(*card.warnings)
        warn(loaded)


def _show_comparison(card: Scorecard, results: Mapping[str, Result], folder: str | None, *, wide: bool) -> None:
    from goldbench.report import scorecard_text as report

    top = report.best(card)
    screen.show(*first_lines(card.verdict), *([top] if top else []), "")
    screen.table(list(report.leaderboard_rows(card)))
    screen.show(*worst_line(results, card.measures[0], folder))
    if card.comparisons:
        screen.show("")
        if wide:
            screen.table(report.pair_rows(card.comparisons), words=3)
        else:
            screen.table(report.main_pair_rows(card.comparisons), words=2)
        screen.show(*difference_line(results, card.measures[0], folder))
    further = further_lines(card.verdict, whole=screen.verbose)
    if further:
        screen.show("", *further)
    if screen.verbose:
        screen.show("", report.method_line(card))
