"""``goldbench grade`` and ``goldbench topup``: a model grades a pool of chunks for every query from 0 to 3."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldbench.cli.options import (
    Answers,
    Batch,
    DryRun,
    Replay,
    input_option,
    judging_option,
    output_option,
    progress_console,
    takes,
)
from goldbench.cli.output import screen
from goldbench.cli.review_files import LedgerOption, decisions_kept
from goldbench.errors import DONE_IN_PART
from goldbench.goldset.file_names import BEIR, DATASET, TREC, answers_beside

if TYPE_CHECKING:
    from goldbench.config import Config
    from goldbench.grade.graded_folder import How, PlannedGrading
    from goldbench.grade.session import Graded

Force = Annotated[bool, judging_option("--force", help="Use the grades of a judge that fails the judge checks.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a gold set, built or imported.")]


@takes("grade", "model", "machines")
def grade(
    folder: Folder,
    settings: Config,
    run: Annotated[
        list[str] | None, input_option("--run", metavar="NAME=FILE", help="Also judge the results of this run.")
    ] = None,
    feedback: Annotated[
        Path | None, input_option("--feedback", metavar="FILE", help="Clicks and votes: passages to judge first.")
    ] = None,
    ledger: LedgerOption = None,
    answers: Answers = None,
    again: Annotated[
        bool, judging_option("--again", help="Ask only about pairs that people judged otherwise.")
    ] = False,
    replace: Annotated[bool, output_option("--replace", help="Replace the grades of another judge.")] = False,
    force: Force = False,
    replay: Replay = False,
    batch: Batch = False,
    dry_run: DryRun = False,
) -> None:
    """Grade a pool of passages for every query.

    A model grades the results of several retrievers from 0 to 3. Graded labels replace the labels of the set. What
    users clicked or voted on (the file of goldbench feedback) is judged, too, but never taken for a label.

    After an edit of rubric.md, --again asks with the new text about the pairs that people call relevant and the judge
    does not, or the other way round, and about nothing else; `goldbench review report` says what became of it.
    """
    from goldbench.grade.graded_folder import How

    people = None
    if again:
        from goldbench.review.people import grades_of_people

        people = grades_of_people(folder, ledger)

    decisions = decisions_kept(folder, ledger, strict=not replace)
    how = How(
        tuple(run or ()),
        replay=replay,
        batch=batch,
        replace=replace,
        force=force,
        feedback=feedback,
        decisions=decisions,
        people=people,
    )
    _go(folder, settings, answers, how, dry_run=dry_run)


@takes("grade.judges", "grade.panel", "grade.canaries", "grade.passages_per_call", "model")
def topup(
    folder: Folder,
    settings: Config,
    run: Annotated[list[str], input_option("--run", metavar="NAME=FILE", help="Run with unjudged results.")],
    depth: Annotated[
        int | None, judging_option(metavar="N", min=1, help="Results of the run to judge (default: as the pool's).")
    ] = None,
    ledger: LedgerOption = None,
    answers: Answers = None,
    force: Force = False,
    replay: Replay = False,
    batch: Batch = False,
    dry_run: DryRun = False,
) -> None:
    """Grade the unjudged results of a new run.

    The labels of the set are written again with the new grades.
    """
    from goldbench.grade.graded_folder import How

    decisions = decisions_kept(folder, ledger)
    how = How(tuple(run), replay=replay, batch=batch, again=True, depth=depth, force=force, decisions=decisions)
    _go(folder, settings, answers, how, dry_run=dry_run)


def _go(folder: Path, config: Config, answers: Path | None, how: How, *, dry_run: bool) -> None:
    from goldbench.cli.event_loop import run
    from goldbench.generate.writers import check_replay
    from goldbench.grade.graded_folder import grade_as, plan_as
    from goldbench.report.terminal import TerminalProgress

    check_replay(replay=how.replay, batch=how.batch, dry_run=dry_run)
    store = answers or answers_beside(folder)
    progress = TerminalProgress(progress_console())
    if dry_run:
        _show_plan(run(plan_as(how, folder, config, store, progress=progress)))
        return
    graded = run(grade_as(how, folder, config, store, progress=progress, say=screen.note))
    show(graded)
    if (problem := graded.problem(folder)) is not None:
        raise problem
    screen.show("", f"Graded labels in {folder / DATASET} (also {folder / BEIR}, {folder / TREC})")
    screen.explain(f"Next: goldbench validate {shlex.quote(str(folder))}")
    if not graded.complete:
        raise typer.Exit(DONE_IN_PART)


def _show_plan(planned: PlannedGrading) -> None:
    from goldbench.report.build_text import plan_rows
    from goldbench.report.grading_text import plan_notes

    screen.table(plan_rows(planned.stages))
    screen.add(plan=[asdict(one) for one in planned.stages])
    screen.show(*plan_notes(planned.stages, queries=planned.queries, model=planned.model, doubtful=planned.doubtful))


def show(graded: Graded, *, accounts: bool = True) -> None:
    """Print the result of a grading.

    Args:
        graded: The result.
        accounts: Also print the cost per stage; False where the build printed it already.
    """
    from goldbench.report.build_text import spending
    from goldbench.report.grading_text import cost_per_query, graded_lines, grading_warnings

    usage, grading = graded.usage, graded.record.grading
    screen.add(
        grading=None if grading is None else grading.model_dump(mode="json"),
        usage={stage: spent.model_dump(mode="json") for stage, spent in usage.items()},
        complete=graded.complete,
    )
    screen.show(*graded_lines(graded.record), *(spending(usage) if accounts else ()))
    queries = next(report.read for report in graded.record.stages if report.stage == "judge-check")
    screen.show(cost_per_query(usage, max(1, queries)))
    screen.note(*grading_warnings(graded.record, graded.failures, graded.limit), style="yellow")
