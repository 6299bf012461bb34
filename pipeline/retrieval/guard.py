"""What every answer of a retriever is held to, whoever wrote it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Iterator, Mapping
from numbers import Real
from typing import Any

from pipeline.errors import GoldsetError, MissingExtra, RetrieverFailed
from pipeline.measures.ranks.order import best
from pipeline.ports import Retriever
from pipeline.retrieval.deadline import described
from pipeline.retrieval.own import shown


class Guarded:
    """A retriever whose every failure is ``RetrieverFailed`` in one line, and whose every answer is a ranking.

    Its answers name passages that were indexed, each once, at most ``k`` of them, with finite scores, best first.
    """

    def __init__(self, inner: Retriever, *, name: str) -> None:
        """Take the retriever and what it is called."""
        self._inner, self._name = inner, name
        self._passages: Collection[str] = ()

    @property
    def name(self) -> str:
        """What the system is called."""
        return self._name

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the text of each passage by its id; what was indexed before is forgotten.

        Raises:
            RetrieverFailed: It cannot.
            MissingExtra: A package that it needs is not installed.
        """
        self._passages = ()
        with self._explained("while indexing"):
            self._inner.index(passages)
        self._passages = passages.keys()

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with their scores, best first, equal scores by id descending.

        Raises:
            RetrieverFailed: It cannot, or its answer is no such thing.
            MissingExtra: A package that it needs is not installed.
        """
        with self._explained("while searching"):
            found = self._inner.search(queries, k=k)
        if not isinstance(found, Mapping) or found.keys() != queries.keys():
            raise RetrieverFailed(self._name, "did not answer each query once, with a mapping by query id")
        return {query_id: self._ranking(found[query_id], k) for query_id in queries}

    def _ranking(self, results: Any, k: int) -> dict[str, float]:  # noqa: ANN401
        if not isinstance(results, Mapping):
            raise RetrieverFailed(self._name, f"answered a {type(results).__name__}, where {{id: score}} belongs")
        if len(results) > k:
            raise RetrieverFailed(self._name, f"answered {len(results):,} results where {k:,} were asked for")
        placeholder = getattr(self._inner, "placeholder", None)
        unknown = [doc_id for doc_id in results if doc_id not in self._passages]
        if placeholder:
            unknown = [doc_id for doc_id in unknown if not str(doc_id).startswith(placeholder)]
        if unknown:
            first = shown(str(unknown[0]))
            raise RetrieverFailed(
                self._name, f"answered {len(unknown):,} of {len(results):,} ids that are no passages, the first {first}"
            )
        bad = [score for score in results.values() if not _is_finite(score)]
        if bad:
            what = f" ({bad[0]})" if isinstance(bad[0], Real) else f" but a {type(bad[0]).__name__}"
            raise RetrieverFailed(self._name, f"answered a score that is no finite number{what}")
        return best({doc_id: float(score) for doc_id, score in results.items()}, k)

    @contextlib.contextmanager
    def _explained(self, when: str) -> Iterator[None]:
        failure: GoldsetError | None = None
        try:
            yield
        except Exception as error:  # noqa: BLE001  whatever a system raises is its failure, not that of the others
            failure = self._failure(error, when)
        if failure is not None:
            raise failure from None  # what others raise may quote texts: it is not chained

    def _failure(self, error: Exception, when: str) -> GoldsetError:
        if isinstance(error, MissingExtra):
            return error
        if isinstance(error, RetrieverFailed):
            inner = error.problem if error.system == self._name else f"{error.system}: {error.problem}"
            return RetrieverFailed(self._name, inner)
        if isinstance(error, GoldsetError):
            return RetrieverFailed(self._name, str(error))
        if isinstance(error, MemoryError):
            return RetrieverFailed(self._name, f"there is not enough memory {when}")
        return RetrieverFailed(self._name, f"raised {described(error)} {when}")


def _is_finite(score: object) -> bool:
    return type(score) is not bool and isinstance(score, Real) and math.isfinite(score)
