"""A build as it is ordered: with or without grading, carried out or only planned."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from goldbench.config import Config
from goldbench.errors import InputError
from goldbench.formats.documents.sources import SourceFiles
from goldbench.generate import flow
from goldbench.generate.steps import UP_TO
from goldbench.generate.writers import ModelWriter, OfflineWriter, writer_for
from goldbench.goldset.folder import Draft, GoldFolder, ReplacePolicy
from goldbench.llm.server_settings import Model
from goldbench.ports import Progress
from goldbench.prompts.rubric import DEFAULT, Rubric
from goldbench.records.manifest import Manifest
from goldbench.report.build_text import passed_over
from goldbench.systems.destinations import destinations, text_line
from goldbench.text.display import shell_command

if TYPE_CHECKING:
    from goldbench.generate.drawn_queries import DrawnQueries
    from goldbench.generate.renewal import Renewal
    from goldbench.grade.pool import Pools
    from goldbench.grade.session import GradingResult
    from goldbench.llm.rehearsal import PlannedStage


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOrder:
    """What is to be built, from what, and where.

    Args:
        config: The configuration.
        sources: The documents.
        out: The run folder.
        answers: The store of answers.
        replace: Whether a set of other documents or with other settings may be replaced.
        replay: Whether every answer comes from the store.
        batch: Whether requests are sent in batches.
        grade: Whether the set is also graded.
        paths: The paths of the documents as they were given; empty for documents in memory.
        refresh: Whether the set in the folder is made again.
        decisions: What puts people's decisions about the set in the folder into the new one, or None.
    """

    config: Config
    sources: SourceFiles
    out: Path
    answers: Path
    replace: bool = False
    replay: bool = False
    batch: bool = False
    grade: bool = False
    paths: Sequence[str] = ()
    refresh: bool = False
    decisions: flow.Finish | None = None


@dataclass(frozen=True, slots=True)
class BuildResult:
    """A finished build: its configuration with every value filled in, its result, and its grading, if it was graded."""

    config: Config
    result: flow.FinishedBuild
    graded: GradingResult | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing failed, no cap was reached, and the target is met."""
        return self.result.complete and (self.graded is None or self.graded.complete)


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """What a build would send: requests by stage, and the chunks drawn; no requests if it needs no model.

    ``announcement`` tells who would write the queries, ``grading`` about what the grading would take, ``renewal`` what
    would be kept of the set in the folder.
    """

    config: Config
    announcement: str
    stages: Sequence[PlannedStage] = ()
    drawn: DrawnQueries | None = None
    grading: str | None = None
    renewal: Renewal | None = None


def renewable_paths(home: GoldFolder, paths: Sequence[str]) -> list[str]:
    """Return the documents to read again for a set: the given ones, else those of its last build.

    Args:
        home: The folder of the set.
        paths: The given ones.

    Raises:
        InputError: The set cannot be refreshed, or it does not tell its documents.
    """
    from goldbench.generate.renewal import check_renewable

    document_paths = list(paths) or check_renewable(home).paths
    check_renewable(home)
    if not document_paths:
        raise InputError(
            home.path, f"does not tell where its documents lie; name them: {shell_command('refresh', 'DIR', 'PATH')}"
        )
    return document_paths


def renewed_settings(
    home: GoldFolder, given: Mapping[str, Any], options: Mapping[str, Any], *, asks: bool
) -> dict[str, Any]:
    """Return the tables with which a set is made again: its own, in which those of the model and machines may change.

    Another model takes the place of the recorded one with its digest and server, another server that of the server.

    Args:
        home: The folder of the set.
        given: The tables of a ``goldbench.toml``; of all other tables nothing is taken.
        options: The values of ``[model]`` that stand above both; None stands for one that is not given.
        asks: Whether a model may be asked.

    Raises:
        UsageError: The set was written at a server, and neither it nor anybody else names one. The key alone does not
            make OpenAI the server of a model that was asked elsewhere.
    """
    settings = home.settings()
    recorded = dict(settings.get("model", {}))
    stated = {key: value for key, value in {**given.get("model", {}), **options}.items() if value is not None}
    server = stated.get("base_url") or os.environ.get("OPENAI_BASE_URL")
    if "name" in stated:
        recorded = {key: value for key, value in recorded.items() if key not in {"name", "digest", "base_url"}}
    elif server:
        recorded.pop("base_url", None)
    elif asks and "name" in recorded and not {"digest", "base_url"} & recorded.keys():
        Model(name=recorded["name"], api_key_env="").check_server()
    tables = {"model": recorded, "machines": settings.get("machines", {})}
    return settings | {name: {**table, **given.get(name, {})} for name, table in tables.items()}


