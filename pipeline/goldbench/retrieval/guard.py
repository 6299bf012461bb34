"""The checks that every answer of every retriever must pass, and the one place that names the system that failed."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Iterator, Mapping
from numbers import Real
from typing import Any

from goldbench.errors import GoldbenchError, MissingExtra, RetrieverFailed
from goldbench.measures.ranks.order import best
from goldbench.ports import Retriever
from goldbench.retrieval.user_calls import described, of_query
from goldbench.text.display import one_line


class GuardedRetriever:
    """A retriever whose every failure is ``RetrieverFailed`` in one line, and whose every answer is a ranking.

    Its answers name passages that were indexed, each once, at most ``k`` of them, with finite scores, best first.
    """

    def __init__(self, inner: Retriever, *, name: str, advice: str = "") -> None:
        """Take the retriever.

        Args:
            inner: The retriever.
            name: The name of the system.
            advice: What to do if it answers ids that are not passages.
        """
        self.inner = inner
        self.name = name
        self._advice = advice
        self._passages: Collection[str] = ()
        self.listed = self.rising = 0
        """Queries with 2 results or more, and those of them whose scores only rise down the list, as distances do."""

    @property
    def placeholder(self) -> str | None:
        """The prefix of ids that stand for texts which are not passages; None if the system gives none."""
        return getattr(self.inner, "placeholder", None)

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the text of each passage by its id, in place of what was indexed before.

        Raises:
            RetrieverFailed: The system cannot index.
            MissingExtra: A package that the system needs is not installed.
        """
        self._passages = ()
        with explained(self.name, "while indexing"):
            self.inner.index(passages)
        self._passages = passages.keys()

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with their scores, best first, equal scores by id descending.

        Raises:
            RetrieverFailed: The system cannot search, or its answer is not a ranking.
            MissingExtra: A package that the system needs is not installed.
        """
        with explained(self.name, "while searching"):
            answer = self.inner.search(queries, k=k)
            if not isinstance(answer, Mapping) or answer.keys() != queries.keys():
                raise RetrieverFailed("did not answer each query once, with a mapping by query id")
            rankings = {}
            for query_id in queries:
                with of_query(query_id):
                    rankings[query_id] = self._ranking(answer[query_id], k)
            return rankings

    def close(self) -> None:
        """Close what the system holds open."""
        close = getattr(self.inner, "close", None)
        if callable(close):
            close()

    def _ranking(self, results: Any, k: int) -> dict[str, float]:  # noqa: ANN401  whatever the system answered
        if not isinstance(results, Mapping):
            raise RetrieverFailed(f"answered a {type(results).__name__}, where {{id: score}} belongs")
        if len(results) > k:
            raise RetrieverFailed(f"answered {len(results):,} results where {k:,} were asked for")
        unknown = [doc_id for doc_id in results if doc_id not in self._passages]
        if self.placeholder:
            unknown = [doc_id for doc_id in unknown if not str(doc_id).startswith(self.placeholder)]
        if unknown:
            count = f"{len(unknown):,} of {len(results):,}"
            first = str(unknown[0])[:60]
            example = next(iter(self._passages), None)
            likely = "" if example is None else f"; ids of passages are like {str(example)[:60]!r}"
            raise RetrieverFailed(
                f"answered {count} ids that are not passages, the first {first!r}{likely}{self._advice}"
            )
        bad = [score for score in results.values() if not _is_finite(score)]
        if bad:
            what = f" ({bad[0]})" if isinstance(bad[0], Real) else f" but a {type(bad[0]).__name__}"
            raise RetrieverFailed(f"answered a score that is not a finite number{what}")
        scores = {doc_id: float(score) for doc_id, score in results.items()}
        listed = list(scores.values())
        self.listed += len(listed) > 1
        self.rising += listed[:1] < listed[-1:] and listed == sorted(listed)
        return best(scores, k)


@contextlib.contextmanager
def explained(name: str, when: str) -> Iterator[None]:
    """Turn every failure inside the block into one line that begins with the name of the system.

    Args:
        name: The system. A part of it that failed stays named behind it.
        when: What the system was doing, as ``while indexing``.

    Raises:
        RetrieverFailed: Something inside failed.
        MissingExtra: A package that the system needs is not installed.
    """
    failure = None
    cause = None
    try:
        yield
    except MissingExtra:
        raise
    except Exception as error:  # noqa: BLE001  one system that fails must not stop the others
        failure = RetrieverFailed(one_line(_problem(error, name, when)), system=name)
        cause = error.__cause__ if isinstance(error, RetrieverFailed) else None
    if failure is not None:
        raise failure from cause  # an error of another library may quote texts, so only the user's own is chained


def _problem(error: Exception, name: str, when: str) -> str:
    if isinstance(error, RetrieverFailed):
        return error.problem if error.system in {None, name} else f"{error.system}: {error.problem}"
    if isinstance(error, GoldbenchError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"there is not enough memory {when}"
    return f"raised {described(error)} {when}"


def _is_finite(score: object) -> bool:
    if type(score) is float:
        return math.isfinite(score)
    return type(score) is not bool and isinstance(score, Real) and math.isfinite(score)
