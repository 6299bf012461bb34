"""Figures on the queries: their length, their types, how many words they share with their source."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from goldbench.card.described_set import DescribedSet
from goldbench.card.figures import NO_SOURCE, absent, figure
from goldbench.card.redundancy import alike_figures
from goldbench.measures.statistics.shares import jensen_shannon
from goldbench.records.set_card import Figure, State, Value
from goldbench.stages.check.overlap import copied_run, overlap
from goldbench.stages.check.set_checks import LOW_OVERLAP
from goldbench.stages.check.single_checks import SHORTEST_COPIED_RUN
from goldbench.stages.critique import GOOD, Critic
from goldbench.text.deixis import deixis
from goldbench.text.words import term_weight, terms

PEOPLE = "people's queries: 23% to 41% in collections of abstracts, 67% to 78% if they ask about one paragraph"
"""The overlap of people's queries with their relevant documents, by ``python -m tests.benchmarks.query_overlap``."""
LENGTHS, MIX, OVERLAP, ALONE = "length", "mix", "overlap", "self-contained"


def asking_figures(material: DescribedSet, shares: Mapping[str, float]) -> Iterator[Figure]:
    """Yield the figures on the queries.

    Args:
        material: The gold set.
        shares: Overlap of each query with its source, from 0 to 1; see `overlaps`.
    """
    yield _lengths(material)
    yield _seed_distance(material)
    yield from _mix(material)
    yield from _overlap(material, shares)
    yield _copied(material)
    yield from alike_figures(material)
    yield from _alone(material)


def words_of(text: str) -> int:
    """Return the length of a query in words, at least 1; in scripts without spaces, the estimated number of words."""
    return max(1, round(sum(map(term_weight, terms(text)))))


def _lengths(material: DescribedSet) -> Figure:
    lengths = [words_of(text) for text in material.queries.values()]
    middle = float(np.median(lengths))
    values: dict[str, Value] = {
        "p5": float(np.percentile(lengths, 5)),
        "p95": float(np.percentile(lengths, 95)),
        "mean": float(np.mean(lengths)),
    }
    values |= {f"{length} words": count for length, count in sorted(Counter(lengths).items())}
    seeds = _seeds(material)
    return figure(
        LENGTHS,
        "query length",
        middle,
        f"Half of the queries have {middle:g} words or fewer.",
        unit="words, median",
        values=values,
        limit=("as the seed queries", State.INFO) if seeds else ("median 6 to 14 (judgement)", 6 <= middle <= 14),
    )


def _seeds(material: DescribedSet) -> list[str]:
    generate = material.settings.get("generate", {})
    found = generate.get("seed_queries", []) if isinstance(generate, Mapping) else []
    return [text for text in found if isinstance(text, str)] if isinstance(found, list) else []


def _seed_distance(material: DescribedSet) -> Figure:
    name, seeds = "length against seed queries", _seeds(material)
    if not seeds:
        return absent(LENGTHS, name, "no seed queries were given")
    ours = Counter(words_of(text) for text in material.queries.values())
    apart = jensen_shannon(ours, Counter(words_of(text) for text in seeds))
    meaning = (
        f"Jensen-Shannon divergence between the lengths of {len(material.queries):,} queries and {len(seeds):,} seed "
        "queries: 0 = the same lengths, 1 = no length in common. With few seed queries it is never near 0."
    )
    return figure(LENGTHS, name, apart, meaning, unit="bits")


def _mix(material: DescribedSet) -> Iterator[Figure]:
    mix = material.manifest.requested if material.manifest else {}
    for key, name in (("kind", "types"), ("style", "styles")):
        rows = mix.get(key)
        if not rows:
            yield absent(MIX, name, f"no {name} were requested")
            continue
        asked, kept = sum(row.asked for row in rows.values()), sum(row.kept for row in rows.values())
        short = [
            value for value, row in rows.items() if row.asked and (row.kept * asked < 0.5 * row.asked * max(kept, 1))
        ]
        yield figure(
            MIX,
            name,
            len(short),
            f"Kept less than half as often as requested: {', '.join(short)}."
            if short
            else f"All requested {name} were kept at least half as often as requested.",
            unit="under half of their quota",
            values={
                f"{value}: {part}": getattr(row, part) for value, row in rows.items() for part in ("asked", "kept")
            },
            limit=("none under half of its quota", not short),
        )


