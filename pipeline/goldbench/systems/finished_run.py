"""A finished run, in any format that is scored, as a retriever."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from goldbench.measures.ranks.order import best


class FinishedRun:
    """The results of a run; a query that the run lacks has no results."""

    def __init__(self, run: Mapping[str, Mapping[str, float]]) -> None:
        self._run = run

    def index(self, passages: Mapping[str, str]) -> None:
        """Do nothing: the passages were searched before."""

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query the first ``k`` results of the run."""
        return {query_id: best(self._run.get(query_id, {}), k) for query_id in queries}


def read_finished(path: Path) -> Mapping[str, Mapping[str, float]]:
    """Return the scores of a run by query id and document id.

    Raises:
        InputError: The file does not exist, or is not a run.
    """
    from goldbench.score.runs import load_run, read_results

    return read_results(load_run(path))
