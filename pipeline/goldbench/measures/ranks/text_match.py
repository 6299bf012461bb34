"""Matching by text, for retrievers that return passages without ids: which passage is a retrieved text?

A retrieved text that equals a passage is that passage. Any other text matches a judged passage if either contains the
other. Texts are compared after Unicode's compatibility forms, case and white space are normalised. Each retrieved text
matches one passage at most, and each passage is found once, by the first text that matches. So no measure exceeds 1,
and a passage that is retrieved twice counts once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from goldbench.measures.ranks.judged_ranks import Qrels
from goldbench.text.similarity import normal


class TextMatch:
    """The passages of a gold set, by their texts."""

    def __init__(self, qrels: Qrels, texts: Mapping[str, str]) -> None:
        """Take the judgments and the text of each passage; those without a judgment are found if a text equals them."""
        self._qrels = qrels
        self._texts = texts
        self._judged: dict[str, list[tuple[str, str]]] = {}

    def run_of(self, retrieved: Mapping[str, Sequence[str]]) -> dict[str, dict[str, float]]:
        """Return the run of the texts that each query retrieved, best first; ids of other texts name their place."""
        return {query_id: self._ranked(query_id, texts) for query_id, texts in retrieved.items()}

    def find(self, query_id: str, text: str, used: Collection[str]) -> str | None:
        """Return the id of the passage that a text is; None if it is none.

        Args:
            query_id: The query that retrieved the text. Its judged passages come first, the highest grade first.
            text: The text.
            used: Ids of the passages that the query found before, which are not found again.
        """
        text = normal(text)
        if not text:
            return None
        equal = self._equal.get(text)
        if equal is not None:
            grades = self._qrels.get(query_id, {})
            open_ = [doc_id for doc_id in equal if doc_id not in used]
            return max(open_, key=lambda doc_id: grades.get(doc_id, -1), default=None)
        return next(
            (
                id_
                for id_, known_text in self._known(query_id)
                if id_ not in used and (text in known_text or known_text in text)
            ),
            None,
        )

    @cached_property
    def _equal(self) -> dict[str, list[str]]:
        equal: dict[str, list[str]] = {}
        for doc_id in sorted(self._texts):
            equal.setdefault(normal(self._texts[doc_id]), []).append(doc_id)
        return equal

    @cached_property
    def _unmatched(self) -> str:
        """How the ids of texts begin that are no passage; no id of the set begins so."""
        prefix = "no-passage-"
        known = {*self._texts, *(doc_id for grades in self._qrels.values() for doc_id in grades)}
        while any(doc_id.startswith(prefix) for doc_id in known):
            prefix = f"_{prefix}"
        return prefix

    def _known(self, query_id: str) -> list[tuple[str, str]]:
        """Return the judged passages of a query with their texts, the highest grade first."""
        if query_id not in self._judged:
            grades = self._qrels.get(query_id, {})
            ranked = sorted((-grade, doc_id) for doc_id, grade in grades.items() if grade >= 0)
            texts = ((doc_id, normal(self._texts.get(doc_id, ""))) for _, doc_id in ranked)
            self._judged[query_id] = [(doc_id, text) for doc_id, text in texts if text]
        return self._judged[query_id]

    def _ranked(self, query_id: str, texts: Sequence[str]) -> dict[str, float]:
        run: dict[str, float] = {}
        for position, text in enumerate(texts):
            run[self.find(query_id, text, run) or f"{self._unmatched}{position + 1}"] = -float(position)
        return run
