"""A system of one's own: a function, an endpoint or an object that answers one query at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pipeline.errors import RetrieverFailed
from pipeline.measures.ranks.order import best
from pipeline.retrieval.foreign_results import Found
from pipeline.retrieval.passages_by_text import PassagesByText


class Answering(Protocol):
    """Whoever answers one query at a time, and always comes back. Raises ``RetrieverFailed``."""

    def ask(self, query: str, k: int) -> list[Found]:
        """Return the results of one query, at most ``k`` of them if it keeps to what it is asked."""

    def close(self) -> None:
        """Let go of what it holds open."""


class Own:
    """A system that has its own index: passages are taken only to know its answers by.

    A text that is no passage keeps its rank, under an id of its own that begins with ``placeholder``.
    """

    def __init__(self, answering: Answering, *, name: str) -> None:
        """Take who answers, and the system's name."""
        self._answering, self._name = answering, name
        self._passages: Mapping[str, str] = {}
        self._by_text: PassagesByText | None = None
        self.placeholder = f"no-passage-of-{'-'.join(name.split())}-"

    def index(self, passages: Mapping[str, str]) -> None:
        """Take the passages that the answers will name."""
        self._passages, self._by_text = passages, None

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages; where no scores come, each rank scores one less."""
        return {query_id: self._search(text, k) for query_id, text in queries.items()}

    def close(self) -> None:
        """Let go of who answers."""
        self._answering.close()

    def _search(self, text: str, k: int) -> dict[str, float]:
        found = self._answering.ask(text, k)
        if len(found) > k:
            raise RetrieverFailed(self._name, f"answered {len(found):,} results where {k:,} were asked for")
        scores: dict[str, float] = {}
        for place, one in enumerate(found):
            doc_id = self._id_of(one, scores, place)
            if doc_id in scores:
                raise RetrieverFailed(self._name, f"answered passage {shown(doc_id)} twice for one query")
            scores[doc_id] = float(-place) if one.score is None else one.score
        return best(scores, k)

    def _id_of(self, found: Found, taken: Mapping[str, float], place: int) -> str:
        known = next((doc_id for doc_id in found.ids if doc_id in self._passages), None)
        if known is not None:
            return known
        if found.text is None:
            return found.ids[0]
        if self._by_text is None:
            self._by_text = PassagesByText(self._passages)
        return self._by_text.find(found.text, taken=taken) or f"{self.placeholder}{place + 1}"


def shown(doc_id: str) -> str:
    """Return an id fit for a message, however long and strange."""
    return ascii(doc_id if len(doc_id) <= 60 else doc_id[:59] + "…") if doc_id.isascii() else repr(doc_id[:60])
