"""A gold set graded for a caller, as ``goldbench grade`` does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldbench.api.cost_plan import CostPlan
from goldbench.api.keywords import in_python, path_of
from goldbench.api.loop_thread import run_apart
from goldbench.api.shown_progress import progress_for
from goldbench.api.temporary_folder import temporary_folder
from goldbench.errors import InputError, UsageError
from goldbench.generate.writers import check_replay
from goldbench.goldset.file_names import answers_beside
from goldbench.goldset.folder import GoldFolder
from goldbench.grade.graded_folder import How, grade_as, plan_as
from goldbench.measures.evaluation import evaluate
from goldbench.measures.ranks.frame_kinds import library_of
from goldbench.report.grading_text import graded_lines, grading_warnings, plan_notes
from goldbench.text.display import shown

if TYPE_CHECKING:
    from goldbench.config import Config
    from goldbench.grade.session import Graded
    from goldbench.review.kept_decisions import KeptDecisions


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeOrder:
    """What is to be graded, and how; see ``GoldSet.grade``."""

    folder: Path
    qrels: Mapping[str, Mapping[str, int]]
    config: Config
    runs: Mapping[str, Any]
    answers: Path | None
    again: bool
    replace: bool
    force: bool
    replay: bool
    batch: bool

    @property
    def store(self) -> Path:
        """The store of answers."""
        return self.answers or answers_beside(self.folder)


def graded(order: GradeOrder, *, progress: bool) -> tuple[tuple[str, ...], bool]:
    """Grade the set and return what a reader of it must know, and whether every pair is judged.

    Args:
        order: What is graded.
        progress: Whether the progress is shown.

    Raises:
        NothingKept: The set stays as it was.
    """
    check_replay(replay=order.replay, batch=order.batch, dry_run=False)
    with _how(order) as how:
        found = run_apart(
            lambda shown: grade_as(how, order.folder, order.config, order.store, progress=shown, say=shown.note),
            progress_for(shown=progress),
        )
    if (problem := found.problem(order.folder)) is not None:
        raise problem
    return tuple(remarks_of(found)), found.complete


def planned(order: GradeOrder, *, progress: bool) -> CostPlan:
    """Return what the grading would send.

    Args:
        order: What would be graded.
        progress: Whether the progress is shown.
    """
    check_replay(replay=order.replay, batch=order.batch, dry_run=True)
    with _how(order) as how:
        found = run_apart(
            lambda shown: plan_as(how, order.folder, order.config, order.store, progress=shown),
            progress_for(shown=progress),
        )
    notes = plan_notes(found.stages, queries=found.queries, model=found.model, doubtful=found.doubtful)
    return CostPlan(found.stages, list(notes))


def remarks_of(found: Graded) -> Iterator[str]:
    """Yield what a reader of a graded set must know."""
    yield from graded_lines(found.record)
    warnings = grading_warnings(found.record, found.failures, found.limit)
    yield from map(in_python, warnings)


@contextlib.contextmanager
def _how(order: GradeOrder) -> Iterator[How]:
    """Yield how the set is graded; runs in memory lie in files until the end of the block."""
    with temporary_folder(None) as place:
        runs = [
            f"{name}={_file_of(run, f'runs: {shown(str(name))}', order, place.folder.parent / str(number))}"
            for number, (name, run) in enumerate(_named(order.runs))
        ]
        yield How(
            tuple(runs),
            replay=order.replay,
            batch=order.batch,
            replace=order.replace,
            force=order.force,
            decisions=decisions_of(order.folder, strict=not order.replace),
            people=_people_of(order.folder) if order.again else None,
        )


def _people_of(folder: Path) -> Mapping[str, Mapping[str, int]]:
    from goldbench.review.people import grades_of_people  # needs an extra

    return grades_of_people(folder)


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


def _file_of(run: Any, name: str, order: GradeOrder, place: Path) -> Path:  # noqa: ANN401  recognised by its type
    """Return the file of a run; a run in memory is checked and written to ``place``."""
    import json

    if isinstance(run, str | PathLike):
        return path_of(run, "runs")
    if library_of(run) is None and not isinstance(run, Mapping):
        raise UsageError(
            f"not a valid run: {type(run).__name__}; give a file, a frame, or {{query: {{passage: score}}}}",
            parameter="runs",
        )
    try:
        evaluate(order.qrels, run, "hit")
    except InputError as error:
        raise InputError(name, error.problem) from None
    if library_of(run) is not None:
        path = place.with_suffix(".csv")
        run.to_csv(path, index=False) if library_of(run) == "pandas" else run.write_csv(path)
        return path
    wrong = next((doc_id for found in run.values() for doc_id in found if not isinstance(doc_id, str)), None)
    if wrong is not None:
        raise InputError(
            name, f"a document id is of type {type(wrong).__name__}; ids are strings, convert them with str()"
        )
    path = place.with_suffix(".json")
    path.write_text(json.dumps(dict(run), default=_plain), encoding="utf-8")
    return path


def _plain(value: Any) -> object:  # noqa: ANN401  what JSON does not know
    """Return another mapping as a dict, and another number as a float."""
    return dict(value) if isinstance(value, Mapping) else float(value)
