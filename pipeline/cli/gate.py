"""``goldbench gate``: stops a regression, for CI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from goldbench.pipeline.cli.options import input_option, measure_option, output_option, statistics_option
from goldbench.pipeline.cli.output import screen
from goldbench.pipeline.cli.run_options import (
    Alpha,
    GoldPath,
    MatchOption,
    MeasureOption,
    MissingOption,
    Permutations,
    ScoresOption,
    Seed,
    check_alpha,
    chosen,
    warn,
)
from goldbench.pipeline.errors import NEGATIVE, UsageError

if TYPE_CHECKING:
    from goldbench.pipeline.measures.names import Measure
    from goldbench.pipeline.measures.result import Result
    from goldbench.pipeline.measures.statistics.regression import Check
    from goldbench.pipeline.score.demands import Demands
    from goldbench.pipeline.score.earlier_scores import EarlierScores
    from goldbench.pipeline.score.runs import Gold

AcrossVersions = Annotated[
    bool, input_option("--across-versions", help="Compare the common queries of two versions of the set.")
]


def gate(
    gold: GoldPath,
    run: Annotated[str, input_option(metavar="FILE", help="Run to check, as FILE or NAME=FILE.")],
    baseline: Annotated[Path | None, input_option(metavar="FILE", help="Scores of an earlier run.")] = None,
    init: Annotated[bool, output_option("--init", help="Write the baseline from this run.")] = False,
    update: Annotated[bool, output_option("--update", help="Replace the baseline if every check passes.")] = False,
    across_versions: AcrossVersions = False,
    max_drop: Annotated[
        list[str] | None, measure_option(metavar="[M=]D", help="Allowed fall: 5%, 0.02, ndcg@10=2% (default: 5%).")
    ] = None,
    minimum: Annotated[
        list[str] | None, measure_option("--min", metavar="M=X", help="Lowest mean, as recall@10=0.8.")
    ] = None,
    target: Annotated[
        Literal["precise-qa", "general", "exploratory"] | None, measure_option(help="Lowest means for a purpose.")
    ] = None,
    significant_only: Annotated[
        bool, statistics_option("--significant-only", help="Allow a fall that chance can explain.")
    ] = False,
    measure: MeasureOption = None,
    missing: MissingOption = "zero",
    scores: ScoresOption = "float64",
    match: MatchOption = "id",
    junit: Annotated[Path | None, output_option(metavar="FILE", help="Write JUnit XML.")] = None,
    github: Annotated[bool, output_option("--github", help="Print annotations for GitHub Actions.")] = False,
    permutations: Permutations = 10_000,
    seed: Seed = 0,
    alpha: Alpha = 0.05,
) -> None:
    """Check a run for regressions; for CI.

    Compares the run with lowest means and with a baseline; exits 1 and names the queries that fell most. A baseline of
    another version of the set is refused; with --across-versions the queries are compared that are the same in both:
    by their text, and by the grades and texts of their labelled passages.
    """
    from goldbench.pipeline.formats.runs.scorecard_files import write_record
    from goldbench.pipeline.goldset.gold_path import check_apart
    from goldbench.pipeline.score.common_queries import comparable
    from goldbench.pipeline.score.demands import Demands, allowed_drops, checks_of, differences, lowest_means
    from goldbench.pipeline.score.runs import load_gold, named_runs
    from goldbench.pipeline.score.several_runs import score_all
    from goldbench.pipeline.text.display import queries

    check_alpha(alpha)
    before = _earlier(baseline, init=init, update=update)
    runs = named_runs([run])
    check_apart({"--baseline": baseline, "--junit": junit}, [gold, *(one.path for one in runs.values())])
    check_apart({"--junit": junit}, [baseline] if baseline else [])
    loaded = load_gold(gold)
    compared = comparable(before, loaded, across=across_versions) if before else None
    asked = [one.name for one in chosen(measure, None, loaded)] if measure else []
    demands = Demands(
        minimums=lowest_means(minimum or [], target, loaded.level),
        drops=allowed_drops(max_drop or [], before, asked, loaded.level) if before else {},
        significant_only=significant_only,
        alpha=alpha,
        permutations=permutations,
        seed=seed,
    )
    measures = _measures(demands, asked, loaded.level, init=init)
    results = score_all(loaded, runs, list(measures.values()), missing=missing, scores=scores, match=match)
    ((system, result),) = results.items()
    checks = checks_of(result, compared, demands)
    notes = list(differences(compared, loaded, result)) if compared else []
    _report(checks, loaded, result, notes, junit=junit, github=github)
    warn(loaded)
    passed = all(check.passed for check in checks)
    if baseline and (init or (update and passed)):
        from goldbench.pipeline.score.scorecards import baseline_of

        write_record(baseline, baseline_of(loaded, system, result, list(before.values if before else measures)))
        screen.show(f"Baseline of {queries(len(result.query_ids))} written to {baseline}")
        screen.add(baseline=str(baseline))
    if not passed:
        raise typer.Exit(NEGATIVE)


def _measures(demands: Demands, asked: Sequence[str], level: int, *, init: bool) -> dict[str, Measure]:
    """Return the measures to score by name: those that are checked, and those that a new baseline keeps."""
    from goldbench.pipeline.measures.names import parse_measure
    from goldbench.pipeline.score.several_runs import DECIDING

    measures = {one.name: one for one in demands.measures()}
    if init:
        kept = asked or [parse_measure(name, rel=level).name for name in DECIDING]
        measures |= {name: parse_measure(name) for name in kept}
    if not measures:
        raise UsageError("gate: there is nothing to check; give --baseline, --min or --target")
    return measures


def _earlier(path: Path | None, *, init: bool, update: bool) -> EarlierScores | None:
    """Return the baseline to compare with, or None."""
    from goldbench.pipeline.score.earlier_scores import read_baseline

    if path is None:
        if init or update:
            raise UsageError("gate: --init and --update need --baseline FILE")
        return None
    if init:
        if update:
            raise UsageError("gate: give --init or --update, not both")
        if path.exists():
            raise UsageError(f"--init: {path} exists already; give --update, or remove it first")
        return None
    if not path.exists():
        raise UsageError(f"--baseline: file {path} not found; make it with --init")
    return read_baseline(path)


def _report(
    checks: Sequence[Check], gold: Gold, result: Result, notes: Sequence[str], *, junit: Path | None, github: bool
) -> None:
    """Print the result of every check, and write the JUnit file."""
    from goldbench.pipeline.formats.runs.scorecard_files import write_whole
    from goldbench.pipeline.report import gate_text as shown

    texts = gold.queries() if any(check.fallen for check in checks) else {}
    screen.add(passed=all(check.passed for check in checks), checks=[asdict(check) for check in checks], notes=[*notes])
    for check in checks:
        screen.show(shown.line(check), style="" if check.passed else "red")
        if not check.passed:
            screen.show(*(f"  {line}" for line in shown.fallen(check, texts)))
    screen.show(*_opened(checks, gold, result), *(f"Note: {note}." for note in notes))
    if junit:
        write_whole(junit, shown.junit(checks, texts, notes))
    if github:
        for line in shown.github(checks, texts):
            typer.echo(line)


def _opened(checks: Sequence[Check], gold: Gold, result: Result) -> list[str]:
    """Return a line with the queries behind the first failed condition, and how to open the first; no line if all hold.

    They are those that fell most, or the worst ones of a mean that is too low.
    """
    from goldbench.pipeline.report.named_queries import NAMED, line_of, worst_of
    from goldbench.pipeline.score.set_makers import makers_of

    failed = [check for check in checks if not check.passed]
    place = makers_of(gold).place if failed else None
    fallen = list(dict.fromkeys(one.query_id for check in failed for one in check.fallen))
    if fallen or not failed:
        return line_of("Fell most", fallen[:NAMED], place)
    measure = failed[0].measure
    return line_of(f"Worst by {measure}", worst_of(result, measure), place)
