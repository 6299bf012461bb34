"""What a manifest tells of a grading, counted anew for the pairs that a set holds now."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from goldbench.records.judgment import Flag, Judgment, Origin, Pooled
from goldbench.records.manifest import Grading
from goldbench.records.query import Query
from goldbench.records.relevance import settled


def recounted(
    grading: Grading, pool: Iterable[Pooled], judgments: Iterable[Judgment], queries: Iterable[Query]
) -> Grading:
    """Return the figures of a grading for the pairs of a set that holds a part of what was graded.

    The judge checks stay those of the whole grading, because they are about the judge.

    Args:
        grading: The figures of all that was graded.
        pool: The pairs of the set.
        judgments: The judgments of the set; judge checks may be among them.
        queries: The queries of the set.
    """
    rows, kept = list(pool), list(queries)
    pairs: defaultdict[tuple[str, str], list[Judgment]] = defaultdict(list)
    for one in judgments:
        if one.canary is None and one.shared_from is None:
            pairs[one.query_id, one.chunk_id].append(one)
    shared = sum(row.shared_from is not None for row in rows)
    several = [[one.relevance for one in found] for found in pairs.values() if len(found) > 1]
    flags = Counter(one.flag.value for found in pairs.values() for one in found if one.flag is not Flag.NONE)
    final = Counter(int(settled([one.relevance for one in found])) for found in pairs.values())
    return grading.model_copy(
        update={
            "feedback": sum(row.origin is Origin.FEEDBACK for row in rows),
            "pairs": len(rows) - shared,
            "judged": len(pairs),
            "shared": shared,
            "unjudged": max(0, len(rows) - shared - len(pairs)),
            "escalated": len(several),
            "capped": sum(found[0].capped for found in pairs.values()),
            "flagged": dict(sorted(flags.items())),
            "spread": dict(sorted(Counter(int(max(grades) - min(grades)) for grades in several).items())),
            "grades": dict(sorted(final.items())),
            "too_broad": sum(bool(query.too_broad) for query in kept),
            "unreachable": sum(bool(query.unreachable) for query in kept),
        }
    )
