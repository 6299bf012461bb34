"""The words of the corpus, counted in a process of their own while queries are written, for the ranks that follow."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence

from goldbench.pipeline.build.inputs import workers_for
from goldbench.pipeline.config import Config, Engine
from goldbench.pipeline.formats.documents.chunker import count_words
from goldbench.pipeline.formats.jsonl import RecordFile
from goldbench.pipeline.text.numbered_words import NumberedWords
from goldbench.schemas.corpus import Chunk, TitleUse

_FEWEST = 2_000
"""Chunks from which counting their words is worth another process."""


class WordsAhead:
    """Counts the words of passages as they are emitted if nothing is held out, in the background.

    Args:
        chunks: All chunks.
        config: The configuration.
    """

    def __init__(self, chunks: RecordFile[Chunk], config: Config) -> None:
        self._chunks, self._config = chunks, config
        self._found: list[NumberedWords] = []
        self._unwanted = threading.Event()
        self._thread = threading.Thread(target=self._count, name="goldbench words", daemon=True)

    @contextlib.contextmanager
    def begun(self) -> Iterator[None]:
        """Begin to count where that is worth it, and stop if what goes on meanwhile fails."""
        if len(self._chunks) >= _FEWEST and self._config.machines.engine is Engine.LOCAL:
            self._thread.start()
        try:
            yield
        except BaseException:
            self._unwanted.set()
            raise

    def words(self) -> Sequence[NumberedWords]:
        """Return the words of the first passages, of all unless a process failed; wait for the counting to end."""
        if self._thread.ident is not None:
            self._thread.join()
        return self._found

    def _count(self) -> None:
        titles = self._config.corpus.title is not TitleUse.NONE
        with contextlib.suppress(Exception), workers_for(self._config, jobs=1) as workers:
            for part in count_words(self._chunks, workers, titles=titles):
                if self._unwanted.is_set():
                    return
                self._found.append(part)
