"""``goldbench gate``: stops a regression, for CI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from goldbench.cli.options import input_option, measure_option, output_option, statistics_option
from goldbench.cli.output import screen
from goldbench.cli.run_options import (
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
    note_old_runs,
    warn,
)
from goldbench.errors import NEGATIVE, UsageError

if TYPE_CHECKING:
    from goldbench.measures.names import Measure
    from goldbench.measures.result import Result
    from goldbench.measures.statistics.regression import Check
    from goldbench.records.scorecard import Baseline
    from goldbench.score.demands import Demands
    from goldbench.score.runs import Gold, Run

CommonQueries = Annotated[bool, input_option("--common-queries", help="Compare the queries that are the same.")]


def gate(
    gold: GoldPath,
    run: Annotated[str, input_option(metavar="FILE", help="Run to check, as FILE or NAME=FILE.")],
    baseline: Annotated[Path | None, input_option(metavar="FILE", help="Scores of an earlier run.")] = None,
    init: Annotated[bool, output_option("--init", help="Write the baseline from this run.")] = False,
    update: Annotated[bool, output_option("--update", help="Replace the baseline if every check passes.")] = False,
    common_queries: CommonQueries = False,
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
    markdown: Annotated[
        str | None, output_option("--markdown", metavar="FILE", help="Write a table as Markdown; - is stdout.")
    ] = None,
    link: Annotated[
        str | None, output_option("--link", metavar="URL", help="Page of the queries that the Markdown links to.")
    ] = None,
    permutations: Permutations = 10_000,
    seed: Seed = 0,
    alpha: Alpha = 0.05,
) -> None:
    """Check a run for regressions; for CI.

    Compares the run with lowest means and with a baseline; a failure exits 1 and names the queries that fell most. A
    baseline from before the set changed is refused. --common-queries compares the queries whose text, labels and
    labelled passages are the same as then.
    """
    from goldbench.score.common_queries import comparable
    from goldbench.score.demands import Demands, allowed_drops, checks_of, lowest_means
    from goldbench.score.runs import load_gold, named_runs
    from goldbench.score.several_runs import score_all

    check_alpha(alpha)
    printed = _Printed(junit, markdown, link, github=github)
    before = _earlier(baseline, init=init, update=update)
    runs = named_runs([run])
    printed.check(gold, runs, baseline)
    loaded = load_gold(gold)
    compared = comparable(before, loaded, common_queries=common_queries) if before else None
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
    note_old_runs(loaded, runs, match)
    _report(_Outcome(loaded, system, result, checks, compared), printed)
    warn(loaded)
    passed = all(check.passed for check in checks)
    if baseline and (init or (update and passed)):
        told = screen.note if markdown == "-" else screen.show
        told(_write(baseline, loaded, system, result, list(before.values if before else measures)))
    if not passed:
        raise typer.Exit(NEGATIVE)


@dataclass(frozen=True, slots=True)
class _Printed:
    """Where the result goes besides the terminal."""

    junit: Path | None
    markdown: str | None
    link: str | None
    github: bool

    def check(self, gold: str, runs: Mapping[str, Run], baseline: Path | None) -> None:
        """Refuse options that contradict one another, and files that would replace an input."""
        from goldbench.goldset.gold_path import check_apart
        from goldbench.report.gate_markdown import checked_link

        if self.link is not None:
            wrong = "needs --markdown FILE" if self.markdown is None else checked_link(self.link)
            if wrong:
                raise UsageError(f"--link: {wrong}")
        other = "--json" if screen.json else "--github" if self.github else None
        if self.markdown == "-" and other:
            raise UsageError(f"{other} and --markdown - both print on standard output; give --markdown a file")
        written = {"--junit": self.junit, "--markdown": None if self.markdown in {None, "-"} else Path(self.markdown)}
        check_apart({"--baseline": baseline, **written}, [gold, *(one.path for one in runs.values())])
        check_apart(written, [baseline] if baseline else [])


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The run as it was measured and checked, with the baseline as far as it is comparable."""

    gold: Gold
    system: str
    result: Result
    checks: Sequence[Check]
    compared: Baseline | None


def _write(baseline: Path, gold: Gold, system: str, result: Result, measures: Sequence[str]) -> str:
    """Write the baseline, and return what was written."""
    from goldbench.formats.runs.scorecard_files import write_record
    from goldbench.score.scorecards import baseline_of
    from goldbench.text.display import queries

    write_record(baseline, baseline_of(gold, system, result, measures))
    screen.add(baseline=str(baseline))
    return f"Baseline of {queries(len(result.query_ids))} written to {baseline}"


