"""Systems that several others are made of: indexed and searched once, their time counted every time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from goldbench.ports import Retriever
from goldbench.retrieval.guard import Guarded
from goldbench.retrieval.stopwatch import Stopwatch, Took

if TYPE_CHECKING:
    from goldbench.retrieval.dense import Encoder


class Part(Guarded):
    """A guarded retriever that indexes a corpus once and, if others share it, searches each query once."""

    def __init__(self, inner: Retriever, *, name: str, shared: bool, stopwatch: Stopwatch) -> None:
        """Take the retriever.

        Args:
            inner: The retriever.
            name: The name of the system.
            shared: Whether answers are remembered, because other systems use this one too.
            stopwatch: Counts remembered work again.
        """
        super().__init__(inner, name=name)
        self._shared, self._stopwatch = shared, stopwatch
        self._indexed: Mapping[str, str] | None = None
        self._indexing = Took(0.0, {})
        self._known: dict[tuple[str, str, int], tuple[dict[str, float], Took]] = {}

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the passages, unless this very mapping is indexed already."""
        if passages is self._indexed:
            self._stopwatch.count_again(self._indexing)
            return
        self._indexed = None
        self._known.clear()
        took = self._stopwatch.started()
        super().index(passages)
        self._indexed, self._indexing = passages, took()

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with their scores, best first."""
        if not self._shared:
            return super().search(queries, k=k)
        keys = {query_id: (query_id, text, k) for query_id, text in queries.items()}
        new = {query_id: queries[query_id] for query_id, key in keys.items() if key not in self._known}
        for query_id in queries.keys() - new.keys():
            self._stopwatch.count_again(self._known[keys[query_id]][1])
        if new:
            took = self._stopwatch.started()
            found = super().search(new, k=k)
            total, parts = took()
            each = Took(total / len(new), {part: seconds / len(new) for part, seconds in parts.items()})
            self._known.update((keys[query_id], (results, each)) for query_id, results in found.items())
        return {query_id: dict(self._known[key][0]) for query_id, key in keys.items()}

    def passage_vectors(self, ids: Sequence[str]) -> Any:  # noqa: ANN401  an array of numpy's
        """Return the vectors of some passages; only a system that has vectors is asked for them."""
        return self.inner.passage_vectors(ids)  # type: ignore[attr-defined]

    def forget(self) -> None:
        """Forget every answer, but not the index."""
        self._known.clear()


class WithoutPlaceholders:
    """A part whose answers hold passages only, because another system that fuses or reranks them needs their texts."""

    def __init__(self, part: Part, placeholder: str) -> None:
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
    """An encoder of several systems: the passages of a corpus become vectors once."""

    def __init__(self, inner: Encoder, *, stopwatch: Stopwatch) -> None:
        self._inner, self._stopwatch = inner, stopwatch
        self._texts: Mapping[str, str] | None = None
        self._rows: Any = None
        self._seconds = 0.0

    def passages(self, texts: Mapping[str, str]) -> Any:  # noqa: ANN401  an array of numpy's
        """Return one row per passage, in order."""
        if texts is self._texts:
            self._stopwatch.count_again(Took(self._seconds, {"embed": self._seconds}))
            return self._rows
        self._texts = None
        took = self._stopwatch.started()
        self._rows = self._inner.passages(texts)
        self._texts, self._seconds = texts, took().total
        return self._rows

    def queries(self, texts: Mapping[str, str]) -> Any:  # noqa: ANN401  an array of numpy's
        """Return one row per query, in order."""
        return self._inner.queries(texts)
