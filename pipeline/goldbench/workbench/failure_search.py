"""The causes of failures of the systems of a set; what takes long is remembered."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from goldbench.measures.ranks.failure_causes import Cause, Listed, failure_causes
from goldbench.review.reviewable_set import ReviewableSet
from goldbench.stages.select.passage_likeness import PassageLikeness
from goldbench.text.matched_words import shares_words
from goldbench.workbench.gold_labels import GoldLabels
from goldbench.workbench.system_runs import HeldRun, Results

_REMEMBERED = 2**16


class FailureSearch:
    """Tells why a system fails at a query.

    Args:
        material: The set.
        labels: Its grades.
        k: The number of first results of which one must be relevant.
    """

    def __init__(self, material: ReviewableSet, labels: GoldLabels, k: int) -> None:
        self.k, self._material, self._labels = k, material, labels
        self._alike = lru_cache(_REMEMBERED)(PassageLikeness(material.corpus).are_alike)

    def listed(self, results: Results, query_id: str) -> list[Listed]:
        """Return the results of a query with their grades."""
        grades = self._labels.grades(query_id)
        pairs = zip(results.doc_ids, results.scores, strict=True)
        return [Listed(doc_id, score, grades.get(doc_id)) for doc_id, score in pairs]

    def causes(self, run: HeldRun, query_id: str) -> tuple[Cause, ...]:
        """Return why a system fails at a query; empty if it does not."""
        relevant = self._labels.relevant(query_id)
        results = run.of(query_id)
        if not relevant or not set(results.doc_ids[: self.k]).isdisjoint(relevant):
            return ()
        return failure_causes(
            self.listed(results, query_id),
            relevant,
            self.k,
            level=self._labels.level,
            shares_words=lambda doc_id: self._shares(query_id, doc_id),
            alike=self._alike,
        )

    def copies_of(self, doc_id: str, relevant: Sequence[str]) -> str | None:
        """Return the first relevant passage that a passage is a near-duplicate of, None if there is none."""
        return next((one for one in relevant if one != doc_id and self._alike(doc_id, one)), None)

    def _shares(self, query_id: str, doc_id: str) -> bool:
        text = self._material.corpus.get(doc_id)
        asked = self._material.asked[query_id].judged
        return text is None or shares_words(asked, text, self._material.language(query_id))