def _measures(demands: Demands, asked: Sequence[str], level: int, *, init: bool) -> dict[str, Measure]:
    """Return the measures to score by name: those that are checked, and those that a new baseline keeps."""
    from goldbench.measures.names import parse_measure
    from goldbench.score.several_runs import DECIDING

    measures = {one.name: one for one in demands.measures()}
    if init:
        kept = asked or [parse_measure(name, rel=level).name for name in DECIDING]
        measures |= {name: parse_measure(name) for name in kept}
    if not measures:
        raise UsageError("gate: there is nothing to check; give --baseline, --min or --target")
    return measures


def _earlier(path: Path | None, *, init: bool, update: bool) -> Baseline | None:
    """Return the baseline to compare with, or None."""
    from goldbench.score.earlier_scores import read_baseline

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


def _report(found: _Outcome, printed: _Printed) -> None:
    """Print the result of every check, and write the files that are asked for."""
    from goldbench.formats.runs.scorecard_files import write_whole
    from goldbench.report import gate_text as shown
    from goldbench.score.demands import differences

    checks, gold, compared = found.checks, found.gold, found.compared
    notes = list(differences(compared, gold, found.result)) if compared else []
    fell = any(check.fallen for check in checks)
    texts = gold.queries() if fell or printed.markdown else {}
    screen.add(passed=all(check.passed for check in checks), checks=[asdict(check) for check in checks], notes=[*notes])
    if printed.markdown != "-":
        _show(found, texts, notes)
    if printed.junit:
        write_whole(printed.junit, shown.junit(checks, texts, notes))
    if printed.github:
        for line in shown.github(checks, texts):
            typer.echo(line)
    if printed.markdown:
        text = _markdown(found, texts, notes, printed.link)
        if printed.markdown == "-":
            typer.echo(text, nl=False)
        else:
            write_whole(Path(printed.markdown), text.encode())


def _show(found: _Outcome, texts: Mapping[str, str], notes: Sequence[str]) -> None:
    from goldbench.report import gate_text as shown

    for check in found.checks:
        screen.show(shown.line(check), style="" if check.passed else "red")
        if not check.passed:
            screen.show(*(f"  {line}" for line in shown.fallen(check, texts)))
    screen.show(*_opened(found.checks, found.gold, found.result), *(f"Note: {note}." for note in notes))


def _markdown(found: _Outcome, texts: Mapping[str, str], notes: Sequence[str], link: str | None) -> str:
    from goldbench.goldset.gold_path import notice_of
    from goldbench.measures.statistics.regression import changes_of
    from goldbench.report.gate_markdown import Gated, gate_markdown
    from goldbench.score.scorecards import means_of
    from goldbench.score.set_makers import makers_of
    from goldbench.text.display import brief

    fallible = [check.measure for check in found.checks if check.kind == "drop"]
    least = [check.measure for check in found.checks if check.kind == "min"]
    changes = changes_of(found.result, found.compared, fallible) if found.compared else []
    notice = notice_of(found.gold.path)
    return gate_markdown(
        Gated(
            system=found.system,
            result=found.result,
            checks=found.checks,
            changes={one.measure: one for one in changes},
            means=means_of(found.result, least) if least else {},
            texts=texts,
            notes=[*notes, *([brief(notice, "").removesuffix(".")] if notice else [])],
            place=makers_of(found.gold).place,
            link=link,
        )
    )


def _opened(checks: Sequence[Check], gold: Gold, result: Result) -> list[str]:
    """Return a line with the queries behind the first failed condition, and how to open the first; no line if all hold.

    They are those that fell most, or the worst ones of a mean that is too low.
    """
    from goldbench.report.named_queries import NAMED, line_of, worst_of
    from goldbench.score.set_makers import makers_of

    failed = [check for check in checks if not check.passed]
    place = makers_of(gold).place if failed else None
    fallen = list(dict.fromkeys(one.query_id for check in failed for one in check.fallen))
    if fallen or not failed:
        return line_of("Fell most", fallen[:NAMED], place)
    measure = failed[0].measure
    return line_of(f"Worst by {measure}", worst_of(result, measure), place)
