"""A gold set graded for a caller, as ``goldbench grade`` does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldbench.pipeline.api.cost_plan import CostPlan
from goldbench.pipeline.api.keywords import named_in_python, path_of
from goldbench.pipeline.api.loop_thread import run_apart
from goldbench.pipeline.api.shown_progress import progress_for
from goldbench.pipeline.errors import UsageError
from goldbench.pipeline.goldset.file_names import answers_beside
from goldbench.pipeline.grade.graded_folder import How, grade_as, plan_as
from goldbench.pipeline.grade.preparation import check_replay
from goldbench.pipeline.report.grading_text import graded_lines, grading_warnings, plan_notes

if TYPE_CHECKING:
    from goldbench.pipeline.config import Config
    from goldbench.pipeline.grade.session import Graded


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """What is to be graded, and how; see ``GoldSet.grade``."""

    folder: Path
    config: Config
    runs: Mapping[str, Any]
    answers: Path | None
    replace: bool
    replay: bool
    batch: bool

    @property
    def store(self) -> Path:
        """The store of answers."""
        return self.answers or answers_beside(self.folder)


def graded(order: Grade, *, progress: bool) -> tuple[tuple[str, ...], bool]:
    """Grade the set and return what a reader of it must know, and whether every pair is judged.

    Args:
        order: What is graded.
        progress: Whether the progress is shown.
    """
    check_replay(replay=order.replay, batch=order.batch, dry_run=False)
    with _how(order) as how:
        found = run_apart(
            lambda shown: grade_as(how, order.folder, order.config, order.store, progress=shown, say=shown.note),
            progress_for(shown=progress),
        )
    return tuple(remarks_of(found)), found.complete


def planned(order: Grade, *, progress: bool) -> CostPlan:
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
    yield from graded_lines(found.grading, found.manifest)
    warnings = grading_warnings(found.grading, found.failures, found.limit, queries=found.manifest.queries)
    yield from map(named_in_python, warnings)


@contextlib.contextmanager
def _how(order: Grade) -> Iterator[How]:
    """Yield how the set is graded; runs in memory lie in files until the end of the block."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="goldbench-") as folder:
        runs = tuple(
            f"{name}={_file_of(run, Path(folder) / str(number))}" for number, (name, run) in _named(order.runs)
        )
        yield How(runs, replay=order.replay, batch=order.batch, replace=order.replace)


def _named(runs: Mapping[str, Any]) -> Iterator[tuple[int, tuple[str, Any]]]:
    for name in runs:
        if not isinstance(name, str) or not name or "=" in name:
            raise UsageError(f"runs: not a valid name: {name!r}; names are strings without =")
    return enumerate(runs.items())


def _file_of(run: object, place: Path) -> Path:
    """Return the file of a run; a run in memory is written to ``place``."""
    import json

    if isinstance(run, str | PathLike):
        return path_of(run, "runs")
    if not isinstance(run, Mapping):
        raise UsageError(f"runs: not a valid run: {type(run).__name__}; give a file, or {{query: {{passage: score}}}}")
    path = place.with_suffix(".json")
    path.write_text(json.dumps(run), encoding="utf-8")
    return path
