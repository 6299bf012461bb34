"""Systems with an index of their own (a function, an endpoint, an object), asked one query at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Protocol

from goldbench.errors import RetrieverFailed
from goldbench.retrieval.deadline import of_query
from goldbench.retrieval.foreign_results import ForeignResult
from goldbench.text.similarity import normal

_START = 24
"""Characters of a passage's start that find it within a longer text; shorter passages are tried one by one."""
_BREAK = "\n"
"""Separates passages; no text in normal form holds it."""

FindText = Callable[[str, str, Collection[str]], "str | None"]
"""Takes the id of a query, a text and the passages found before; returns the passage that the text is, or None."""


class Answerer(Protocol):
    """Answers one query at a time, and always comes back. Raises ``RetrieverFailed``."""

    def ask(self, query: str, k: int) -> list[ForeignResult]:
        """Return the results of one query; ``k`` is how many are wanted."""

    def close(self) -> None:
        """Close what is held open."""


class UserRetriever:
    """A system that has its own index: passages are only needed to recognise its answers.

    A text that is not a passage keeps its rank, under an id that begins with ``placeholder``.

    Args:
        answerer: Answers one query.
        name: The name of the system.
        find_text: Finds the passage that a text is; None to compare texts with every passage.
    """

    def __init__(self, answerer: Answerer, *, name: str, find_text: FindText | None = None) -> None:
        self._answerer, self._find_text = answerer, find_text
        self._passages: Mapping[str, str] = {}
        self._by_text: PassagesByText | None = None
        self.placeholder = f"no-passage-of-{'-'.join(name.split())}-"

    def index(self, passages: Mapping[str, str]) -> None:
        """Keep the passages that the answers will name."""
        self._passages, self._by_text = passages, None

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query the results of its answer, in their order; without scores, each is 1 lower."""
        run = {}
        for query_id, text in queries.items():
            with of_query(query_id):
                run[query_id] = self._search(query_id, text, k)
        return run

    def close(self) -> None:
        """Close what answers."""
        self._answerer.close()

    def _search(self, query_id: str, query: str, k: int) -> dict[str, float]:
        scores: dict[str, float] = {}
        for position, result in enumerate(self._answerer.ask(query, k)):
            doc_id = self._id_of(result, query_id, scores, position)
            if doc_id in scores:
                raise RetrieverFailed(f"answered passage {doc_id[:60]!r} twice for one query")
            scores[doc_id] = float(-position) if result.score is None else result.score
        return scores

    def _id_of(self, result: ForeignResult, query_id: str, earlier: Collection[str], position: int) -> str:
        known = next((doc_id for doc_id in result.ids if doc_id in self._passages), None)
        if known is not None:
            return known
        if result.text is None:
            return result.ids[0]
        if self._find_text is not None:
            match = self._find_text(query_id, result.text, earlier)
        else:
            if self._by_text is None:
                self._by_text = PassagesByText(self._passages)
            match = self._by_text.find(result.text, earlier=earlier)
        return match or f"{self.placeholder}{position + 1}"


class PassagesByText:
    """The passages of a corpus by their text: a text is a passage if either contains the other, in normal form.

    An equal text goes before one that is only contained.
    """

    def __init__(self, passages: Mapping[str, str]) -> None:
        self._texts = {doc_id: text for doc_id in sorted(passages) if (text := normal(passages[doc_id]))}
        self._equal: dict[str, list[str]] = {}
        self._starting: dict[str, list[str]] = {}
        self._short: list[str] = []
        self._ids, self._starts, position = list(self._texts), [], 0
        for doc_id, text in self._texts.items():
            self._equal.setdefault(text, []).append(doc_id)
            if len(text) < _START:
                self._short.append(doc_id)
            else:
                self._starting.setdefault(text[:_START], []).append(doc_id)
            self._starts.append(position)
            position += len(text) + len(_BREAK)
        self._whole = _BREAK.join(self._texts.values())

    def find(self, text: str, *, earlier: Collection[str] = ()) -> str | None:
        """Return the id of the passage that the text is; None if it is none, or only ``earlier`` ones."""
        text = normal(text)
        return next((doc_id for doc_id in self._candidates(text) if doc_id not in earlier), None) if text else None

    def _candidates(self, text: str) -> Iterator[str]:
        yield from self._equal.get(text, [])
        at = self._whole.find(text)
        while at >= 0:
            yield self._ids[bisect_right(self._starts, at) - 1]
            at = self._whole.find(text, at + 1)
        for start in range(len(text) - _START + 1):
            for doc_id in self._starting.get(text[start : start + _START], ()):
                if text.startswith(self._texts[doc_id], start):
                    yield doc_id
        yield from (doc_id for doc_id in self._short if self._texts[doc_id] in text)
