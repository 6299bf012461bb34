"""Stages of a build, in order: documents, chunks, selection, candidates, queries, gold set.

``STAGES`` is the table of contents and the program: a build and a dry run walk it with the same loop. There are no
checkpoints. What a stage writes is a function of what it reads and of the stored answers of the model, so running
again resumes, and running again with more documents adds to the set.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from goldbench.config import Config, PromptStyle
from goldbench.errors import InputError
from goldbench.formats.documents.sources import SourceFiles
from goldbench.generate.books import manifest_of
from goldbench.generate.drawn_queries import DrawnQueries
from goldbench.generate.steps import BuildRun, assemble, check, choose, chunk, generate, load
from goldbench.generate.writers import OpenWriter, SimulationStandIn
from goldbench.goldset.file_names import OWN
from goldbench.goldset.folder import Draft, GoldFolder, ReplacePolicy
from goldbench.ports import Progress, StoredRecords
from goldbench.records.corpus import Chunk
from goldbench.records.manifest import Manifest, StageReport, StageUsage

if TYPE_CHECKING:
    from goldbench.generate.renewal import Renewal


STAGES: dict[str, Callable[[BuildRun], Awaitable[StageReport]]] = {
    "load": load,
    "chunk": chunk,
    "select": choose,
    "generate": generate,
    "check": check,
    "assemble": assemble,
}


async def walk(run: BuildRun, *, until: str, after: str | None = None) -> None:
    """Do the stages of the table in order and keep their reports.

    Args:
        run: The run.
        until: The last stage.
        after: The stage before the first one, None to begin at the top.
    """
    names = list(STAGES)
    first = names.index(after) + 1 if after else 0
    for name in names[first : names.index(until) + 1]:
        run.reports.append(await STAGES[name](run))


class Writer(Protocol):
    """Writes queries once it is opened; see ``goldbench.generate.writers``."""

    @property
    def config(self) -> Config:
        """The configuration, with the values that had to be found out filled in."""

    @property
    def prompts(self) -> Mapping[str, str]:
        """The digest of every prompt in use, by its id."""

    def take_style(self, style: PromptStyle) -> None:
        """Ask in this prompt style from now on."""

    def open(self, chunks: StoredRecords[Chunk]) -> AbstractAsyncContextManager[OpenWriter]:
        """Open it for a corpus."""

    def usage(self) -> Mapping[str, StageUsage]:
        """Return what the calls cost, by stage."""


@dataclass(frozen=True, slots=True)
class FinishedBuild:
    """A finished run: its configuration and manifest, the cap that stopped it or None, whether the target was met.

    ``renewal`` tells what was kept of the set before, None if it was built from nothing. ``unreached`` counts the
    queries of which no needed passage is among the first results of the systems that measure difficulty.
    """

    config: Config
    manifest: Manifest
    limit: str | None
    target_met: bool
    renewal: Renewal | None = None
    unreached: int = 0

    @property
    def complete(self) -> bool:
        """Whether nothing failed, no cap was reached, and the target is met."""
        return self.target_met and self.limit is None and not self.manifest.failures


Finish = Callable[[Draft, Manifest], Awaitable[Manifest]]
"""Changes a set that is written but not put in place yet, and returns its manifest."""


async def build(  # noqa: PLR0913  every parameter is a choice of the caller
    writer: Writer,
    files: SourceFiles,
    out: Path,
    *,
    progress: Progress,
    replace: bool = False,
    finish: Finish | None = None,
    decisions: Finish | None = None,
    refresh: bool = False,
    paths: Sequence[str] = (),
) -> FinishedBuild:
    """Build a gold set from files and put it in place.

    If the folder holds a set with these settings whose documents changed, the queries that still stand are kept.

    Args:
        writer: Who writes the queries, and the configuration of the run.
        files: The files.
        out: The run folder.
        progress: Shows how far the run is.
        replace: Whether a run of other documents or with other settings may be replaced.
        finish: What else is done to the set before it is put in place: grading.
        decisions: Callback that re-applies review decisions to the new set, last of all.
        refresh: Rebuild even if the settings differ.
        paths: The paths of the documents as they were given.

    Raises:
        InputError: Nothing could be read, or (strict) one document could not; or the set cannot be refreshed.
        OutputError: The output folder cannot be written.
        ModelUnavailable: The model's server cannot be used; the answers so far are in the store.
    """
    config = writer.config
    folder = GoldFolder(out)
    from_scratch = replace and not refresh
    policy = replace_policy(
        writer, replace=replace or refresh, graded=finish is not None, reviewed=decisions is not None
    )

    with folder.replacing(policy, is_renewal=not from_scratch) as draft:
        run = BuildRun(
            config=config,
            sources=files,
            draft=draft,
            progress=progress,
            accept=(lambda _: None) if replace or refresh else folder.check_same_corpus,
            opened=writer.open,
            take_style=writer.take_style,
            grades_stay=finish is None,
        )
        await walk(run, until="chunk")
        run.renewal = None if from_scratch else renewal_of(folder, draft, refresh=refresh)
        await walk(run, after="chunk", until="generate")
        if run.renewal is None or finish is not None or not run.renewal.is_settled(run.drawn):
            await walk(run, after="generate", until="assemble")
            config = run.config
            draft.write_settings(config.shaping())
            manifest = manifest_of(run, writer.prompts, writer.usage()).model_copy(update={"paths": list(paths)})
            if run.renewal is not None:
                manifest = run.renewal.entered(manifest, run.drawn, run.draft, run.grades_stay)
            for change in (finish, decisions):
                manifest = manifest if change is None else await change(draft, manifest)
            draft.finish(manifest)
    for line in draft.set_aside:
        progress.note(line)
    return _result(run, config, folder.manifest())


def replace_policy(writer: Writer, *, replace: bool, graded: bool, reviewed: bool) -> ReplacePolicy:
    """Return what decides whether the set of a writer may take its folder."""
    settings = writer.config.shaping()
    fingerprint = writer.config.fingerprint(writer.prompts)
    return ReplacePolicy(settings, fingerprint, replace=replace, graded=graded, reviewed=reviewed)


def renewal_of(folder: GoldFolder, draft: Draft, *, refresh: bool) -> Renewal | None:
    """Return what is done with the set in a folder: nothing for a build whose documents are as they were.

    Args:
        folder: The folder.
        draft: The draft with the documents and chunks of today.

    Raises:
        InputError: The set cannot be refreshed.
    """
    if not refresh and not folder.is_finished():
        return None
    from goldbench.generate.renewal import Base, Renewal, check_renewable

    if refresh:
        return Renewal(Base.of(folder), check_renewable(folder), keeps_some=True)
    try:
        renewal = Renewal(Base.of(folder), check_renewable(folder))
    except InputError:
        return None
    return renewal if renewal.manifest.renewed is not None or not renewal.has_same_texts(draft) else None


def _result(run: BuildRun, config: Config, manifest: Manifest) -> FinishedBuild:
    drawn = run.drawn
    wanted = config.generate.queries
    written = sum(query.generator != OWN for query in (*drawn.queries, *drawn.unanswerable))
    met = written >= (run.target if wanted else 1)
    if wanted is not None:
        met = met and all(count.kept >= count.wanted for count in run.kinds.values())
    unreached = sum(
        drawn_query.difficulty is not None and not any(drawn_query.difficulty.ranks.values())
        for drawn_query in drawn.queries
    )
    return FinishedBuild(config, manifest, drawn.limit, met, run.renewal, unreached)


async def plan(
    config: Config,
    files: SourceFiles,
    path: Path,
    writer: OpenWriter | None,
    *,
    progress: Progress,
    folder: GoldFolder | None = None,
    refresh: bool = False,
) -> tuple[DrawnQueries, Renewal | None]:
    """Walk the stages of a build up to its last request, and return what is known of the queries.

    Args:
        config: The configuration of the run.
        files: The files.
        path: An empty folder for what is read and cut, to be thrown away.
        writer: Who answers from the store and counts what would be asked; see ``goldbench.llm.rehearsal``.
            None if the queries are simulated, of which nothing is drawn.
        progress: Shows how far the run is.
        folder: The folder with the set before, None if nothing of it is kept.
    """
    run = BuildRun(
        config=config,
        sources=files,
        draft=Draft(path),
        progress=progress,
        accept=folder.check_same_corpus if folder and not refresh else lambda _: None,
        opened=lambda _: contextlib.nullcontext(writer or OpenWriter(SimulationStandIn())),
    )
    await walk(run, until="chunk")
    run.renewal = renewal_of(folder, run.draft, refresh=refresh) if folder else None
    if writer is None and run.renewal is None:
        return DrawnQueries(), None
    await walk(run, after="chunk", until="generate")
    return run.drawn, run.renewal
