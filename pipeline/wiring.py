"""Who writes the queries: a model or the offline generator, opened for one run."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Protocol

from pipeline.config import Config
from pipeline.errors import UsageError
from pipeline.ports import QueryGenerator, Stored
from schemas.corpus import Chunk
from schemas.manifest import StageUsage


class Writer(Protocol):
    """A generator that is not opened yet. ``config`` is the configuration with what had to be found out filled in."""

    config: Config
    announcement: str

    def open(self, chunks: Stored[Chunk]) -> contextlib.AbstractAsyncContextManager[QueryGenerator]:
        """Open it for a corpus."""

    def usage(self) -> Mapping[str, StageUsage]:
        """Return what the calls so far cost, by stage."""


class OfflineWriter:
    """Simulated queries: no model, no network."""

    def __init__(self, config: Config) -> None:
        self.config = config
        reason = "" if config.generate.generator == "offline" else ": no key and no base URL is set"
        recipe = config.generate.recipe.value
        self.announcement = f"Queries are simulated offline, recipe {recipe!r}{reason} (goldset doctor says more)."

    @contextlib.asynccontextmanager
    async def open(self, chunks: Stored[Chunk]) -> AsyncIterator[QueryGenerator]:
        """Fit the generator to the corpus."""
        from pipeline.offline.generator import OfflineGenerator

        generate = self.config.generate
        yield OfflineGenerator.fit(chunks, recipe=generate.recipe.value, seed=generate.seed)

    def usage(self) -> Mapping[str, StageUsage]:
        """Return nothing: nothing was called."""
        return {}
