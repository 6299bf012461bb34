"""Systems and encoders that several others are made of: a corpus is indexed once, the time counted for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldbench.ports import Retriever
from goldbench.retrieval.dense import Encoder
from goldbench.retrieval.guard import GuardedRetriever
from goldbench.retrieval.stopwatch import Stopwatch, Took


class SystemPart(GuardedRetriever):
    """A guarded retriever that indexes a corpus once.

    Args:
        inner: The retriever.
        name: The name of the system.
        stopwatch: Counts the time of an index again for each system that uses it.
    """

    def __init__(self, inner: Retriever, *, name: str, stopwatch: Stopwatch) -> None:
        super().__init__(inner, name=name)
        self._stopwatch = stopwatch
        self._indexed: Mapping[str, str] | None = None
        self._indexing = Took(0.0, {})

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the passages, unless this very mapping is indexed already."""
        if passages is self._indexed:
            self._stopwatch.count_again(self._indexing)
            return
        self._indexed = None
        took = self._stopwatch.started()
        super().index(passages)
        self._indexed = passages
        self._indexing = took()

    def passage_vectors(self, ids: Sequence[str]) -> Any:  # noqa: ANN401  an array of numpy's
        """Return the vectors of some passages; only a system that has vectors is asked for them."""
        return self.inner.passage_vectors(ids)  # type: ignore[attr-defined]


class WithoutPlaceholders:
    """A part whose answers hold passages only, because another system that fuses or reranks them needs their texts."""

    def __init__(self, part: SystemPart, placeholder: str) -> None:
        self._part = part
        self._placeholder = placeholder

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the passages."""
        self._part.index(passages)

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with their scores, best first."""
        return {
            query_id: {doc_id: score for doc_id, score in scores.items() if not doc_id.startswith(self._placeholder)}
            for query_id, scores in self._part.search(queries, k=k).items()
        }


class SharedEncoder:
    """An encoder of several systems: the passages of a corpus become vectors once."""

    def __init__(self, inner: Encoder, *, stopwatch: Stopwatch) -> None:
        self._inner = inner
        self._stopwatch = stopwatch
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
        self._texts = texts
        self._seconds = took().total
        return self._rows

    def queries(self, texts: Mapping[str, str]) -> Any:  # noqa: ANN401  an array of numpy's
        """Return one row per query, in order."""
        return self._inner.queries(texts)
