"""Why a passage has its grade: the grades of a gold set's judges with their reasons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from goldbench.errors import InputError
from goldbench.goldset.folder import GoldFolder
from goldbench.report.failure_browser import Reason


def reasons_of(home: GoldFolder | None, wanted: Mapping[str, Collection[str]]) -> dict[str, dict[str, list[Reason]]]:
    """Return what the judges said by query and passage; nothing if the set was not judged or its file is damaged.

    Args:
        home: The folder of the gold set, or None.
        wanted: The passages of each query that are asked for.
    """
    found: defaultdict[str, dict[str, list[Reason]]] = defaultdict(dict)
    if home is None:
        return found
    try:
        for one in home.judgments.read_any():
            if one.canary is None and one.chunk_id in wanted.get(one.query_id, ()):
                shared = f"shares the grade of its near-duplicate {one.shared_from}. " if one.shared_from else ""
                capped = "Lowered to 1: no quote from the passage. " if one.capped else ""
                reason = Reason(int(one.relevance), one.assessor, f"{shared}{capped}{one.rationale}".strip())
                found[one.query_id].setdefault(one.chunk_id, []).append(reason)
    except InputError:
        found.clear()
    return found


def pooled_of(home: GoldFolder | None, wanted: Mapping[str, Collection[str]]) -> dict[str, set[str]] | None:
    """Return the passages of each query that were to be judged; None if the set has no pool.

    Args:
        home: As in `reasons_of`.
        wanted: As in `reasons_of`.
    """
    if home is None or not home.pool.exists():
        return None
    found: defaultdict[str, set[str]] = defaultdict(set)
    try:
        for one in home.pool.read():
            if one.chunk_id in wanted.get(one.query_id, ()):
                found[one.query_id].add(one.chunk_id)
    except InputError:
        return None
    return found
