"""Passages that belong together: joined by a rare term that they share, alike enough to be asked about in one question.

Reads: chunks, and which of them may be asked about. Writes: groups of positions, in a seeded order. Fails: never.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import regex

from goldbench.ports import StoredRecords
from goldbench.records.corpus import Chunk
from goldbench.text.draws import number_of
from goldbench.text.similarity import jaccard
from goldbench.text.words import content_terms, terms

MOST_CHUNKS = 20_000
"""Passages among which companions are sought: the first of the drawing order, which are a fair sample."""
MOST_HOLDERS = 20
"""Passages that may share a term that joins two of them; a term of more says little about what a passage is about."""
MOST_ALIKE = 0.5
"""Jaccard similarity of the terms of two passages, 0 to 1, from which they say the same and are not joined.

Terms that more than half of the passages hold are left out: a template says nothing."""
MOST_TURNS = 3
"""How often a passage is the first of a group, each time with another companion."""
_NAME_WEIGHT = 3.0
"""What a name or an identifier weighs against an ordinary word that is as rare."""
_NAME = regex.compile(
    r"(?<=[\p{L}\p{N},;)]\s)\p{Lu}[\p{L}\p{M}\p{N}]++|_\p{L}[\p{L}\p{N}]*+"
    r"|(?<![\p{L}\p{N}])[\p{L}\p{N}]*(?:\p{L}[._-]?\p{N}|\p{N}[._-]?\p{L}|\p{Ll}\p{Lu}|_\p{L})[\p{L}\p{N}]*+"
)
"""A capitalised word within a sentence, or a word with digits, underscores or capitals inside."""


@dataclass(frozen=True, slots=True)
class _Member:
    """What is known of a passage: where it is from, its terms that less than half share, and which are names."""

    position: int
    chunk_id: str
    doc_id: str
    start: int
    end: int
    terms: frozenset[int]
    names: frozenset[int]


class Companions:
    """The passages that may be joined, with the terms that few of them share.

    Args:
        chunks: All chunks.
        order: Positions of the chunks that may be asked about, one per cluster of near-duplicates, in drawing order.
    """

    def __init__(self, chunks: StoredRecords[Chunk], order: Iterable[int]) -> None:
        numbers: dict[str, int] = {}
        members = [
            _member(chunks.at(int(position)), int(position), numbers)
            for position in itertools.islice(order, MOST_CHUNKS)
        ]
        held = Counter(term for member in members for term in member.terms)
        common = {term for term, count in held.items() if count > max(2, len(members) // 2)}
        self._members = [replace(member, terms=member.terms - common) for member in members]
        self._places = {member.position: number for number, member in enumerate(members)}
        rare = {term: count for term, count in held.items() if 2 <= count <= MOST_HOLDERS and term not in common}
        self._holders: dict[int, list[int]] = {term: [] for term in rare}
        for number, member in enumerate(self._members):
            for term in member.terms & rare.keys():
                self._holders[term].append(number)
        total = len(self._members)
        self._weights = {term: math.log(total / count) + 1 / count for term, count in rare.items()}

    def groups(
        self, *, seed: int, purpose: str, size: int = 2, across_documents: bool = False
    ) -> Iterator[tuple[int, ...]]:
        """Yield positions of groups, each passage up to three times as the first, in an order that the seed decides.

        The first time a passage goes with the one that shares most with it, then with the next. A passage that no
        other can be joined to gives no group. One more passage leaves the
        order of the others as it is. It changes the companions of those that share a rare term with it, and now and
        then of others, because how rare a term is depends on how many passages there are.

        Args:
            seed: Seed of the run.
            purpose: What the groups are for; another purpose has another order.
            size: How many passages belong to a group, 2 or 3.
            across_documents: Whether all passages of a group are of different documents.
        """
        seen: set[frozenset[int]] = set()
        draws = {number: number_of(seed, purpose, member.chunk_id) for number, member in enumerate(self._members)}
        order = sorted(draws, key=lambda draw: (draws[draw], self._members[draw].chunk_id))
        for turn, first in itertools.product(range(MOST_TURNS), order):
            group = [first]
            while len(group) < size:
                ranked = self._ranked(group, across_documents=across_documents)
                skipped = turn if len(group) == 1 else 0
                if len(ranked) <= skipped:
                    break
                group.append(ranked[skipped])
            if len(group) == size and frozenset(group) not in seen:
                seen.add(frozenset(group))
                yield tuple(self._members[number].position for number in group)

    def sources(self, *, seed: int, purpose: str) -> Iterator[int]:
        """Yield the positions of all passages in an order that the seed decides.

        Args:
            seed: Seed of the run.
            purpose: What they are for; another purpose has another order.
        """
        drawn = sorted(self._members, key=lambda member: (number_of(seed, purpose, member.chunk_id), member.chunk_id))
        yield from (companion.position for companion in drawn)

    def near(self, position: int, *, count: int) -> Iterator[int]:
        """Yield the positions of the passages that share most with one, at most ``count``.

        Args:
            position: The position of the passage.
            count: How many are wanted.
        """
        number = self._places.get(position)
        if number is None:
            return
        scores = self._scores(number)
        ranked = sorted(scores, key=lambda score: (-scores[score], self._members[score].chunk_id))
        yield from (self._members[neighbour].position for neighbour in ranked[:count])

    def _ranked(self, group: Sequence[int], *, across_documents: bool) -> list[int]:
        """Return the passages that share most with those of the group and may join them, the best first."""
        scores: Counter[int] = Counter()
        for number in group:
            scores.update(self._scores(number))
        ranked = sorted(scores, key=lambda score: (-scores[score], self._members[score].chunk_id))
        allowed = (
            neighbour
            for neighbour in ranked
            if all(self._joinable(number, neighbour, across_documents=across_documents) for number in group)
        )
        return list(itertools.islice(allowed, MOST_TURNS))

    def _scores(self, number: int) -> dict[int, float]:
        """Return the weight of the rare terms that each other passage shares with one."""
        scores: dict[int, float] = {}
        member = self._members[number]
        for term in sorted(member.terms & self._holders.keys()):
            weight = self._weights[term] * (_NAME_WEIGHT if term in member.names else 1.0)
            for neighbour in self._holders[term]:
                if neighbour != number:
                    scores[neighbour] = scores.get(neighbour, 0.0) + weight
        return scores

    def _joinable(self, number: int, neighbour: int, *, across_documents: bool) -> bool:
        first = self._members[number]
        second = self._members[neighbour]
        if number == neighbour or (
            first.doc_id == second.doc_id
            and (across_documents or (first.start < second.end and second.start < first.end))
        ):
            return False
        return jaccard(len(first.terms & second.terms), len(first.terms), len(second.terms)) < MOST_ALIKE


def _member(chunk: Chunk, position: int, numbers: dict[str, int]) -> _Member:
    text = "\n".join((chunk.title, *chunk.headings, chunk.text))
    content = content_terms(text, None)
    named = {part for match in _NAME.finditer(text) for part in terms(match.group())}
    known = frozenset(numbers.setdefault(term, len(numbers)) for term in content)
    return _Member(
        position=position,
        chunk_id=chunk.chunk_id,
        doc_id=chunk.span.doc_id,
        start=chunk.span.start,
        end=chunk.span.end,
        terms=known,
        names=frozenset(numbers[term] for term in named if term in numbers) & known,
    )
