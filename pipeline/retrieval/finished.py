"""A run that is finished already, as a retriever."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.measures.ranks.order import best


class Finished:
    """The results of a run, by query id; a query that the run lacks found nothing."""

    def __init__(self, run: Mapping[str, Mapping[str, float]]) -> None:
        """Take the scores of the run: query id -> document id -> score."""
        self._run = run

    def index(self, passages: Mapping[str, str]) -> None:
        """Take note of nothing: the passages were searched before."""

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query the first ``k`` of what the run holds."""
        return {query_id: best(self._run.get(query_id, {}), k) for query_id in queries}
