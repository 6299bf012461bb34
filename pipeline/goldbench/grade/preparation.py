"""Open what a grading needs: the model that judges, the retrievers of the pool, the caps that are left."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from goldbench.config import Config
from goldbench.errors import InputError, Message, UsageError
from goldbench.formats.jsonl import RecordFile
from goldbench.generate.flow import Finish
from goldbench.generate.writers import model_not_named, only_model, with_local_models
from goldbench.goldset.folder import Draft, GoldFolder
from goldbench.grade.panel import ModelPanel
from goldbench.grade.pool import Pools, carried_feedback, carried_rankings
from goldbench.grade.session import GradingResult, Work, check_method, grade_place
from goldbench.ports import Progress, Retriever
from goldbench.records.judgment import Feedback
from goldbench.records.manifest import Manifest, StageUsage
from goldbench.retrieval.system_settings import BM25Settings, EmbeddingSettings, LSISettings, SystemSettings
from goldbench.score.runs import named_runs
from goldbench.systems import Systems, open_systems
from goldbench.systems.destinations import destinations
from goldbench.text.display import shell_command

NEEDS_A_MODEL = Message(
    "grading needs a model: give {model=} and {base_url=} (or set OPENAI_API_KEY or OPENAI_BASE_URL), "
    "or {model='local'}"
)


async def judging(config: Config, *, asks: bool = True, replay: bool = False) -> Config:
    """Return the configuration with the model that judges: the one named, or the only one its server offers.

    Args:
        config: The configuration.
        asks: Whether a server may be asked which models it offers.
        replay: Whether no server is needed.

    Raises:
        UsageError: There is no model, or it is not clear which.
        ModelUnavailable: The package with the bundled model is not installed.
        InputError: The file of a model cannot be read or is not a model.
    """
    model = config.model
    if model.name is None and model.server is None:
        raise UsageError(NEEDS_A_MODEL)
    if model.name is None and not asks:
        raise model_not_named(replay=replay)
    if not replay:
        model.check_server()
    if model.name is None:
        config = config.model_copy(update={"model": model.model_copy(update={"name": await only_model(config)})})
    config = with_local_models(config, runs=not replay)
    for judge in config.grade.judges:
        if config.model.file_of(judge) is None and not replay:
            config.model.model_copy(update={"name": judge, "digest": None}).check_server()
    return config


def destinations_of_judging(config: Config, *, replay: bool) -> list[str]:
    """Return the addresses of everything that a judging asks: each judge, and the embedding model of the pool."""
    systems = [EmbeddingSettings()] if config.model.embedding else []
    addresses = destinations(config, systems, chat=True, replay=replay)
    at_server = [judge for judge in config.grade.judges if config.model.file_of(judge) is None]
    if at_server and config.model.server and not replay:
        addresses.append(config.model.server)
    return addresses


@contextlib.contextmanager
def pools(
    config: Config,
    store: Path,
    runs: Sequence[str],
    *,
    replay: bool = False,
    again: bool = False,
    depth: int | None = None,
    dry_run: bool = False,
    feedback: Path | None = None,
) -> Iterator[Pools]:
    """Open what a pool is made of: retrievers of three families, the runs, and users' feedback.

    A dry run sends no request, so LSI stands in for the embedding model.

    Args:
        config: The configuration.
        store: The store of answers.
        runs: The users' runs, as ``NAME=FILE`` or ``FILE``.
        replay: Whether every answer comes from the store.
        dry_run: Whether no request may be sent.
        feedback: The file of ``goldbench feedback``, or None.

    Raises:
        InputError: A run or the feedback cannot be read.
        UsageError: Two runs have one name.
        RetrieverFailed: A retriever cannot be built.
    """
    config.machines.check_available()
    dense = "embedding" if config.model.embedding and not dry_run else "lsi"
    names = ("bm25", "ngrams", dense)
    named = named_runs(runs)
    used = {} if feedback is None else _feedback_in(feedback)
    opened: list[Systems] = []
    with contextlib.ExitStack() as stack:

        def build(language: str | None) -> dict[str, Retriever]:
            systems = open_systems(
                names,
                pool_settings(language),
                config=config,
                answers=store if dense == "embedding" else None,
                replay=replay,
                engine=config.machines.engine,
            )
            opened.append(stack.enter_context(systems))
            return {name: opened[-1].retriever(name) for name in names}

        def usage() -> dict[str, StageUsage]:
            return opened[-1].usage() if opened else {}

        yield Pools(names, build, named, again=again, depth=depth, feedback=used, usage=usage)


def _feedback_in(path: Path) -> dict[str, list[str]]:
    if not path.is_file():
        raise InputError(path, f"file not found; give the output of {shell_command('feedback')}")
    found: dict[str, list[str]] = {}
    try:
        for one in RecordFile.open(path, Feedback):
            found.setdefault(one.query_id, []).append(one.chunk_id)
    except InputError as error:
        raise InputError(
            path, f"is not the output of {shell_command('feedback')} ({error.problem})", line=error.line
        ) from None
    if not found:
        raise InputError(path, f"holds no feedback; give the output of {shell_command('feedback')}")
    return found


def pool_settings(language: str | None) -> dict[str, SystemSettings]:
    """Return how the lexical retrievers of a pool cut texts in a language: stemmed, without function words."""
    return {"bm25": BM25Settings(language=language), "lsi": LSISettings(language=language)}


@contextlib.contextmanager
def finishing(
    config: Config,
    answers: Path,
    out: Path,
    *,
    progress: Progress,
    say: Callable[[str], None],
    replay: bool,
    batch: bool,
) -> Iterator[tuple[Finish, list[GradingResult]]]:
    """Open the grading of a set that is being built; the caps hold for building and grading together.

    Args:
        config: The configuration.
        answers: The store of answers.
        out: The run folder.
        progress: Shows how far the work is.
        say: Takes a line that stays on the screen.
        replay: Whether every answer comes from the store.
        batch: Whether requests are sent in batches.

    Yields:
        The function that grades the set, and a list that then holds the finished grading.

    Raises:
        UsageError: As in `check_method`.
    """
    check_method(config, batch=batch)
    done: list[GradingResult] = []
    started = time.monotonic()
    rubric = GoldFolder(out).rubric()
    with pools(config, answers, (), replay=replay) as chosen:

        async def finish(draft: Draft, manifest: Manifest) -> Manifest:
            left = _later(config, (time.monotonic() - started) / 60)
            work = Work(
                panel=ModelPanel(left, answers, replay=replay, batches=say if batch else None, say=say, rubric=rubric),
                pools=replace(
                    chosen,
                    carried=carried_rankings(GoldFolder(out)),
                    carried_feedback=carried_feedback(GoldFolder(out)),
                ),
                progress=progress,
                say=say,
                spent=manifest.usage,
            )
            done.append(await grade_place(draft, manifest, work))
            return done[-1].manifest

        yield finish, done


def _later(config: Config, minutes: float) -> Config:
    """Return the configuration with a deadline that is this many minutes shorter."""
    if config.model.deadline_minutes is None:
        return config
    left = max(1e-6, config.model.deadline_minutes - minutes)
    return config.model_copy(update={"model": config.model.model_copy(update={"deadline_minutes": left})})


def expected(config: Config, queries: int) -> str:
    """Return a line on about what grading takes, before there are queries to pool chunks for."""
    depth = config.grade.depth
    calls = queries * (2 * depth + 2) * (1 + config.grade.canaries) / config.grade.passages_per_call
    return (
        f"grading: about {calls:,.0f} requests for {queries:,} queries, {calls / queries:.0f} a query, plus "
        "about 50 % for pairs in doubt; once the set is built, a dry run of its grading counts them exactly"
    )
