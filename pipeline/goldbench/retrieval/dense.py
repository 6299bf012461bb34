"""Dense retrieval: an encoder that turns texts into vectors, and an index of the vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from goldbench.errors import RetrieverFailed
from goldbench.retrieval.stopwatch import Stopwatch
from goldbench.retrieval.system_settings import EmbeddingSettings, Vectors
from goldbench.retrieval.vectors import Rows, VectorIndex

Embed = Callable[[Sequence[str]], npt.NDArray[Any]]
"""Returns one row per text, in order."""

_AT_ONCE = 1024
"""Texts handed to a server's embedder at a time; it splits them into requests and keeps several under way."""


class Encoder(Protocol):
    """Turns texts into vectors. Raises ``RetrieverFailed`` or, on the path to a model server, ``ModelError``."""

    def passages(self, texts: Mapping[str, str]) -> npt.NDArray[Any]:
        """Return one row per passage, in order."""

    def queries(self, texts: Mapping[str, str]) -> npt.NDArray[Any]:
        """Return one row per query, in order."""


class Dense:
    """Finds passages by the cosine of their vector with the query's."""

    def __init__(self, settings: Vectors, *, encoder: Encoder, stopwatch: Stopwatch) -> None:
        """Store the encoder and make an empty index.

        Args:
            settings: How vectors are searched.
            encoder: Turns texts into vectors.
            stopwatch: Counts the time of the encoder as ``embed``.
        """
        self._encoder = encoder
        self._stopwatch = stopwatch
        self._index = VectorIndex(settings)

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the vector of each passage by its id, in place of what was indexed before."""
        with self._stopwatch.timing("embed"):
            rows = self._encoder.passages(passages) if passages else np.empty((0, 0), dtype=np.float32)
        self._index.index(list(passages), rows)

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with their cosine, best first."""
        if not queries:
            return {}
        with self._stopwatch.timing("embed"):
            rows = self._encoder.queries(queries)
        return self._index.search(list(queries), rows, k=k)

    def passage_vectors(self, ids: Sequence[str]) -> Rows:
        """Return the normalised vectors of these passages."""
        return self._index.rows_of(ids)


class ServerEncoder:
    """Vectors of an ``/embeddings`` endpoint, over the path to models, which stores every vector."""

    def __init__(self, settings: EmbeddingSettings, *, embed: Embed) -> None:
        self._settings = settings
        self._embed = embed

    def passages(self, texts: Mapping[str, str]) -> Rows:
        """Return one row per passage, in order."""
        return embedded(texts, self._embed, prefix=self._settings.passage_prefix, at_once=_AT_ONCE)

    def queries(self, texts: Mapping[str, str]) -> Rows:
        """Return one row per query, in order."""
        return embedded(texts, self._embed, prefix=self._settings.query_prefix, at_once=_AT_ONCE)


def embedded(texts: Mapping[str, str], embed: Embed, *, prefix: str = "", at_once: int) -> Rows:
    """Return one row per text, in order; a text that occurs twice is embedded once, and so has one vector.

    Args:
        texts: Texts by id.
        embed: Embeds a list of texts.
        prefix: Put before each text.
        at_once: Texts handed over at a time, 1 or more; only these are held a second time, with their prefix.

    Raises:
        RetrieverFailed: The model gave another number of vectors than texts, or vectors of different sizes.
    """
    places: dict[str, int] = {}
    where = np.fromiter((places.setdefault(text, len(places)) for text in texts.values()), np.int64, count=len(texts))
    rows: Rows | None = None
    done = 0
    for block in _blocks(places, embed, prefix=prefix, at_once=at_once):
        if rows is None:
            rows = np.empty((len(places), block.shape[1]), dtype=np.float32)
        if block.shape[1] != rows.shape[1]:
            raise RetrieverFailed(f"the model gave vectors of {rows.shape[1]} and of {block.shape[1]} dimensions")
        with np.errstate(over="ignore"):  # a number that is too large becomes infinite, and the index names its text
            rows[done : done + len(block)] = block
        done += len(block)
    if rows is None:
        return np.empty((0, 0), dtype=np.float32)
    return rows if len(places) == len(texts) else rows[where]


def _blocks(texts: Iterable[str], embed: Embed, *, prefix: str, at_once: int) -> Iterator[npt.NDArray[Any]]:
    left = iter(texts)
    while batch := list(islice(left, at_once)):
        rows = np.asarray(embed([prefix + text for text in batch]))
        if rows.ndim != 2 or len(rows) != len(batch):
            shape = " x ".join(map(str, rows.shape))
            raise RetrieverFailed(f"the model was given {len(batch)} texts and answered with {shape} numbers")
        yield rows
