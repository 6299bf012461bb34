"""The grades of a set as they are, and as they will be when people's decisions are applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from goldbench.formats.runs.judgments import level_of
from goldbench.review.people import Grades, lineage, people_of
from goldbench.review.reviewable_set import ReviewableSet
from goldbench.review.state import State
from goldbench.score.runs import Gold

if TYPE_CHECKING:
    from goldbench.measures.names import Measure


@dataclass
class GoldLabels:
    """The judgments of a set, with people's decisions that are not applied yet."""

    gold: Gold
    material: ReviewableSet
    _people: Grades = field(default_factory=dict, init=False)
    _seq: int = field(default=-1, init=False)
    level: int = field(init=False)
    """The smallest relevant grade when people's decisions are applied."""

    def __post_init__(self) -> None:
        self.level = self.gold.level

    def renew(self, state: State) -> set[str]:
        """Take in people's decisions, and return the queries whose grades changed by it."""
        if state.seq == self._seq:
            return set()
        before, level, self._seq = self._people, self.level, state.seq
        self._people = people_of(
            state,
            self.material.queries,
            corpus=self.material.corpus,
            pool=self.material.pool,
            earlier=lineage(self.material.metadata),
        )
        known = before.keys() | self._people.keys()
        self.level = level_of({one: self.grades(one) for one in self.gold.qrels.keys() | known})
        if self.level != level:
            return {*self.material.queries}
        return {one for one in known if before.get(one) != self._people.get(one)}

    def people(self, query_id: str) -> Mapping[str, int]:
        """Return the grades that people settled for a query."""
        return self._people.get(query_id, {})

    def grades(self, query_id: str) -> dict[str, int]:
        """Return the grade of each judged passage of a query, people's over the set's."""
        return {**self.gold.qrels.get(query_id, {}), **self.people(query_id)}

    def is_pending(self, query_id: str) -> bool:
        """Whether people graded a passage of a query otherwise than the set does."""
        applied = self.gold.qrels.get(query_id, {})
        return any(applied.get(doc_id) != grade for doc_id, grade in self.people(query_id).items())

    def at_level(self, measures: Sequence[Measure]) -> list[Measure]:
        """Return the measures as they are computed when people's decisions are applied."""
        return [replace(one, rel=self.level) if one.rel == self.gold.level else one for one in measures]

    def relevant(self, query_id: str) -> list[str]:
        """Return the relevant passages of a query, the highest grade first."""
        grades = self.grades(query_id)
        found = [doc_id for doc_id, grade in grades.items() if grade >= self.level]
        return sorted(found, key=lambda doc_id: (-grades[doc_id], doc_id))