def _policy(order: BuildOrder, writer: OfflineWriter | ModelWriter) -> ReplacePolicy:
    replace = order.replace or order.refresh
    return flow.replace_policy(writer, replace=replace, graded=order.grade, reviewed=order.decisions is not None)


async def carry_out(order: BuildOrder, *, progress: Progress, say: Callable[[str], None]) -> BuildResult:
    """Build the set, grade it if ordered, and put it in place.

    Args:
        order: What is to be built.
        progress: Shows how far the work is.
        say: Takes a line that stays on the screen.

    Raises:
        InputError: Nothing could be read, or (strict) one document could not.
        OutputError: The output folder holds something else, or cannot be written.
        UsageError: No model is named, or no server; or the engine cannot be used here.
        MissingExtra: The engine is not installed.
        ModelUnavailable: The model's server cannot be used; the answers so far are in the store.
    """
    order.config.machines.check_available()
    writer = await writer_for(order.config, order.answers, replay=order.replay, earlier=_earlier(order))
    GoldFolder(order.out).check_usable(_policy(order, writer))
    if isinstance(writer, ModelWriter):
        writer.say = say
        writer.rubric = GoldFolder(order.out).rubric()
        writer.batches = say if order.batch else None
    work = functools.partial(
        flow.build,
        writer,
        order.sources,
        order.out,
        progress=progress,
        replace=order.replace,
        decisions=order.decisions,
        refresh=order.refresh,
        paths=order.paths,
    )
    chat = isinstance(writer, ModelWriter)
    async with opened_grading(order, writer.config, chat=chat, progress=progress, say=say) as grading:
        say(writer.announcement)
        for line in passed_over(order.sources.ignored, order.sources.repeated):
            say(line)
        result = await work(finish=grading.finish if order.grade else None)
    return BuildResult(result.config, result, grading.result)


@dataclass(slots=True)
class GradingOfBuild:
    """The grading of a set that is being built; the caps hold for building and grading together."""

    order: BuildOrder
    config: Config
    pools: Pools | None
    progress: Progress
    say: Callable[[str], None]
    rubric: Rubric = DEFAULT
    started: float = field(default_factory=time.monotonic)
    result: GradingResult | None = None

    async def finish(self, draft: Draft, manifest: Manifest) -> Manifest:
        """Grade the set in a draft, and return its manifest."""
        from goldbench.grade.panel import ModelPanel
        from goldbench.grade.pool import carried_feedback, carried_rankings
        from goldbench.grade.session import Work, grade_place

        assert self.pools is not None
        order = self.order
        home = GoldFolder(self.order.out)
        pools = dataclasses.replace(self.pools, carried=carried_rankings(home), carried_feedback=carried_feedback(home))
        panel = ModelPanel(
            _later(self.config, (time.monotonic() - self.started) / 60),
            order.answers,
            replay=order.replay,
            batches=self.say if order.batch else None,
            say=self.say,
            rubric=self.rubric,
        )
        work = Work(panel=panel, pools=pools, progress=self.progress, say=self.say, spent=manifest.usage)
        self.result = await grade_place(draft, manifest, work)
        return self.result.manifest


