"""Open systems: built when they are first asked for, parts shared, everything closed at the end."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Sequence
from pathlib import Path

from goldbench.config import Config, Engine, Machines
from goldbench.errors import GoldbenchError
from goldbench.ports import Retriever
from goldbench.records.manifest import StageUsage
from goldbench.retrieval.guard import explained
from goldbench.retrieval.system_settings import SystemSettings
from goldbench.systems.builder import BuildContext, build
from goldbench.systems.destinations import destinations
from goldbench.systems.models import Models
from goldbench.systems.parts import SystemPart, WithoutPlaceholders
from goldbench.systems.resolution import SYSTEM, Described, reached, resolve


class Systems:
    """Retrieval systems by name.

    ``names`` are those that were asked for, ``settings`` those of all that they are made of. There is one ``stopwatch``
    for all: indexing took the time on the clock plus the growth of its part ``remembered``.

    Args:
        names: The systems that were asked for; none is built yet.
        settings: The settings of all systems by name.
        models: The paths to models.
        folder: Searched for Python modules.
        engine: Where BM25 searches.
    """

    def __init__(
        self,
        names: Sequence[str],
        settings: dict[str, SystemSettings],
        *,
        models: Models,
        folder: Path | None,
        engine: Engine,
    ) -> None:
        self.names = tuple(names)
        self.settings = settings
        self._context = BuildContext(part=self._part, settings=settings, models=models, folder=folder, engine=engine)
        self.stopwatch = self._context.stopwatch
        self._parts: dict[str, SystemPart] = {}
        self._failures: dict[str, GoldbenchError] = {}

    def retriever(self, name: str) -> SystemPart:
        """Return a system, built when it is first asked for.

        Raises:
            RetrieverFailed: The system cannot be built.
            MissingExtra: A package that it needs is not installed.
        """
        if name in self._failures:
            raise self._failures[name]
        if name not in self._parts:
            try:
                with explained(name, "while it was built"):
                    inner = build(self.settings[name], name=name, context=self._context)
            except GoldbenchError as error:
                self._failures[name] = error
                raise
            self._parts[name] = SystemPart(inner, name=name, stopwatch=self.stopwatch)
        return self._parts[name]

    def destinations(self) -> list[str]:
        """Return the addresses to which searching with these systems may send texts."""
        models = self._context.models
        engine = self._context.engine
        config = models.config.model_copy(update={"machines": Machines(engine=engine)})
        used = [self.settings[name] for name in reached(self.names, self.settings)]
        return destinations(config, used, replay=models.replay)

    @contextlib.contextmanager
    def freed(self, name: str) -> Iterator[Retriever]:
        """Give a system that is not a part of others; at the end it is closed and its index is freed."""
        try:
            yield self.retriever(name)
        finally:
            if (part := self._parts.pop(name, None)) is not None:
                part.close()

    def usage(self) -> dict[str, StageUsage]:
        """Return what models cost so far, by stage."""
        return self._context.models.usage()

    def close(self) -> None:
        """Close servers, threads and indexes."""
        for part in reversed(self._parts.values()):
            part.close()
        self._parts.clear()
        gc.collect()

    def _part(self, name: str) -> Retriever:
        """Return a system as a part of another one."""
        part = self.retriever(name)
        return WithoutPlaceholders(part, part.placeholder) if part.placeholder else part


@contextlib.contextmanager
def open_systems(  # noqa: PLR0913  every parameter is a choice of the caller
    names: Sequence[str],
    described: Described | None = None,
    *,
    config: Config | None = None,
    answers: Path | None = None,
    replay: bool = False,
    overrides: Sequence[str] = (),
    where: Path | str = SYSTEM,
    folder: Path | None = None,
    engine: Engine = Engine.LOCAL,
) -> Iterator[Systems]:
    """Open systems by name, and close them at the end of the block.

    Args:
        names: As in `resolve`.
        described: As in `resolve`.
        config: Names the models that systems ask; None takes them from the environment.
        answers: The store of models' answers; None keeps none.
        replay: Whether models are answered from the store alone.
        overrides: As in `resolve`.
        where: As in `resolve`.
        folder: As in `resolve`; also searched for Python modules.
        engine: Where BM25 searches: on this machine, or on the nodes of a cluster, which gives the same results.

    Raises:
        ConfigError: With every problem of the systems' descriptions.
    """
    settings = resolve(names, described, overrides=overrides, where=where, folder=folder)
    with Models(config, answers=answers, replay=replay) as models:
        systems = Systems(names, settings, models=models, folder=folder, engine=engine)
        try:
            yield systems
        finally:
            systems.close()
