"""Read what a set says of its queries of particular kinds, and return the figures of runs on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from typing import Any

from goldbench.goldset.gold_path import built_with_shares
from goldbench.measures.result import Result
from goldbench.measures.statistics.special_figures import Special
from goldbench.score.runs import Gold, Run, read_results


def special_of(gold: Gold, runs: Mapping[str, Run], results: Mapping[str, Result]) -> dict[str, Special]:
    """Return the figures of each run; empty for a set without queries of particular kinds.

    Args:
        gold: The gold set.
        runs: The runs by name.
        results: Their scores.

    Raises:
        InputError: A run cannot be read again.
    """
    members = gold.members()
    if not _has_kinds(gold, members):
        return {}
    notes = gold.about()
    return {
        name: _special(members, notes, partial(read_results, runs[name]), result) for name, result in results.items()
    }


def special_by(gold: Gold, run: Mapping[str, Mapping[str, float]], result: Result) -> Special | None:
    """Return the figures of a run in memory; None for a set without queries of particular kinds.

    Args:
        gold: The gold set.
        run: The score of each document by query.
        result: Its scores.
    """
    members = gold.members()
    return _special(members, gold.about(), lambda: run, result) if _has_kinds(gold, members) else None


def _has_kinds(gold: Gold, members: Mapping[str, object]) -> bool:
    return bool(members) or (not gold.in_memory and built_with_shares(gold.path))


def _special(
    members: Mapping[str, Mapping[str, Any]],
    notes: Mapping[str, Mapping[str, Any]],
    read: Callable[[], Mapping[str, Mapping[str, float]]],
    result: Result,
) -> Special:
    from goldbench.measures.statistics.special_figures import Special, losses, means_by_kind, separation

    unanswerable = members.get("unanswerable", {})
    scores = read() if unanswerable else {}
    top = {query_id: max(documents.values(), default=-inf) for query_id, documents in scores.items()}
    searched = any(query_id in top for query_id in unanswerable)  # a run leaves out queries without results
    without = [top.get(query_id, -inf) for query_id in unanswerable] if searched else []
    answered = [top.get(query_id, -inf) for query_id in result.query_ids]
    differ = len({score for score in (*answered, *without) if score > -inf}) > 1
    return Special(
        kinds=means_by_kind(result, notes),
        noise=losses(result, members.get("originals", {}), notes),
        separation=separation(answered, without) if without and answered and differ else None,
        unanswerable=len(without),
        empty=sum(score == -inf for score in without),
    )
