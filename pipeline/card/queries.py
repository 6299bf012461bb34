"""Figures on the queries themselves: how long, of which kind, how near their texts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pipeline.card.described_set import Material
from pipeline.card.figures import absent, figure, good, percent
from pipeline.card.redundancy import alike_figures
from pipeline.measures.statistics.divergence import jensen_shannon
from pipeline.stages.check.overlap import copied_run, overlap
from pipeline.text.deixis import deixis
from pipeline.text.words import term_weight, terms
from schemas.set_card import Figure, State, Value

LENGTHS, MIX, OVERLAP, ALONE = "length", "mix", "overlap", "self-contained"
_LOW, _HIGH, _COPIED = 0.60, 0.80, 6
_HUMAN = "people's queries against all their relevant documents: 0.22 to 0.41"
_STAND_ALONE = "stand-alone"
_CRITIC_KEEPS = 4


def asking_figures(material: Material, shares: Mapping[str, float]) -> Iterator[Figure]:
    """Yield the figures on queries.

    Args:
        material: the set.
        shares: the overlap of each query, of ``overlaps``.
    """
    yield _lengths(material)
    yield _seed_distance(material)
    yield from _mix(material)
    yield from _overlap(material, shares)
    yield _copied(material)
    yield from alike_figures(material)
    yield from _alone(material)


def words_of(text: str) -> int:
    """Return the length of a query in words; in scripts without spaces, in what a word is there, at least 1."""
    return max(1, round(sum(map(term_weight, terms(text)))))


def _lengths(material: Material) -> Figure:
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
        threshold="as the seed queries" if seeds else "median 6 to 14 (judgement)",
        state=State.INFO if seeds else good(6 <= middle <= 14),
    )


def _seeds(material: Material) -> list[str]:
    generate = material.settings.get("generate", {})
    found = generate.get("seed_queries", []) if isinstance(generate, Mapping) else []
    return [text for text in found if isinstance(text, str)] if isinstance(found, list) else []


def _seed_distance(material: Material) -> Figure:
    name, seeds = "length against seed queries", _seeds(material)
    if not seeds:
        return absent(LENGTHS, name, "no seed queries were given")
    ours = Counter(words_of(text) for text in material.queries.values())
    theirs = Counter(words_of(text) for text in seeds)
    apart = jensen_shannon(ours, theirs)
    assert apart is not None
    return figure(
        LENGTHS,
        name,
        apart,
        f"Jensen-Shannon divergence of the lengths of {len(material.queries):,} queries and {len(seeds):,} seed "
        "queries: 0 is alike, 1 has nothing in common; few seeds are always some way off.",
        unit="bits",
    )


def _mix(material: Material) -> Iterator[Figure]:
    mix = material.manifest.mix if material.manifest else {}
    for key, name in (("kind", "types"), ("style", "styles")):
        rows = mix.get(key)
        if not rows:
            yield absent(MIX, name, f"no {name} were asked for")
            continue
        asked, kept = sum(row.asked for row in rows.values()), sum(row.kept for row in rows.values())
        short = [
            value for value, row in rows.items() if row.asked and (row.kept * asked < 0.5 * row.asked * max(kept, 1))
        ]
        yield figure(
            MIX,
            name,
            len(short),
            f"{', '.join(short)}: kept less than half as often as asked for."
            if short
            else "Every one that was asked for is kept at least half as often as it was asked for.",
            unit="under half of their quota",
            values={
                f"{value}: {part}": getattr(row, part) for value, row in rows.items() for part in ("asked", "kept")
            },
            threshold="none under half of its quota",
            state=good(not short),
        )


def overlaps(material: Material) -> dict[str, float]:
    """Return the share of each query's content terms that its source holds, or where none is known its positives."""
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


def _overlap(material: Material, shares: Mapping[str, float]) -> Iterator[Figure]:
    if not shares:
        yield absent(OVERLAP, "lexical overlap", "no query has a content word and a passage to compare with")
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
        f"Of a query's content words {mean:.0%} stand in its {against}; {_HUMAN}. More of them favour word matching.",
        unit="share of content words, mean",
        values=details,
        threshold="<= 0.70, warning above 0.80",
        state=State.OK if mean <= 0.70 else State.WARN if mean > _HIGH else State.INFO,
    )
    low = sum(value <= _LOW for value in values) / len(values)
    yield figure(
        OVERLAP,
        "queries of low overlap",
        low,
        f"{percent(low)} of the queries share 60 % of their content words or fewer with their {against}.",
        unit="share of queries",
        threshold=">= 40 %",
        state=good(low >= 0.4),
    )


def _copied(material: Material) -> Figure:
    runs = [
        copied_run(text, material.corpus[source])
        for query_id, text in material.queries.items()
        if (source := material.source(query_id)) is not None
    ]
    if not runs:
        return absent(OVERLAP, "longest copied run", "nobody noted which passage a query was written from")
    longest, many = max(runs), sum(run >= _COPIED for run in runs)
    return figure(
        OVERLAP,
        "longest copied run",
        longest,
        f"{many:,} of {len(runs):,} queries copy {_COPIED} words or more in a row from their source.",
        unit="words",
        values={"median": float(np.median(runs)), "queries of 6 or more": many},
        threshold=f"< {_COPIED}",
        state=good(longest < _COPIED),
    )


def _alone(material: Material) -> Iterator[Figure]:
    pointing = [query_id for query_id, text in material.queries.items() if deixis(text, material.languages[query_id])]
    clean = 1 - len(pointing) / len(material.queries)
    yield figure(
        ALONE,
        "queries without pointing words",
        clean,
        "By patterns alone: no «this section», «the author», «mentioned above». The build's own filter uses the same.",
        unit="share of queries",
        items=pointing[:20],
        threshold=">= 0.95",
        state=good(clean >= 0.95),
    )
    scores = [
        score for query_id in material.queries if (score := _critic(material.notes.get(query_id, {}))) is not None
    ]
    if not scores:
        yield absent(ALONE, "stand-alone by a critic", "no critic was asked whether queries can be understood alone")
        return
    kept = sum(score >= _CRITIC_KEEPS for score in scores) / len(scores)
    yield figure(
        ALONE,
        "stand-alone by a critic",
        kept,
        f"Share of {len(scores):,} queries that the critic gave {_CRITIC_KEEPS} or 5 of 5; queries below were filtered "
        "out by this same critic, so this is no fresh opinion.",
        unit="share of queries",
        values={"mean score": float(np.mean(scores))},
        threshold=">= 0.95",
        state=good(kept >= 0.95),
    )


def _critic(note: Mapping[str, Any]) -> int | None:
    scores = note.get("scores")
    found = scores.get(_STAND_ALONE) if isinstance(scores, Mapping) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None
