"""Figures on the queries: the documents they cover, the words they share with their source, their word order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from goldbench.card.described_set import DescribedSet
from goldbench.card.figures import absent, figure
from goldbench.measures.statistics.intervals import bootstrap_intervals
from goldbench.measures.statistics.word_order import MOST_PASSAGES, query_orders
from goldbench.records.set_card import Figure, FigureState, Value
from goldbench.stages.check.overlap import copied_run, overlap
from goldbench.stages.check.single_checks import SHORTEST_COPIED_RUN
from goldbench.text.display import queries as query_count

QUERIES = "queries"
PEOPLE_OVERLAP = "people's queries: 23% to 41% in collections of abstracts, 67% to 78% if they ask about one paragraph"
"""The overlap of people's queries with their relevant documents, by ``python -m tests.benchmarks.query_overlap``."""
OK_FROM = 0.75
FAIL_BELOW = 0.7
PEOPLE_ORDER = "people's queries: 78% to 99%"
SALAD = "word salad: 47% to 63%"
"""Ranges of the means of eleven collections, measured in November 2026; the limits lie between.

Word salad are people's words in random order; simulated queries have 52% to 58%.
"""
FEWEST_MEASURED = 10
"""Fewest queries whose word order is measured, so that their mean says something."""
RESAMPLES = 2_000


def query_figures(material: DescribedSet, *, seed: int) -> Iterator[Figure]:
    """Yield the figures on the queries.

    Args:
        material: The gold set.
        seed: Seed of the random word orders and of their interval, 0 or more.
    """
    yield _coverage(material)
    yield _overlap(material)
    yield natural_order(material, seed=seed)


def _coverage(material: DescribedSet) -> Figure:
    sources = [source for source in map(material.source, material.queries) if source is not None]
    if not sources:
        return absent(QUERIES, "sources covered", "the set does not record which passage each query was written from")
    documents = set(material.document_of.values()) or set(material.corpus)
    covered = len({material.document_of.get(source, source) for source in sources})
    reachable = min(len(documents), len(sources))
    return figure(
        QUERIES,
        "sources covered",
        covered / len(documents),
        f"{covered:,} of {len(documents):,} documents have a query; {len(sources):,} queries can cover {reachable:,}.",
        unit="share of documents",
        values={"documents": len(documents), "with a query": covered, "reachable": reachable},
        limit=(">= 80 % of the documents, or of as many as there are queries (judgement)", covered >= 0.8 * reachable),
    )


def overlaps(material: DescribedSet) -> dict[str, float]:
    """Return the share of each query's content terms that stand in its source, or else in its relevant passages."""
    shares = {}
    for query_id, text in material.queries.items():
        source = material.source(query_id)
        passages = [source] if source else material.relevant(query_id)
        language = material.languages[query_id]
        each = [overlap(text, material.corpus[passage], language) for passage in passages if passage in material.corpus]
        known = [share for share in each if share is not None]
        if known:
            shares[query_id] = sum(known) / len(known)
    return shares


def _overlap(material: DescribedSet) -> Figure:
    shares = list(overlaps(material).values())
    if not shares:
        reason = "no query has both a content word and a passage to compare with"
        return absent(QUERIES, "lexical overlap", reason)
    mean = float(np.mean(shares))
    values: dict[str, Value] = {"p10": float(np.percentile(shares, 10)), "p90": float(np.percentile(shares, 90))}
    sources = {query_id: material.source(query_id) for query_id in material.queries}
    runs = [
        copied_run(material.queries[asked_id], material.corpus[source])
        for asked_id, source in sources.items()
        if source
    ]
    if runs:
        values["longest copied run, words"] = max(runs)
        values[f"queries that copy {SHORTEST_COPIED_RUN} or more words"] = sum(
            run >= SHORTEST_COPIED_RUN for run in runs
        )
    against = "source" if runs else "relevant passages"
    return figure(
        QUERIES,
        "lexical overlap",
        mean,
        f"On average, {mean:.0%} of a query's content words stand in its {against} ({PEOPLE_OVERLAP}). A high overlap "
        "favours word matching.",
        unit="share of content words, mean",
        values=values,
        limit=("<= 0.70, warning above 0.80", FigureState.INFO if 0.70 < mean <= 0.80 else mean <= 0.70),
    )


def natural_order(material: DescribedSet, *, seed: int) -> Figure:
    """Return the figure that tells queries in a natural word order from word salad.

    Args:
        material: The gold set.
        seed: Seed of the random orders and of the interval, 0 or more.
    """
    ids = sorted(material.corpus)
    passages = [material.corpus[doc_id] for doc_id in ids[:: max(1, len(ids) // MOST_PASSAGES)]]
    orders = query_orders(material.queries, material.languages, passages, seed=seed)
    if len(orders.ranks) < FEWEST_MEASURED:
        left_out = "; ".join(f"{query_count(count)} {reason}" for reason, count in orders.left_out.items())
        measured = f"{query_count(len(orders.ranks))} can be measured; {FEWEST_MEASURED} are needed"
        return absent(QUERIES, "natural word order", f"{measured}. Left out: {left_out or 'none'}")
    ranks = np.array(list(orders.ranks.values()))
    mean = float(ranks.mean())
    ends = bootstrap_intervals(ranks[:, None, None], [], resamples=RESAMPLES, seed=seed)
    values: dict[str, Value] = {
        "95 % interval, low": float(ends.mean_low[0, 0]),
        "95 % interval, high": float(ends.mean_high[0, 0]),
        "queries measured": len(ranks),
    }
    values |= {f"left out: {reason}": count for reason, count in orders.left_out.items()}
    unusual = sorted((rank, query_id) for query_id, rank in orders.ranks.items() if rank < 0.5)
    return figure(
        QUERIES,
        "natural word order",
        mean,
        f"On average, the passages make the order of a query's words more likely than {mean:.0%} of random orders of "
        f"these words ({PEOPLE_ORDER}; {SALAD}). A fluent query without sense passes.",
        unit="share of random orders, mean",
        values=values,
        items=[query_id for _, query_id in unusual[:20]],
        limit=(
            f">= {OK_FROM:.2f}, failed below {FAIL_BELOW:.2f}",
            FigureState.FAIL if mean < FAIL_BELOW else mean >= OK_FROM,
        ),
    )
