"""What a manifest tells of a grading, counted for the pairs that a set holds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from goldbench.records.judgment import Flag, Judgment, Origin, PooledPair
from goldbench.records.query import Query
from goldbench.records.relevance import settled


def grading_counts(
    pool: Iterable[PooledPair], judgments: Iterable[Judgment], queries: Iterable[Query]
) -> dict[str, Any]:
    """Return the figures of a grading that follow from the pairs of a set, by their names in ``Grading``.

    The judge checks are not among them: they are about the judge, whatever part of the pairs a set holds.

    Args:
        pool: The pairs of the set.
        judgments: The judgments of the set; judge checks may be among them.
        queries: The queries of the set.
    """
    rows = list(pool)
    every_query = list(queries)
    pairs: defaultdict[tuple[str, str], list[Judgment]] = defaultdict(list)
    for judgment in judgments:
        if judgment.canary is None and judgment.shared_from is None:
            pairs[judgment.query_id, judgment.chunk_id].append(judgment)
    shared = sum(row.shared_from is not None for row in rows)
    grades = [[judgment.relevance for judgment in of_pair] for of_pair in pairs.values()]
    several = [of_pair for of_pair in grades if len(of_pair) > 1]
    flags = Counter(judgment.flag.value for of_pair in pairs.values() for judgment in of_pair)
    flags.pop(Flag.NONE.value, None)
    return {
        "feedback": sum(row.origin is Origin.FEEDBACK for row in rows),
        "pairs": len(rows) - shared,
        "judged": len(pairs),
        "shared": shared,
        "unjudged": max(0, len(rows) - shared - len(pairs)),
        "escalated": len(several),
        "capped": sum(of_pair[0].capped for of_pair in pairs.values()),
        "flagged": dict(sorted(flags.items())),
        "spread": dict(sorted(Counter(int(max(of_pair) - min(of_pair)) for of_pair in several).items())),
        "grades": dict(sorted(Counter(int(settled(of_pair)) for of_pair in grades).items())),
        "too_broad": sum(bool(query.too_broad) for query in every_query),
        "unreachable": sum(bool(query.unreachable) for query in every_query),
    }
