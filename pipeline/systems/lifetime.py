"""Systems that are open: built when they are asked for, parts shared, everything closed at the end."""

from __future__ import annotations

import contextlib
import gc
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.config import Config
from pipeline.errors import GoldsetError, MissingExtra, RetrieverFailed
from pipeline.ports import Retriever
from pipeline.retrieval.stopwatch import Stopwatch
from pipeline.retrieval.system_settings import SystemSettings
from pipeline.systems.adapters import unguarded
from pipeline.systems.builder import Workshop, build
from pipeline.systems.models import Models
from pipeline.systems.parts import Part, WithoutPlaceholders
from pipeline.systems.resolution import Described, references, resolve
from schemas.manifest import StageUsage


class Systems:
    """Retrieval systems by name.

    ``names`` are those that were asked for, ``settings`` those of all that they are made of. There is one ``stopwatch``
    for all: what a search took is the wall clock and the growth of its part ``remembered``.
    """

    def __init__(
        self,
        names: Sequence[str],
        settings: dict[str, SystemSettings],
        objects: dict[str, object],
        *,
        workshop: Workshop,
        timeout_s: float,
    ) -> None:
        self.names, self.settings, self.stopwatch = tuple(names), settings, workshop.stopwatch
        self._objects, self._workshop, self._timeout_s = objects, workshop, timeout_s
        self._parts: dict[str, Part] = {}
        self._failed: dict[str, GoldsetError] = {}
        reached = _reached(names, settings)
        self._uses = Counter([*names, *(other for name in reached for other in references(settings[name]))])

    def retriever(self, name: str) -> Part:
        """Return a system, built when it is asked for first.

        Raises:
            RetrieverFailed: It cannot be built.
            MissingExtra: A package that it needs is not installed.
        """
        if name in self._failed:
            raise self._failed[name]
        if name not in self._parts:
            failure: GoldsetError
            try:
                inner = self._built(name)
            except MissingExtra as error:
                failure = error
            except RetrieverFailed as error:
                inside = error.problem if error.system == name else f"{error.system}: {error.problem}"
                failure = RetrieverFailed(name, inside)
            except GoldsetError as error:
                failure = RetrieverFailed(name, str(error))
            else:
                self._parts[name] = Part(inner, name=name, shared=self._uses[name] > 1, stopwatch=self.stopwatch)
                return self._parts[name]
            self._failed[name] = failure
            raise failure
        return self._parts[name]

    def forget(self) -> None:
        """Forget every remembered answer, not the indexes."""
        for part in self._parts.values():
            part.forget()

    def usage(self) -> dict[str, StageUsage]:
        """Return what models cost so far, by stage."""
        return self._workshop.models.usage()

    def close(self) -> None:
        """Let go of servers, threads and indexes."""
        for part in reversed(self._parts.values()):
            part.close()
        self._parts.clear()
        gc.collect()

    def _built(self, name: str) -> Retriever:
        if name in self._objects:
            return unguarded(self._objects[name], name=name, timeout_s=self._timeout_s)
        return build(self.settings[name], name=name, part=self._part, workshop=self._workshop)

    def _part(self, name: str) -> Retriever:
        """Return a system as a part of another one."""
        part = self.retriever(name)
        return WithoutPlaceholders(part, part.placeholder) if part.placeholder else part


@contextlib.contextmanager
def open_systems(  # noqa: PLR0913  every one is a choice of the caller's
    names: Sequence[str],
    described: Described | None = None,
    *,
    config: Config | None = None,
    answers: Path | None = None,
    replay: bool = False,
    overrides: Sequence[str] = (),
    timeout_s: float = 30.0,
    where: Path | str = "command line",
    folder: Path | None = None,
) -> Iterator[Systems]:
    """Open systems by name, and close them again.

    Args:
        names: As ``resolve`` takes them, and ``described``, ``overrides``, ``where`` and ``folder``.
        described: Tables, records, or retrievers of ours, LangChain's or LlamaIndex's, by name.
        config: Which model is asked where a system needs one; what the environment says where it is None.
        answers: The store of models' answers; None keeps none.
        replay: Answer from the store alone; nobody is asked.
        overrides: Parameters as the command line gives them.
        timeout_s: The seconds that a retriever which is given as an object may take for one query.
        where: What messages call the place the systems are described in.
        folder: Where relative paths begin that are described there.

    Raises:
        ConfigError: The systems are not described as they should be; everything that is wrong.
    """
    settings = resolve(names, described, overrides=overrides, where=where, folder=folder)
    objects = {name: thing for name, thing in (described or {}).items() if name not in settings}
    kinds = {name: record.kind for name, record in settings.items()}
    with Models(config, answers=answers, replay=replay) as models:
        workshop = Workshop(models=models, stopwatch=Stopwatch(), folder=folder, kinds=kinds)
        systems = Systems(names, settings, objects, workshop=workshop, timeout_s=timeout_s)
        try:
            yield systems
        finally:
            systems.close()


def _reached(names: Sequence[str], settings: dict[str, SystemSettings]) -> list[str]:
    reached: list[str] = []
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in settings and name not in reached:
            reached.append(name)
            waiting += references(settings[name])
    return reached
