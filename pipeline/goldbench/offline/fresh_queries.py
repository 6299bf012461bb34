"""Simulated queries drawn from passages for one measurement, without a build: which of two recipes agree?"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from goldbench.offline.generator import OfflineGenerator, RecipeName
from goldbench.ports import Brief
from goldbench.records.corpus import Chunk, Span
from goldbench.records.query import Assignment, Constraints, QueryKind, QueryStyle
from goldbench.text.draws import key_of

T = TypeVar("T")

DRAWS = 3
"""Separate draws that are usually made: they show how far one draw can be trusted."""
_BRIEF = Assignment(kind=QueryKind.FACT, style=QueryStyle.KEYWORDS)


@dataclass(frozen=True, slots=True)
class FreshQueries:
    """Queries by id, the passage that each was made from, and the texts of passages that words were taken out of.

    ``draws`` are the ids of each separate draw. A masked passage must be searched with its text in ``masked``.
    """

    queries: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    masked: dict[str, str] = field(default_factory=dict)
    draws: tuple[tuple[str, ...], ...] = ()

    def searched(self, corpus: Mapping[str, str]) -> Mapping[str, str]:
        """Return the texts of the passages as they must be searched for these queries."""
        return {**corpus, **self.masked} if self.masked else corpus


def fresh_queries(
    corpus: Mapping[str, str], recipe: RecipeName, *, count: int, draws: int, seed: int, language: str | None = None
) -> FreshQueries:
    """Return simulated queries, at most one for each passage, in separate draws of about the same size.

    Args:
        corpus: The texts of the passages by id.
        recipe: How queries are made.
        count: Most queries in all.
        draws: Number of separate draws, at least 1; no passage is in two of them.
        seed: Any whole number.
        language: Language of the corpus, None if it is not known.
    """
    chunks = {doc_id: _chunk(number, text) for number, (doc_id, text) in enumerate(sorted(corpus.items())) if text}
    generator = OfflineGenerator(chunks.values(), recipe=recipe, seed=seed)
    found = FreshQueries(draws=())
    parts: list[list[str]] = [[] for _ in range(draws)]
    for doc_id in sorted(chunks, key=lambda name: key_of(seed, "fresh", name)):
        if len(found.queries) == count:
            break
        brief = Brief(chunk=chunks[doc_id], assignment=_BRIEF, constraints=Constraints(), language=language)
        for candidate in _at_once(generator.propose(brief)).candidates:
            name = f"{recipe}-{len(found.queries)}"
            found.queries[name], found.sources[name] = candidate.text, doc_id
            if candidate.masked:
                found.masked[doc_id] = chunks[doc_id].text_without(candidate.masked)
            parts[len(found.queries) % draws].append(name)
    return FreshQueries(found.queries, found.sources, found.masked, tuple(map(tuple, parts)))


def _chunk(number: int, text: str) -> Chunk:
    name = f"p{number}"
    return Chunk(chunk_id=name, span=Span(doc_id=name, start=0, end=len(text)), text=text)


def _at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that never waits, also where an event loop is running."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    raise AssertionError("the simulation waited")