def overlaps(material: DescribedSet) -> dict[str, float]:
    """Return the share of each query's content terms that stand in its source, or else in its relevant passages."""
    found = {}
    for query_id, text in material.queries.items():
        source = material.source(query_id)
        passages = [source] if source else material.relevant(query_id)
        shares = [
            value
            for doc_id in passages
            if doc_id in material.corpus
            and (value := overlap(text, material.corpus[doc_id], material.languages[query_id])) is not None
        ]
        if shares:
            found[query_id] = sum(shares) / len(shares)
    return found


def _overlap(material: DescribedSet, shares: Mapping[str, float]) -> Iterator[Figure]:
    if not shares:
        yield absent(OVERLAP, "lexical overlap", "no query has both a content word and a passage to compare with")
        return
    values = list(shares.values())
    mean = float(np.mean(values))
    by_source: dict[str, list[float]] = defaultdict(list)
    for query_id, value in shares.items():
        source = material.source(query_id)
        if source is not None:
            by_source[material.document_of.get(source, source)].append(value)
    means = sorted(float(np.mean(items)) for items in by_source.values())
    against = "source" if by_source else "relevant passages"
    details: dict[str, Value] = {"p10": float(np.percentile(values, 10)), "p90": float(np.percentile(values, 90))}
    if means:
        details |= {"documents": len(means), "least mean of a document": means[0], "median": float(np.median(means)),
                    "greatest mean of a document": means[-1]}  # fmt: skip
    yield figure(
        OVERLAP,
        "lexical overlap",
        mean,
        f"On average, {mean:.0%} of a query's content words stand in its {against} ({PEOPLE}). A high overlap favours "
        "word matching.",
        unit="share of content words, mean",
        values=details,
        limit=("<= 0.70, warning above 0.80", State.INFO if 0.70 < mean <= 0.80 else mean <= 0.70),
    )
    low = sum(value <= LOW_OVERLAP for value in values) / len(values)
    yield figure(
        OVERLAP,
        "queries of low overlap",
        low,
        f"{low:.0%} of the queries share at most {LOW_OVERLAP:.0%} of their content words with their {against}.",
        unit="share of queries",
        limit=(">= 40 %", low >= 0.4),
    )


def _copied(material: DescribedSet) -> Figure:
    runs = [
        copied_run(text, material.corpus[source])
        for query_id, text in material.queries.items()
        if (source := material.source(query_id)) is not None
    ]
    if not runs:
        return absent(OVERLAP, "longest copied run", NO_SOURCE)
    longest, many = max(runs), sum(run >= SHORTEST_COPIED_RUN for run in runs)
    return figure(
        OVERLAP,
        "longest copied run",
        longest,
        f"{many:,} of {len(runs):,} queries copy {SHORTEST_COPIED_RUN} or more words in a row from their source.",
        unit="words",
        values={"median": float(np.median(runs)), f"queries of {SHORTEST_COPIED_RUN} or more": many},
        limit=(f"< {SHORTEST_COPIED_RUN}", longest < SHORTEST_COPIED_RUN),
    )


def _alone(material: DescribedSet) -> Iterator[Figure]:
    pointing = [query_id for query_id, text in material.queries.items() if deixis(text, material.languages[query_id])]
    clean = 1 - len(pointing) / len(material.queries)
    yield figure(
        ALONE,
        "queries without pointing words",
        clean,
        "Share of queries that do not point at unseen text («this section», «the author», «mentioned above»). Found by "
        "the same patterns with which a build rejects queries.",
        unit="share of queries",
        items=pointing[:20],
        limit=(">= 0.95", clean >= 0.95),
    )
    scores = [
        score for query_id in material.queries if (score := _critic(material.notes.get(query_id, {}))) is not None
    ]
    if not scores:
        yield absent(ALONE, "stand-alone by a critic", "no critic was asked whether queries can be understood alone")
        return
    kept = sum(score >= GOOD for score in scores) / len(scores)
    yield figure(
        ALONE,
        "stand-alone by a critic",
        kept,
        f"Share of {len(scores):,} queries that the critic scored {GOOD} or 5 of 5. The same critic rejected the "
        "queries below that, so this is not an independent opinion.",
        unit="share of queries",
        values={"mean score": float(np.mean(scores))},
        limit=(">= 0.95", kept >= 0.95),
    )


def _critic(note: Mapping[str, Any]) -> int | None:
    scores = note.get("scores")
    found = scores.get(Critic.STAND_ALONE.value) if isinstance(scores, Mapping) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None
