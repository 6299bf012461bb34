"""Systems that several others are made of: indexed once, searched once, their time counted every time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.ports import Retriever
from pipeline.retrieval.guard import Guarded
from pipeline.retrieval.stopwatch import Stopwatch

if TYPE_CHECKING:
    from pipeline.retrieval.dense import Encoder

REMEMBERED = "remembered"


class Took(NamedTuple):
    """The seconds that something took: altogether, and in parts that a stopwatch knows."""

    altogether: float
    parts: Mapping[str, float]


class Timer:
    """Takes the time of work done now, and counts it again when its outcome is taken from memory."""

    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch
        self._before = dict(stopwatch.seconds)
        self._started = time.perf_counter()

    def took(self) -> Took:
        """Return what was taken since this was made."""
        wall = time.perf_counter() - self._started
        grown = {part: seconds - self._before.get(part, 0.0) for part, seconds in self._stopwatch.seconds.items()}
        return Took(wall + grown.pop(REMEMBERED, 0.0), grown)


def count_again(stopwatch: Stopwatch, took: Took) -> None:
    """Add to a stopwatch what remembered work took when it was done."""
    stopwatch.seconds[REMEMBERED] += took.altogether
    for part, seconds in took.parts.items():
        if seconds:
            stopwatch.seconds[part] += seconds


class Part:
    """A guarded retriever that indexes a corpus once, and where others share it, searches each query once."""

    def __init__(self, inner: Retriever, *, name: str, shared: bool, stopwatch: Stopwatch) -> None:
        """Take the retriever, its name, whether its answers are kept for others, and the stopwatch of all."""
        self._raw, self._guarded, self._shared, self._stopwatch = inner, Guarded(inner, name=name), shared, stopwatch
        self._passages: Mapping[str, str] | None = None
        self._indexing = Took(0.0, {})
        self._known: dict[tuple[str, str, int], tuple[dict[str, float], Took]] = {}

    @property
    def name(self) -> str:
        """What the system is called."""
        return self._guarded.name

    @property
    def placeholder(self) -> str | None:
        """How ids begin that stand for texts which are no passage."""
        return getattr(self._raw, "placeholder", None)

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the passages, unless it is this very mapping that is indexed already."""
        if passages is self._passages:
            count_again(self._stopwatch, self._indexing)
            return
        self._passages = None
        self._known.clear()
        timer = Timer(self._stopwatch)
        self._guarded.index(passages)
        self._passages, self._indexing = passages, timer.took()

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with their scores, best first."""
        if not self._shared:
            return self._guarded.search(queries, k=k)
        keys = {query_id: (query_id, text, k) for query_id, text in queries.items()}
        new = {query_id: queries[query_id] for query_id, key in keys.items() if key not in self._known}
        for query_id in queries.keys() - new.keys():
            count_again(self._stopwatch, self._known[keys[query_id]][1])
        if new:
            timer = Timer(self._stopwatch)
            found = self._guarded.search(new, k=k)
            whole = timer.took()
            each = Took(whole.altogether / len(new), {part: s / len(new) for part, s in whole.parts.items()})
            self._known.update((keys[query_id], (results, each)) for query_id, results in found.items())
        return {query_id: dict(self._known[key][0]) for query_id, key in keys.items()}

    def passage_vectors(self, ids: Sequence[str]) -> Any:  # noqa: ANN401  an array of numpy's
        """Return the vectors of some passages, of a system that has vectors."""
        return self._raw.passage_vectors(ids)  # type: ignore[attr-defined]  # asked of such systems only

    def forget(self) -> None:
        """Forget every answer, not the index."""
        self._known.clear()

    def close(self) -> None:
        """Close what the retriever holds open, where it can be closed."""
        close = getattr(self._raw, "close", None)
        if callable(close):
            close()


class WithoutPlaceholders:
    """A part whose answers hold passages only: what others fuse or rerank must have a text."""

    def __init__(self, part: Part, placeholder: str) -> None:
        """Take the part, and how the ids begin that are left out."""
        self._part, self._placeholder = part, placeholder

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the passages."""
        self._part.index(passages)

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with their scores, best first."""
        return {
            query_id: {doc_id: score for doc_id, score in found.items() if not doc_id.startswith(self._placeholder)}
            for query_id, found in self._part.search(queries, k=k).items()
        }


class SharedEncoder:
    """A model of several systems: the passages of a corpus become vectors once."""

    def __init__(self, inner: Encoder, *, stopwatch: Stopwatch) -> None:
        """Take the encoder, and the stopwatch of all systems."""
        self._inner, self._stopwatch = inner, stopwatch
        self._texts: Mapping[str, str] | None = None
        self._rows: Any = None
        self._took = Took(0.0, {})

    def passages(self, texts: Mapping[str, str]) -> Any:  # noqa: ANN401  an array of numpy's
        """Return one row per passage, in order."""
        if texts is self._texts:
            count_again(self._stopwatch, Took(self._took.altogether, {"embed": self._took.altogether}))
            return self._rows
        self._texts = None
        timer = Timer(self._stopwatch)
        self._rows = self._inner.passages(texts)
        self._texts, self._took = texts, timer.took()
        return self._rows

    def queries(self, texts: Mapping[str, str]) -> Any:  # noqa: ANN401  an array of numpy's
        """Return one row per query, in order."""
        return self._inner.queries(texts)
