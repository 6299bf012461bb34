"""``goldbench grade``, ``topup`` and ``feedback``: a model grades passages from 0 to 3; users' clicks are counted."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldbench.cli import options
from goldbench.cli.decisions import decisions_kept
from goldbench.cli.output import screen
from goldbench.cli.process import run as run_work
from goldbench.errors import DONE_IN_PART, InputError, OutputError, UsageError
from goldbench.goldset.file_names import BEIR, DATASET, TREC, answers_beside

if TYPE_CHECKING:
    from goldbench.config import Config
    from goldbench.formats.feedback_files import Vote
    from goldbench.grade.session import GradingRequest, GradingResult

Force = Annotated[bool, options.Judging("--force", help="Use the grades of a judge that fails the judge checks.")]

SHOWN = 20
"""Most rows without a match that are named on the screen."""


@options.takes("grade", "model", "machines")
def grade(
    folder: options.Folder,
    settings: Config,
    run: Annotated[
        list[str] | None, options.Input(metavar="NAME=FILE", help="Also judge the results of this run.")
    ] = None,
    feedback: Annotated[Path | None, options.Input(help="Clicks and votes: passages to judge first.")] = None,
    ledger: options.LedgerOption = None,
    answers: options.Answers = None,
    again: Annotated[
        bool, options.Judging("--again", help="Ask only about pairs that people judged otherwise.")
    ] = False,
    replace: Annotated[bool, options.Output("--replace", help="Replace the grades of another judge.")] = False,
    force: Force = False,
    replay: options.Replay = False,
    batch: options.Batch = False,
    dry_run: options.DryRun = False,
) -> None:
    """Grade a pool of passages for every query.

    A model grades the results of several retrievers from 0 to 3. Graded labels replace the labels of the set. What
    users clicked or voted on (the file of goldbench feedback) is judged, too, but never taken for a label.

    After an edit of rubric.md, --again asks with the new text about the pairs that people call relevant and the judge
    does not, or the other way round, and about nothing else; `goldbench review report` says what became of it.

    Example: goldbench grade runs/mine --model qwen3
    """
    from goldbench.grade.session import GradingRequest

    people = None
    if again:
        from goldbench.review.people import grades_of_people  # needs an extra

        people = grades_of_people(folder, ledger)
    how = GradingRequest(
        runs=tuple(run or ()),
        replay=replay,
        batch=batch,
        replace=replace,
        force=force,
        feedback=feedback,
        decisions=decisions_kept(folder, ledger, strict=not replace),
        people=people,
    )
    _grade(folder, settings, answers, how, dry_run=dry_run)


@options.takes("grade.judges", "grade.panel", "grade.canaries", "model")
def topup(
    folder: options.Folder,
    settings: Config,
    run: Annotated[list[str], options.Input(metavar="NAME=FILE", help="Run with unjudged results.")],
    depth: Annotated[
        int | None, options.Judging(min=1, help="Results of the run to judge (default: as the pool's).")
    ] = None,
    ledger: options.LedgerOption = None,
    answers: options.Answers = None,
    force: Force = False,
    replay: options.Replay = False,
    batch: options.Batch = False,
    dry_run: options.DryRun = False,
) -> None:
    """Grade the unjudged results of a new run.

    The labels of the set are written again with the new grades.

    Example: goldbench topup runs/mine --run new=new.trec
    """
    from goldbench.grade.session import GradingRequest

    decisions = decisions_kept(folder, ledger)
    how = GradingRequest(
        tuple(run), replay=replay, batch=batch, again=True, depth=depth, force=force, decisions=decisions
    )
    _grade(folder, settings, answers, how, dry_run=dry_run)


def _grade(folder: Path, config: Config, answers: Path | None, how: GradingRequest, *, dry_run: bool) -> None:
    from goldbench.generate.writers import check_replay
    from goldbench.grade.session import preview_grading, run_grading
    from goldbench.report.build_text import plan_rows
    from goldbench.report.grading_text import plan_notes

    check_replay(replay=how.replay, batch=how.batch, dry_run=dry_run)
    store = answers or answers_beside(folder)
    progress = screen.progress()
    if dry_run:
        plan = run_work(preview_grading(how, folder, config, store, progress=progress))
        screen.table(plan_rows(plan.stages))
        screen.add(plan=[asdict(stage) for stage in plan.stages])
        screen.show(*plan_notes(plan.stages, queries=plan.queries, model=plan.model, doubtful=plan.doubtful))
        return
    graded = run_work(run_grading(how, folder, config, store, progress=progress, say=screen.note))
    show_grading(graded)
    if (problem := graded.problem(folder)) is not None:
        raise problem
    screen.show("", f"Graded labels in {folder / DATASET} (also {folder / BEIR}, {folder / TREC})")
    screen.explain(f"Next: goldbench validate {shlex.quote(str(folder))}")
    if not graded.complete:
        raise typer.Exit(DONE_IN_PART)


def show_grading(graded: GradingResult, *, accounts: bool = True) -> None:
    """Print the result of a grading.

    Args:
        graded: The result.
        accounts: Also print the cost per stage; False where the build printed it already.
    """
    from goldbench.report.build_text import spending
    from goldbench.report.grading_text import cost_per_query, graded_lines, grading_warnings

    usage = graded.usage
    grading = graded.record.grading
    screen.add(
        grading=None if grading is None else grading.model_dump(mode="json"),
        usage={stage: spent.model_dump(mode="json") for stage, spent in usage.items()},
        complete=graded.complete,
    )
    screen.show(*graded_lines(graded.record), *(spending(usage) if accounts else ()))
    queries = next(report.read for report in graded.record.stages if report.stage == "judge-check")
    screen.show(cost_per_query(usage, max(1, queries)))
    screen.note(*grading_warnings(graded.record, graded.failures, graded.limit), style="yellow")


def feedback(
    gold: options.SearchedGold,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Rows of query, chunk_id, +1 or -1, or UBI events.")],
    out: Annotated[Path, options.Output(help="Output file, as feedback.jsonl.")],
    searches: Annotated[str | None, options.Input(help="UBI searches of the events (default: in FILE).")] = None,
) -> None:
    """Count users' clicks and thumbs per passage.

    The counts go into a file of their own and never change the judgments. FILE may be an export of OpenSearch's User
    Behavior Insights (ubi_events), whose object_id is the id of a passage of the set.

    Example: goldbench feedback runs/mine clicks.csv --out feedback.jsonl
    """
    from goldbench.errors import explained
    from goldbench.formats.feedback_files import clicks_in, gather, read_votes
    from goldbench.formats.jsonl import write_lines
    from goldbench.formats.packed_files import Source
    from goldbench.goldset.folder import GoldFolder
    from goldbench.score.runs import load_gold

    _check_target(out, gold, file)
    loaded = load_gold(gold)
    waiting = {query.query_id: query.text for query in GoldFolder(Path(gold)).waiting()}
    queries = loaded.queries() | waiting
    corpus = loaded.corpus()
    if not queries or not corpus:
        raise InputError(gold, "holds no texts of queries and passages to match; name the folder of a build")
    source = Source(file)
    clicks = clicks_in(source, None if searches is None else Source(searches))
    if clicks is None and searches is not None:
        raise UsageError(f"--searches {searches}: {file} holds no events of User Behavior Insights")
    votes = gather(clicks.votes() if clicks else read_votes(source), queries, corpus)
    if clicks is not None:
        _note_counts(clicks.passed_over, unmatched=len(votes.unmatched))
    if not votes.rows:
        raise InputError(file, "holds no feedback; give rows of query, chunk_id and vote")
    _name_rows("whose query is not in the gold set", () if clicks else votes.unmatched, by_query=True)
    _name_rows("whose passage is not in the gold set", votes.unknown, by_query=False)
    if not votes.feedback:
        raise InputError(file, f"no row is about a query and a passage of {gold}; nothing was written")
    with explained(out.parent):
        out.parent.mkdir(parents=True, exist_ok=True)
        write_lines(out, votes.feedback)
    matched = votes.rows - len(votes.unmatched) - len(votes.unknown)
    screen.add(
        rows=votes.rows,
        kept=matched,
        unmatched=len(votes.unmatched),
        unknown=len(votes.unknown),
        pairs=len(votes.feedback),
        written=str(out),
    )
    screen.show(f"{matched:,} of {votes.rows:,} rows kept, query-passage pairs in {out}: {len(votes.feedback):,}")


def _check_target(out: Path, gold: str, file: str) -> None:
    from goldbench.formats.jsonl import RecordFile
    from goldbench.records.judgment import Feedback

    if out.resolve() == Path(file).resolve():
        raise UsageError(f"{out}: is the input file; give another --out")
    if out.exists():
        try:
            for _ in RecordFile.open(out, Feedback):
                pass
        except (InputError, OSError):
            raise OutputError(f"{out}: exists and holds no feedback; give another --out") from None
    if Path(gold).is_dir() and out.resolve().parent == Path(gold).resolve() and out.suffix != ".jsonl":
        raise UsageError(f"--out {out}: in the folder of a gold set, give feedback.jsonl")


def _note_counts(passed_over: Mapping[str, int], *, unmatched: int) -> None:
    """Print how many events are no feedback on the set; what users asked is not printed."""
    counts = {
        "events for or against no result (views, impressions and other actions)": passed_over["other-action"],
        "events that name no search or no result": passed_over["no-result"],
        "events of a search that is not in the export": passed_over["no-search"],
        "repeated events of one search on one result": passed_over["again"],
        "clicks and votes on queries that are not in the gold set": unmatched,
    }
    screen.note(*(f"{what}: {count:,}" for what, count in counts.items() if count))


def _name_rows(what: str, votes: Sequence[Vote], *, by_query: bool) -> None:
    """Print the rows that match no query or no passage of the set."""
    from goldbench.text.display import amount, printable

    if votes:
        screen.note(f"{amount(len(votes), 'row')} {what}:")
    texts = (f"  line {vote.line}: {printable(vote.query if by_query else vote.chunk_id)[:200]}" for vote in votes)
    screen.note_first(texts, most=SHOWN, rest="more")
