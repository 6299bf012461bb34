"""``goldbench score``: runs against a gold set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from goldbench.cli.options import input_option, measure_option, output_option
from goldbench.cli.output import Wide, screen
from goldbench.cli.run_options import (
    CutoffOption,
    GoldPath,
    MatchOption,
    MeasureOption,
    MissingOption,
    RunOption,
    ScoresOption,
    chosen,
    note_old_runs,
    warn,
)
from goldbench.cli.score_forms import FORMS_OF_VALUES, print_both, print_form, weighted_rows, write_values
from goldbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from goldbench.measures.names import Measure
    from goldbench.measures.ranks.judged_ranks import Scores
    from goldbench.measures.result import Result
    from goldbench.measures.statistics.special_figures import Special
    from goldbench.records.calibrated import Calibration
    from goldbench.records.scorecard import Method
    from goldbench.records.set_verdict import SetVerdict
    from goldbench.report.text_tables import Rows
    from goldbench.score.runs import Gold, Match, Run


WeightOption = Annotated[
    Literal["frequency", "traffic"] | None,
    measure_option("--weight", help="Weigh queries by how often users asked them."),
]


def score(
    gold: GoldPath,
    run: RunOption,
    measure: MeasureOption = None,
    k: CutoffOption = None,
    missing: MissingOption = "zero",
    scores: ScoresOption = "float64",
    match: MatchOption = "id",
    per_query: Annotated[
        Path | None, output_option("--per-query", metavar="FILE", help="Values per query: .csv, .json or .jsonl.")
    ] = None,
    form: Annotated[
        Literal["table", "json", "csv", "markdown"], output_option("--format", help="What to print (default: table).")
    ] = "table",
    html: Annotated[
        Path | None, output_option("--html", metavar="FILE", help="Write a page, and scorecard.json beside it.")
    ] = None,
    weight: WeightOption = None,
    calibrated: Annotated[
        bool, measure_option("--calibrated", help="Also correct the scores by people's judgments.")
    ] = False,
    ledger: Annotated[
        str | None, input_option("--ledger", metavar="URL", help="People's judgments (default: in the set's folder).")
    ] = None,
    wide: Wide = False,
) -> None:
    """Score runs with trec_eval's measures.

    --weight needs queries of a log: frequency counts a query as often as users asked it, traffic as often as the log
    searches for it. Comparisons and gates count every query once.
    """
    import gc

    from goldbench.score.runs import load_gold, named_runs, score_run, weighted
    from goldbench.score.special_queries import special_of

    gc.disable()  # runs and judgments form no cycles, and the search for cycles takes a tenth of the time
    _check_calibrated(form, missing, ledger, calibrated=calibrated)
    _check_weight(weight, html, calibrated=calibrated)
    runs = named_runs(run)
    loaded = load_gold(gold)
    asked = chosen(measure, k, loaded)
    _check_files(gold, runs, per_query, html)
    results = {
        name: weighted(loaded, score_run(loaded, one, asked, missing=missing, scores=scores, match=match), weight)
        for name, one in runs.items()
    }
    named = None if measure is None and k is None else asked
    corrected = _corrected(loaded, runs, named, ledger, scores=scores, match=match) if calibrated else None
    special = special_of(loaded, runs, results)
    write_values(per_query, results)
    verdict = _verdict(loaded, results, corrected)
    digest = loaded.content_sha256()
    measured = {} if digest is None else {"content_sha256": digest}
    method = {"gold": gold, **measured, "missing": missing, "scores": scores, "match": match}
    asked_for = _Asked(whole=wide, named=named is not None)
    note_old_runs(loaded, runs, match)
    if form == "table":
        _show(loaded, results, special, corrected, verdict, asked_for)
    elif corrected is not None:
        print_both(results, corrected, special, verdict, **method)
    else:
        print_form(results, special, form, verdict, len(loaded.unanswerable()), **method)
    _note(loaded, results)
    if html is not None:
        from goldbench.records.scorecard import Method

        _write_page(html, loaded, runs, named, match=match, method=Method(missing=missing, scores=scores))


def _check_files(gold: str, runs: Mapping[str, Run], per_query: Path | None, html: Path | None) -> None:
    """Refuse to write over what is read, and a form of values that no suffix names."""
    from goldbench.formats.runs.scorecard_files import scorecard_beside
    from goldbench.goldset.gold_path import check_apart

    beside = scorecard_beside(html) if html else None
    check_apart(
        {"--per-query": per_query, "--html, the card goes beside it": beside, "--html": html},
        [gold, *(one.path for one in runs.values())],
    )
    if per_query is not None and per_query.suffix.lower() not in FORMS_OF_VALUES:
        raise UsageError(f"--per-query {per_query}: not a known suffix; give a .csv, .json or .jsonl file")


def _corrected(
    gold: Gold,
    runs: Mapping[str, Run],
    named: list[Measure] | None,
    ledger: str | None,
    *,
    scores: Scores,
    match: Match,
) -> Calibration:
    from goldbench.review.corrected_scores import Reading, calibrate

    deciding = chosen(["ndcg@10", "mrr@10", "r@10"], None, gold) if named is None else named
    return calibrate(gold, runs, deciding, ledger=ledger, reading=Reading(scores, match))


def _verdict(gold: Gold, results: Mapping[str, Result], corrected: Calibration | None) -> SetVerdict:
    from goldbench.score.systems_verdict import deciding, verdict_by_card

    measure = deciding(list(next(iter(results.values())).values))
    found = None if corrected is None else corrected.ranking.get(measure)
    if found is None:
        return verdict_by_card(results, gold, measure=measure, counted=corrected is not None)
    from goldbench.measures.statistics.fitness import Ranking

    return verdict_by_card(results, gold, measure=measure, ranking=Ranking(**found.model_dump()))


@dataclass(frozen=True, slots=True)
class _Asked:
    """Which measures the terminal shows: all with ``whole``, those that were ``named``, else the ones that matter."""

    whole: bool
    named: bool

    def of(self, measures: Sequence[str]) -> list[str]:
        """Return the measures to show of those that were measured."""
        from goldbench.report.score_text import main_measures

        return list(measures) if self.whole or self.named else main_measures(measures)


def _show(
    gold: Gold,
    results: Mapping[str, Result],
    special: Mapping[str, Special],
    corrected: Calibration | None,
    verdict: SetVerdict,
    asked: _Asked,
) -> None:
    """Print the verdict, the table and the tables of kinds of queries, at a terminal or into a pipe."""
    from goldbench.report.named_queries import worst_line
    from goldbench.report.score_text import shown_rows
    from goldbench.report.verdict_text import first_lines, further_lines
    from goldbench.score.set_makers import makers_of
    from goldbench.score.systems_verdict import deciding

    measures = list(next(iter(results.values())).values)
    screen.show(*first_lines(verdict), "")
    screen.table(shown_rows(results, asked.of(measures), whole=asked.whole))
    screen.show(*worst_line(results, deciding(measures), makers_of(gold).place))
    _show_special(special, asked.of(measures), len(gold.unanswerable()))
    if next(iter(results.values())).weighted_by is not None:
        _show_table("Weighted means", weighted_rows(results))
    if corrected is not None:
        _print_calibrated(corrected, whole=asked.whole or screen.verbose)
    further = further_lines(verdict, whole=screen.verbose)
    if further:
        screen.show("", *further)


def _note(gold: Gold, results: Mapping[str, Result]) -> None:
    """Print what a reader of the scores must know: a line for each thing, with ``--verbose`` for each run."""
    from goldbench.report.score_text import doubts, remarks

    if screen.verbose:
        screen.note(*(line for name, result in results.items() for line in remarks(name, result)))
    else:
        screen.note(*doubts(results))
    screen.note(*_too_small(gold, list(next(iter(results.values())).values)))
    warn(gold)


def _too_small(gold: Gold, measures: Sequence[str]) -> Iterator[str]:
    """Yield a line if a cutoff takes in the whole corpus, so that each passage is found by construction."""
    from goldbench.goldset.gold_path import passages_up_to
    from goldbench.measures.names import parse_measure
    from goldbench.text.display import amount

    cutoffs = {name: one.k for name in measures if (one := parse_measure(name)).family in {"hit", "r"} and one.k}
    count = None if gold.in_memory or not cutoffs else passages_up_to(gold.path, max(cutoffs.values()))
    if count is None:
        return
    named = " and ".join(name for name, k in cutoffs.items() if k >= count)
    yield (
        f"The corpus has {amount(count, 'passage')}: {named} cannot tell systems apart that return them all; "
        "use a smaller cutoff, as hit@3."
    )


def _write_page(
    path: Path, gold: Gold, runs: Mapping[str, Run], named: list[Measure] | None, *, match: Match, method: Method
) -> None:
    from goldbench.report.pages import check_installed
    from goldbench.score.page_data import write_report
    from goldbench.score.several_runs import DECIDING

    check_installed()
    shown = chosen(list(DECIDING), None, gold) if named is None else named
    written = write_report(path, gold, runs, shown, match=match, method=method)
    screen.note(f"Written: {', '.join(map(str, written))}")


def _check_calibrated(form: str, missing: str, ledger: str | None, *, calibrated: bool) -> None:
    """Refuse options that contradict one another, before anything is read."""
    if ledger is not None and not calibrated:
        raise UsageError("--ledger: needs --calibrated, which reads people's judgments; give both")
    if calibrated and form not in {"table", "json"}:
        raise UsageError(f"--format {form}: --calibrated prints only table or json")
    if calibrated and missing != "zero":
        raise UsageError(
            f"--missing {missing}: --calibrated needs zero: its means are over all queries, and a missing one counts 0"
        )


def _check_weight(weight: str | None, html: Path | None, *, calibrated: bool) -> None:
    """Refuse weights with what counts every query once, before anything is read."""
    other = "--calibrated" if calibrated else "--html" if html is not None else None
    if weight is not None and other is not None:
        raise UsageError(f"--weight: {other} counts every query once; leave out one of the two")


def _show_special(special: Mapping[str, Special], measures: list[str], asked: int) -> None:
    from goldbench.report.special_text import tables, unanswerable_lines

    for title, rows in tables(special, measures):
        _show_table(title, rows)
    for line in unanswerable_lines(special, asked):
        screen.show("", line)


def _show_table(title: str, rows: Rows) -> None:
    screen.show("", f"{title}:")
    screen.table(rows, words=2)


def _print_calibrated(corrected: Calibration, *, whole: bool) -> None:
    from goldbench.report.calibrated_text import remarks, summary, tables

    screen.show("", summary(corrected))
    for rows, words in tables(corrected, whole=whole):
        screen.show("")
        screen.table(rows, words=words)
    screen.note(*remarks(corrected))
