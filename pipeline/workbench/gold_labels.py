"""The grades of a set as they are, and as they will be when people's decisions are applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from goldbench.pipeline.review.people import Grades, lineage, people_of
from goldbench.pipeline.review.reviewable_set import ReviewableSet
from goldbench.pipeline.review.state import State
from goldbench.pipeline.score.runs import Gold


@dataclass
class GoldLabels:
    """The judgments of a set, with people's decisions that are not applied yet."""

    gold: Gold
    material: ReviewableSet
    _people: Grades = field(default_factory=dict, init=False)
    _seq: int = field(default=-1, init=False)

    def renew(self, state: State) -> set[str]:
        """Take in people's decisions, and return the queries whose grades changed by it."""
        if state.seq == self._seq:
            return set()
        before, self._seq = self._people, state.seq
        self._people = people_of(
            state,
            self.material.queries,
            corpus=self.material.corpus,
            pool=self.material.pool,
            earlier=lineage(self.material.metadata),
        )
        return {one for one in before.keys() | self._people.keys() if before.get(one) != self._people.get(one)}

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

    def relevant(self, query_id: str) -> list[str]:
        """Return the relevant passages of a query, the highest grade first."""
        grades = self.grades(query_id)
        found = [doc_id for doc_id, grade in grades.items() if grade >= self.gold.level]
        return sorted(found, key=lambda doc_id: (-grades[doc_id], doc_id))