@contextlib.asynccontextmanager
async def opened_grading(
    order: BuildOrder, config: Config, *, chat: bool, progress: Progress, say: Callable[[str], None]
) -> AsyncIterator[GradingOfBuild]:
    """Say where texts go, and open the grading of a set that is being built, if it is ordered.

    Args:
        order: What is built.
        config: Its configuration.
        chat: Whether a model writes the queries.
        progress: Shows how far the work is.
        say: Takes a line that stays on the screen.

    Raises:
        UsageError: There is no model that judges, or it cannot judge in batches.
    """
    if not order.grade:
        say(text_line(destinations(config, chat=chat, replay=order.replay)))
        yield GradingOfBuild(order, config, None, progress, say)
        return
    from goldbench.grade.panel import destinations_of_judging, judging  # with it comes the path to a model
    from goldbench.grade.pool import open_pools
    from goldbench.grade.session import check_method

    config = await judging(config, asks=not order.replay, replay=order.replay)
    say(text_line(destinations_of_judging(config, replay=order.replay)))
    check_method(config, batch=order.batch)
    rubric = GoldFolder(order.out).rubric()  # a damaged one ends the build before it begins
    with open_pools(config, order.answers, replay=order.replay) as pools:
        yield GradingOfBuild(order, config, pools, progress, say, rubric=rubric)


def _later(config: Config, minutes: float) -> Config:
    """Return the configuration with a deadline that is this many minutes shorter."""
    if config.model.deadline_minutes is None:
        return config
    left = max(1e-6, config.model.deadline_minutes - minutes)
    return config.model_copy(update={"model": config.model.model_copy(update={"deadline_minutes": left})})


def expected(config: Config, queries: int) -> str:
    """Return a line on about what grading takes, before there are queries to pool chunks for."""
    depth = config.grade.depth
    calls = queries * (2 * depth + 2) * (1 + config.grade.canaries)
    return (
        f"grading: about {calls:,.0f} requests for {queries:,} queries, {calls / queries:.0f} a query, plus "
        "about 50 % for pairs in doubt; once the set is built, a dry run of its grading counts them exactly"
    )


def _earlier(order: BuildOrder) -> dict[str, Any]:
    """Return the settings of the set in the output folder; empty if it holds none that can be read."""
    try:
        return GoldFolder(order.out).settings()
    except InputError:
        return {}


async def plan(order: BuildOrder, *, progress: Progress) -> BuildPlan:
    """Return what the build would send; send nothing and leave the folder as it is.

    Args:
        order: What would be built.
        progress: Shows how far the reading of the documents is.

    Raises:
        InputError: Nothing could be read, or (strict) one document could not.
        OutputError: The output folder holds something else.
        UsageError: No model is named, or no server; or the engine cannot be used here.
        MissingExtra: The engine is not installed.
    """
    order.config.machines.check_available()
    writer = await writer_for(order.config, order.answers, asks=False, earlier=_earlier(order))
    if order.grade:
        from goldbench.grade.panel import judging

        await judging(writer.config, asks=False)
    progress.note(text_line(destinations(writer.config)))
    if isinstance(writer, ModelWriter):
        progress.note(f"In the run: {text_line(destinations(writer.config, chat=True))}")
    folder = GoldFolder(order.out)
    folder.check_usable(_policy(order, writer))
    earlier = folder if order.refresh or (folder.is_finished() and not order.replace) else None
    grading = None
    if order.grade:
        grading = expected(writer.config, writer.config.generate.queries or UP_TO)
    if isinstance(writer, OfflineWriter) and earlier is None:
        return BuildPlan(writer.config, writer.announcement, grading=grading)
    with TemporaryDirectory(prefix="goldbench-") as temporary:
        steps = functools.partial(
            flow.plan,
            writer.config,
            order.sources,
            Path(temporary),
            progress=progress,
            folder=earlier,
            refresh=order.refresh,
        )
        if isinstance(writer, OfflineWriter):
            drawn, renewal = await steps(None)
            known = drawn if renewal is not None else None
            return BuildPlan(writer.config, writer.announcement, drawn=known, grading=grading, renewal=renewal)
        async with writer.rehearse() as (writing, planning):
            drawn, renewal = await steps(writing)
            stages = planning.report(batch=order.batch)
    return BuildPlan(writer.config, writer.announcement, stages, drawn, grading, renewal)
