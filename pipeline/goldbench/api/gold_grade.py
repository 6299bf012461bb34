"""A gold set graded for a caller, as ``goldbench grade`` does."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldbench.api.cost_plan import CostPlan
from goldbench.api.keywords import in_python, path_of
from goldbench.api.loop_thread import run_apart
from goldbench.api.temporary_folder import temporary_folder
from goldbench.config import Config
from goldbench.errors import InputError, UsageError
from goldbench.generate.writers import check_replay
from goldbench.goldset.folder import GoldFolder
from goldbench.grade.session import GradingRequest, GradingResult, preview_grading, run_grading
from goldbench.measures.evaluation import evaluate, results_of
from goldbench.measures.ranks.columns import library_of
from goldbench.report.grading_text import graded_lines, grading_warnings, plan_notes
from goldbench.report.terminal import on_standard_error
from goldbench.text.display import shown

if TYPE_CHECKING:
    from goldbench.review.kept_decisions import KeptDecisions

    Judgments = Mapping[str, Mapping[str, int]]


@contextlib.contextmanager
def how_to_grade(
    folder: Path,
    qrels: Judgments,
    runs: Mapping[str, Any],
    *,
    again: bool,
    **options: Any,  # noqa: ANN401
) -> Iterator[GradingRequest]:
    """Yield how a set is graded; runs in memory lie in files until the end of the block.

    Args:
        folder: The folder of the set.
        qrels: Its judgments.
        runs: Runs by name: files, frames or mappings.
        again: Whether only pairs are asked about that people judged otherwise.
        options: The other fields of `GradingRequest`: ``replace``, ``force``, ``replay``, ``batch``.
    """
    people = None
    if again:
        from goldbench.review.people import grades_of_people  # needs an extra

        people = grades_of_people(folder)
    with temporary_folder(None) as place:
        files = [
            f"{name}={_file_of(run, f'runs: {shown(str(name))}', qrels, place.folder.parent / str(number))}"
            for number, (name, run) in enumerate(_named(runs))
        ]
        decisions = decisions_of(folder, strict=not options["replace"])
        yield GradingRequest(runs=tuple(files), decisions=decisions, people=people, **options)


def grade_set(how: GradingRequest, folder: Path, config: Config, store: Path, *, progress: bool) -> GradingResult:
    """Grade a set and return the result.

    Args:
        how: How it is graded.
        folder: Its folder.
        config: The configuration.
        store: The store of answers.
        progress: Whether the progress is shown.

    Raises:
        NothingKept: The set stays as it was.
    """
    check_replay(replay=how.replay, batch=how.batch, dry_run=False)
    graded = run_apart(
        lambda watched: run_grading(how, folder, config, store, progress=watched, say=watched.note),
        on_standard_error(quiet=not progress),
    )
    if (problem := graded.problem(folder)) is not None:
        raise problem
    return graded


def plan_grading(how: GradingRequest, folder: Path, config: Config, store: Path, *, progress: bool) -> CostPlan:
    """Return what a grading would send; see `grade_set` for the parameters."""
    check_replay(replay=how.replay, batch=how.batch, dry_run=True)
    plan = run_apart(
        lambda watched: preview_grading(how, folder, config, store, progress=watched),
        on_standard_error(quiet=not progress),
    )
    return CostPlan(
        plan.stages, list(plan_notes(plan.stages, queries=plan.queries, model=plan.model, doubtful=plan.doubtful))
    )


def remarks_of(grading_result: GradingResult) -> Iterator[str]:
    """Yield what a reader of a graded set must know."""
    yield from graded_lines(grading_result.record)
    warnings = grading_warnings(grading_result.record, grading_result.failures, grading_result.limit)
    yield from map(in_python, warnings)


def decisions_of(folder: Path, *, strict: bool = True) -> KeptDecisions | None:
    """Return the decisions applied to the set in a folder, None if there are none; the extra is asked for only then.

    Args:
        folder: The folder, which need not exist.
        strict: As in ``kept_decisions``.

    Raises:
        OutputError: As ``kept_decisions``.
    """
    if not GoldFolder(folder).has_reviews_applied():
        return None
    from goldbench.review.kept_decisions import kept_decisions

    return kept_decisions(folder, strict=strict)


def _named(runs: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for name in runs:
        if not isinstance(name, str) or not name or "=" in name or not name.isprintable():
            raise UsageError(
                f"not a valid name: {shown(repr(name))}; names are printable strings without =", parameter="runs"
            )
    return runs.items()


def _file_of(run: Any, name: str, qrels: Judgments, stem: Path) -> Path:  # noqa: ANN401  recognised by its type
    """Return the file of a run; a run in memory is checked and written to ``stem``.json."""
    if isinstance(run, str | PathLike):
        return path_of(run, "runs")
    if library_of(run) is None and not isinstance(run, Mapping):
        raise UsageError(
            f"not a valid run: {type(run).__name__}; give a file, a frame, or {{query: {{passage: score}}}}",
            parameter="runs",
        )
    try:
        results = results_of(run)
        evaluate(qrels, results, "hit")
    except InputError as error:
        raise InputError(name, error.problem) from None
    wrong = next((doc_id for scores in results.values() for doc_id in scores if not isinstance(doc_id, str)), None)
    if wrong is not None:
        raise InputError(
            name, f"a document id is of type {type(wrong).__name__}; ids are strings, convert them with str()"
        )
    path = stem.with_suffix(".json")
    path.write_text(json.dumps(results, default=float), encoding="utf-8")
    return path
