"""A set in a folder, graded as a person asks for it, or only planned."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldbench.config import Config
from goldbench.goldset.folder import GoldFolder
from goldbench.grade.outcome import People
from goldbench.grade.panel import ModelPanel
from goldbench.grade.preparation import destinations_of_judging, judging, pools
from goldbench.grade.session import EXPECTED_RELEVANT, Decisions, GradingResult, Work, grade_folder, plan_folder
from goldbench.llm.rehearsal import PlannedStage
from goldbench.ports import Progress
from goldbench.systems.destinations import destinations, text_line


@dataclass(frozen=True, slots=True)
class How:
    """What shapes a grading and is not a setting of a table.

    Args:
        runs: The users' runs whose results are judged, too, as ``NAME=FILE`` or ``FILE``.
        replay: Whether every answer comes from the store.
        batch: Whether requests are sent in batches.
        replace: Whether the grades of another judge are replaced.
        force: Whether the grades of a judge that fails the judge checks are used.
        again: Whether an earlier pool stays, and only the runs are added.
        depth: Results of each run; None takes the number of the configuration.
        feedback: The file of users' clicks and votes whose passages are judged first, or None.
        decisions: People's decisions that were applied to the set, or None.
        people: People's grades if only pairs are asked about on which the judge is of another mind, or None.
    """

    runs: tuple[str, ...] = ()
    replay: bool = False
    batch: bool = False
    replace: bool = False
    force: bool = False
    again: bool = False
    depth: int | None = None
    feedback: Path | None = None
    decisions: Decisions | None = None
    people: People | None = None


@dataclass(frozen=True, slots=True)
class GradingPlan:
    """What a grading would send: by account, for how many queries, to which model.

    ``doubtful`` is the share of pairs that is expected to go to a second judge.
    """

    stages: Sequence[PlannedStage]
    queries: int
    model: str
    doubtful: float = EXPECTED_RELEVANT


async def grade_as(
    how: How, folder: Path, config: Config, answers: Path, *, progress: Progress, say: Callable[[str], None]
) -> GradingResult:
    """Grade the set in a folder; raises as `grade_folder`.

    Args:
        how: How it is graded.
        folder: The run folder.
        config: The configuration.
        answers: The store of answers.
        progress: Shows how far the work is.
        say: Takes a line that stays on the screen.

    Raises:
        UsageError: No model is named, or no server.
    """
    _check_folder(folder)
    config = await judging(config, asks=not how.replay, replay=how.replay)
    say(text_line(destinations_of_judging(config, replay=how.replay)))
    async with _opened(how, folder, config, answers, progress=progress, say=say) as work:
        return await grade_folder(folder, work)


async def plan_as(how: How, folder: Path, config: Config, answers: Path, *, progress: Progress) -> GradingPlan:
    """Return what grading the set in a folder would send; send and write nothing.

    Args:
        how: How it would be graded.
        folder: The run folder.
        config: The configuration.
        answers: The store of answers.
        progress: Shows how far the pooling is.

    Raises:
        InputError: The folder holds no finished set, or a damaged one.
        UsageError: No model is named, or no server.
    """
    _check_folder(folder)
    config = await judging(config, asks=False, replay=how.replay)
    progress.note(text_line(destinations(config)))
    async with _opened(how, folder, config, answers, progress=progress, dry_run=True) as work:
        stages, queries = await plan_folder(folder, work)
    return GradingPlan(stages, queries, config.model.name or "")


def _check_folder(folder: Path) -> None:
    """Refuse a folder without a finished set before anything is written to it.

    Raises:
        InputError: The folder holds no finished set.
    """
    home = GoldFolder(folder)
    if not home.is_half_published():
        home.manifest()


@contextlib.asynccontextmanager
async def _opened(
    how: How,
    folder: Path,
    config: Config,
    answers: Path,
    *,
    progress: Progress,
    say: Callable[[str], None] = lambda _: None,
    dry_run: bool = False,
) -> AsyncIterator[Work]:
    rubric = GoldFolder(folder).rubric()
    panel = ModelPanel(config, answers, replay=how.replay, batches=say if how.batch else None, say=say, rubric=rubric)
    opened = pools(
        config,
        answers,
        how.runs,
        replay=how.replay,
        again=how.again or how.people is not None,
        depth=how.depth,
        dry_run=dry_run,
        feedback=how.feedback,
    )
    with opened as chosen:
        yield Work(
            panel=panel,
            pools=chosen,
            progress=progress,
            say=say,
            replace=how.replace,
            force=how.force,
            decisions=how.decisions,
            people=how.people,
        )
