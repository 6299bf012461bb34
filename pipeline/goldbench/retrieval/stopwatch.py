"""Seconds by part of a search, so that the time of a model is told apart from the time of the index."""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

REMEMBERED = "remembered"
"""The part that counts what remembered work took when it was done: a system that shares it is not faster for it."""


class Took(NamedTuple):
    """The seconds that some work took: the total, and those of each part."""

    total: float
    parts: Mapping[str, float]


class Stopwatch:
    """Adds up seconds by part: ``embed``, ``rerank``, ``expand`` and ``remembered``."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextlib.contextmanager
    def timing(self, part: str) -> Iterator[None]:
        """Add the time until the end of the block to this part."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[part] += time.perf_counter() - started

    def started(self) -> Callable[[], Took]:
        """Start to time some work; return the function that tells what it took, remembered work included."""
        before = dict(self.seconds)
        start = time.perf_counter()

        def took() -> Took:
            wall = time.perf_counter() - start
            grown = {part: seconds - before.get(part, 0.0) for part, seconds in self.seconds.items()}
            return Took(wall + grown.pop(REMEMBERED, 0.0), grown)

        return took

    def count_again(self, took: Took) -> None:
        """Add what remembered work took when it was done."""
        self.seconds[REMEMBERED] += took.total
        for part, seconds in took.parts.items():
            if seconds:
                self.seconds[part] += seconds
