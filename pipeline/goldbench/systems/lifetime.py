"""Open systems: built when they are first asked for, parts shared, everything closed at the end."""

from __future__ import annotations

import contextlib
import gc
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from goldbench.config import Config, Engine, Machines
from goldbench.errors import GoldbenchError
from goldbench.ports import Retriever
from goldbench.records.manifest import StageUsage
from goldbench.retrieval.guard import explained
from goldbench.retrieval.saved_indexes import SavedIndexes
from goldbench.retrieval.system_settings import BM25Settings, Lexical, NgramSettings, SystemSettings, Vectors
from goldbench.systems.adapters import adapt
from goldbench.systems.builder import Workshop, build, searches_on_nodes
from goldbench.systems.destinations import destinations
from goldbench.systems.models import Models
from goldbench.systems.parts import Part, WithoutPlaceholders
from goldbench.systems.resolution import SYSTEM, Described, reached, references, resolve

_WORTH_TELLING = 100_000
"""Name the systems that do not search on the cluster from this number of passages on."""


class Systems:
    """Retrieval systems by name.

    ``names`` are those that were asked for, ``settings`` those of all that they are made of. There is one ``stopwatch``
    for all: a search took the time on the clock plus the growth of its part ``remembered``.
    """

    def __init__(
        self,
        names: Sequence[str],
        settings: dict[str, SystemSettings],
        objects: dict[str, object],
        *,
        models: Models,
        folder: Path | None,
        timeout_s: float,
        indexes: Path | None = None,
        engine: Engine = Engine.LOCAL,
    ) -> None:
        """Take the systems; none is built yet.

        Args:
            names: The systems that were asked for.
            settings: The settings of all systems by name.
            objects: Systems that are objects, by name.
            models: The paths to models.
            folder: Searched for Python modules.
            timeout_s: Seconds that an object may take for one query.
            indexes: The folder of saved indexes; None saves none.
            engine: Where BM25 searches.
        """
        self.names, self.settings = tuple(names), settings
        self._objects, self._timeout_s = objects, timeout_s
        saved = SavedIndexes(indexes) if indexes is not None else None
        self._workshop = Workshop(
            part=self._part, settings=settings, models=models, folder=folder, saved=saved, engine=engine
        )
        self.stopwatch = self._workshop.stopwatch
        self._parts: dict[str, Part] = {}
        self._failed: dict[str, GoldbenchError] = {}
        self._uses = Counter(
            [*names, *(part for name in reached(names, settings) for part in references(settings[name]))]
        )

    def retriever(self, name: str) -> Part:
        """Return a system, built when it is first asked for.

        Raises:
            RetrieverFailed: The system cannot be built.
            MissingExtra: A package that it needs is not installed.
        """
        if name in self._failed:
            raise self._failed[name]
        if name not in self._parts:
            try:
                with explained(name, "while it was built"):
                    inner = self._built(name)
            except GoldbenchError as error:
                self._failed[name] = error
                raise
            self._parts[name] = Part(inner, name=name, shared=self._uses[name] > 1, stopwatch=self.stopwatch)
        return self._parts[name]

    def note_of_local_searches(self, passages: int) -> str | None:
        """Return a note that names the systems which search a large corpus on this machine, None if none does.

        Args:
            passages: The number of passages.
        """
        searching = Lexical | NgramSettings | Vectors
        found = [name for name, settings in self.settings.items() if isinstance(settings, searching)]
        here = [name for name in found if not searches_on_nodes(self.settings[name])]
        if self._workshop.engine is Engine.LOCAL or passages < _WORTH_TELLING or not here:
            return None
        *others, last = here
        search = f"{', '.join(others)} and {last} search" if others else f"{last} searches"
        has_files = any(isinstance(self.settings[name], BM25Settings) for name in here)
        runs = "bm25 without token files" if has_files else "bm25"
        return f"Note: {search} {passages:,} passages on this machine; the Ray cluster only runs {runs}."

    def destinations(self) -> list[str]:
        """Return the addresses to which searching with these systems may send texts."""
        models, engine = self._workshop.models, self._workshop.engine
        config = models.config.model_copy(update={"machines": Machines(engine=engine)})
        used = [self.settings[name] for name in reached(self.names, self.settings)]
        return destinations(config, used, replay=models.replay)

    def forget(self) -> None:
        """Forget every remembered answer, but not the indexes."""
        for part in self._parts.values():
            part.forget()

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
        return self._workshop.models.usage()

    def close(self) -> None:
        """Close servers, threads and indexes."""
        for part in reversed(self._parts.values()):
            part.close()
        self._parts.clear()
        gc.collect()

    def _built(self, name: str) -> Retriever:
        if name in self._objects:
            return adapt(self._objects[name], name=name, timeout_s=self._timeout_s)
        return build(self.settings[name], name=name, workshop=self._workshop)

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
    timeout_s: float = 30.0,
    where: Path | str = SYSTEM,
    folder: Path | None = None,
    indexes: Path | None = None,
    engine: Engine = Engine.LOCAL,
) -> Iterator[Systems]:
    """Open systems by name, and close them at the end of the block.

    Args:
        names: As in `resolve`.
        described: As in `resolve`; objects may also be retrievers of LangChain or LlamaIndex.
        config: Names the models that systems ask; None takes them from the environment.
        answers: The store of models' answers; None keeps none.
        replay: Whether models are answered from the store alone.
        overrides: As in `resolve`.
        timeout_s: Seconds that a retriever which is given as an object may take for one query.
        where: As in `resolve`.
        folder: As in `resolve`; also searched for Python modules.
        indexes: The folder of saved indexes, which are used again; None saves none.
        engine: Where BM25 searches: on this machine, or on the nodes of a cluster, which gives the same results.

    Raises:
        ConfigError: With every problem of the systems' descriptions.
    """
    settings = resolve(names, described, overrides=overrides, where=where, folder=folder)
    objects = {name: thing for name, thing in (described or {}).items() if name not in settings}
    with Models(config, answers=answers, replay=replay) as models:
        systems = Systems(
            names, settings, objects, models=models, folder=folder, timeout_s=timeout_s, indexes=indexes, engine=engine
        )
        try:
            yield systems
        finally:
            systems.close()
