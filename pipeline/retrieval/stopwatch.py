"""How long the parts of a search took, so that the time of a model is told apart from the time of the index."""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Iterator


class Stopwatch:
    """Adds up seconds by the name of the part: ``embed``, ``rerank``, ``expand``.

    ``remembered`` are the seconds that an answer took when it was found first, where it was taken from memory now.
    """

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
