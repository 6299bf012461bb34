"""The figure that tells queries in a natural word order from word salad."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from goldbench.card.described_set import DescribedSet
from goldbench.card.figures import absent, figure
from goldbench.measures.statistics.intervals import bootstrap_intervals
from goldbench.measures.statistics.word_order import MOST_PASSAGES, QueryOrders, query_orders
from goldbench.records.set_card import Figure, State, Value
from goldbench.text.display import queries

NATURAL = "word order"
NAME = "natural word order"
OK_FROM, FAIL_BELOW = 0.75, 0.7
PEOPLE, SALAD = "people's queries: 78% to 99%", "word salad: 47% to 63%"
"""Ranges of the means of eleven collections, by ``python -m tests.benchmarks.naturalness``; the limits lie between.

Word salad are people's words in random order; queries of the recipe ``terms`` have 52% to 58%.
"""
FEWEST_MEASURED = 10
"""Fewest queries whose word order is measured, so that their mean says something."""

_RESAMPLES = 2_000


def natural_order(material: DescribedSet, *, seed: int) -> Figure:
    """Return the figure on the word order of the queries.

    Args:
        material: The gold set.
        seed: Seed of the random orders and of the interval, not negative.
    """
    ids = sorted(material.corpus)
    passages = [material.corpus[doc_id] for doc_id in ids[:: max(1, len(ids) // MOST_PASSAGES)]]
    found = query_orders(material.queries, material.languages, passages, seed=seed)
    if len(found.ranks) < FEWEST_MEASURED:
        return absent(NATURAL, NAME, _too_few(found))
    return _figure(found, _by_generator(found, material), seed)


def _too_few(found: QueryOrders) -> str:
    reasons = "; ".join(f"{queries(count)} {reason}" for reason, count in found.left_out.items())
    return f"{queries(len(found.ranks))} can be measured; {FEWEST_MEASURED} are needed. Left out: {reasons or 'none'}"


def _by_generator(found: QueryOrders, material: DescribedSet) -> dict[str, list[float]]:
    """Return the ranks by what wrote the queries, if a set names several writers of enough queries each."""
    parts: dict[str, list[float]] = defaultdict(list)
    for query_id, rank in found.ranks.items():
        parts[str(material.notes.get(query_id, {}).get("generator"))].append(rank)
    enough = {name: ranks for name, ranks in sorted(parts.items()) if len(ranks) >= FEWEST_MEASURED}
    return enough if len(parts) > 1 else {}


def _figure(found: QueryOrders, parts: Mapping[str, Sequence[float]], seed: int) -> Figure:
    ranks = np.array(list(found.ranks.values()))
    mean = float(ranks.mean())
    ends = bootstrap_intervals(ranks[:, None, None], [], resamples=_RESAMPLES, seed=seed)
    means = {name: float(np.mean(part)) for name, part in parts.items()}
    worst = min([mean, *means.values()])
    values: dict[str, Value] = {
        "95 % interval, low": float(ends.mean_low[0, 0]),
        "95 % interval, high": float(ends.mean_high[0, 0]),
        "queries measured": len(ranks),
    }
    values |= {f"by {name}": value for name, value in means.items()}
    values |= {f"left out: {reason}": count for reason, count in found.left_out.items()}
    unusual = sorted((rank, query_id) for query_id, rank in found.ranks.items() if rank < 0.5)
    low = "".join(f" Queries by {name}: {value:.0%}." for name, value in means.items() if value < OK_FROM)
    return figure(
        NATURAL,
        NAME,
        mean,
        f"On average, the passages make the order of a query's words more likely than {mean:.0%} of random orders of "
        f"these words ({PEOPLE}; {SALAD}).{low} A fluent query without sense "
        "passes.",
        unit="share of random orders, mean",
        values=values,
        items=[query_id for _, query_id in unusual[:20]],
        limit=(
            f">= {OK_FROM:.2f}, failed below {FAIL_BELOW:.2f}; also for the queries of each generator",
            State.FAIL if worst < FAIL_BELOW else worst >= OK_FROM,
        ),
    )
