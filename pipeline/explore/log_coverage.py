"""How far a log of users' queries is covered: by the passages, and by the queries of the gold set.

What counts as covered is calibrated on the gold set itself. Its queries have an answer among the passages, so a user's
query is near enough to a passage if it is as near as all but the least near of those. A gold set that stands for its
users has queries as near to theirs as its queries are to one another, each looked for among the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.errors import InputError, UsageError
from pipeline.formats.query_logs import Asked, Log, folded
from pipeline.measures.statistics.coverage import Nearest, Words
from pipeline.measures.statistics.floats import Floats
from pipeline.measures.statistics.query_forms import distributions
from pipeline.measures.statistics.salient_terms import salient_terms
from pipeline.measures.statistics.shares import divergence_by_chance, jensen_shannon
from pipeline.ports import Retriever
from pipeline.score.runs import Gold
from pipeline.text.display import one_line
from pipeline.text.language import detect_language
from pipeline.text.words import content_terms, terms

Flags = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]

SAMPLED = 300
"""How many passages are looked at to tell the language of the collection."""

UNRELATED = 0.99
"""Two queries belong together if they are more alike than this share of pairs about different passages."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is asked for.

    ``quantile`` of the gold set's own queries is left out as the least near; ``most`` distinct queries are compared,
    the most frequent first; ``clusters`` and ``examples`` are how many are shown.
    """

    quantile: float = 0.05
    most: int = 20_000
    clusters: int = 10
    examples: int = 5
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Neighbours:
    """How near the log is to passages and to the gold set's queries, and how near the gold set is to both."""

    measure: str
    log_passages: Nearest
    gold_passages: Nearest
    log_gold: Nearest
    gold_gold: Nearest


def drift(gold: Gold, log: Log, settings: Settings, *, vectors: tuple[str, Retriever] | None = None) -> dict[str, Any]:
    """Return how a log is covered by a gold set, as plain values fit for JSON.

    Args:
        gold: A gold set with its texts.
        log: The users' queries.
        settings: What is asked for.
        vectors: A system whose scores are cosines, and its name; None compares words.

    Raises:
        InputError: The gold set has no texts, or fewer than two queries.
        RetrieverFailed: The system cannot index or search.
    """
    queries, corpus = gold.queries(), gold.corpus()
    queries = {query_id: text for query_id, text in queries.items() if query_id in gold.qrels}
    if len(queries) < 2 or not corpus:
        raise InputError(str(gold.path), "holds no texts of passages and of at least two queries to compare with")
    language = main_language(corpus.values())
    compared = _compared(log, settings)
    texts = [asked.text for asked in compared]
    words = Words(content_terms(text, language) for text in corpus.values())
    if vectors is None:
        near = _by_words(words, texts, queries, language)
    else:
        near = _by_vectors(*vectors, corpus, texts, queries)
    return _report(gold, log, settings, queries, list(corpus), compared, words, near, language)


def main_language(texts: Iterable[str]) -> str | None:
    """Return the language of most of the texts that can be told, None where it is none of them."""
    sample = list(texts)
    step = max(1, len(sample) // SAMPLED)
    found = Counter(detect_language(text[:1000]) for text in sample[::step][:SAMPLED])
    language, _ = max(found.items(), key=lambda item: (item[1], item[0] or ""), default=(None, 0))
    return language


def _compared(log: Log, settings: Settings) -> list[Asked]:
    """Return the most frequent queries; among those asked equally often an even sample of the log."""
    asked = list(log.queries.values())
    if len(asked) <= settings.most:
        return asked
    shuffled = np.random.default_rng(settings.seed).permutation(len(asked))
    chosen = sorted(shuffled.tolist(), key=lambda place: -asked[place].count)[: settings.most]
    return [asked[place] for place in sorted(chosen)]


def _by_words(words: Words, texts: Sequence[str], queries: Mapping[str, str], language: str | None) -> Neighbours:
    log, own = (
        [content_terms(text, language) or terms(text) for text in group] for group in (texts, list(queries.values()))
    )
    return Neighbours(
        measure="passages: weighted share of the query's words; queries: TF-IDF cosine",
        log_passages=words.coverage(log),
        gold_passages=words.coverage(own),
        log_gold=words.likeness(log, own),
        gold_gold=words.likeness(own),
    )


def _by_vectors(
    name: str, system: Retriever, corpus: Mapping[str, str], texts: Sequence[str], queries: Mapping[str, str]
) -> Neighbours:
    asked = {f"log-{place}": text for place, text in enumerate(texts)}
    system.index(corpus)
    numbers = {doc_id: place for place, doc_id in enumerate(corpus)}
    log_passages = _first(system.search(asked, k=1), list(asked), numbers)
    gold_passages = _first(system.search(queries, k=1), list(queries), numbers)
    system.index(queries)
    numbers = {query_id: place for place, query_id in enumerate(queries)}
    return Neighbours(
        measure=f"cosine of {name}",
        log_passages=log_passages,
        gold_passages=gold_passages,
        log_gold=_first(system.search(asked, k=1), list(asked), numbers),
        gold_gold=_first(system.search(queries, k=2), list(queries), numbers, own=True),
    )


def _first(
    run: Mapping[str, Mapping[str, float]], query_ids: Sequence[str], numbers: Mapping[str, int], *, own: bool = False
) -> Nearest:
    likeness, position = np.zeros(len(query_ids)), np.full(len(query_ids), -1, dtype=np.int64)
    for place, query_id in enumerate(query_ids):
        for doc_id, score in run.get(query_id, {}).items():
            if not (own and doc_id == query_id):
                likeness[place], position[place] = score, numbers[doc_id]
                break
    return Nearest(likeness, position)


def _covered(near: Floats, calibration: Floats, quantile: float) -> tuple[Flags, float]:
    """Return which are near enough, and from which likeness on that is; nothing in common is never near."""
    threshold = float(np.quantile(calibration, quantile, method="lower"))
    return (near >= threshold - 1e-9) & (near > 0), threshold


def _report(  # noqa: PLR0913, PLR0917  every part of the comparison
    gold: Gold,
    log: Log,
    settings: Settings,
    queries: Mapping[str, str],
    passage_ids: Sequence[str],
    compared: Sequence[Asked],
    words: Words,
    near: Neighbours,
    language: str | None,
) -> dict[str, Any]:
    counts = np.array([asked.count for asked in compared])
    known = {folded(text) for text in queries.values()}
    same = np.array([folded(asked.text) in known for asked in compared], dtype=bool)
    by_passages, passages_from = _covered(near.log_passages.likeness, near.gold_passages.likeness, settings.quantile)
    by_gold, gold_from = _covered(near.log_gold.likeness, near.gold_gold.likeness, settings.quantile)
    by_passages, by_gold = by_passages | same, by_gold | same  # what the gold set asks has its answer
    groups = [next(iter(sorted(d for d, g in gold.qrels[q].items() if g >= gold.level)), "") for q in queries]
    own = [content_terms(text, language) or terms(text) for text in queries.values()]
    together = words.unrelated(own, groups, quantile=UNRELATED)
    naming = _Naming(words, language, compared, list(queries.values()), near, passage_ids, together, settings)
    missing, absent = by_passages & ~by_gold, ~by_passages
    shapes = _shapes(log, queries, language, settings)
    return {
        "log": {
            "name": log.name,
            "lines": log.lines,
            "distinct": len(log.queries),
            "compared": len(compared),
            "compared_lines": int(counts.sum()),
            "passed_over": dict(sorted(log.passed_over.items())),
            "in_gold": sum(asked.count for key, asked in log.queries.items() if key in known),
        },
        "gold": {"queries": len(queries), "passages": len(passage_ids), "language": language},
        "measure": near.measure,
        "quantile": settings.quantile,
        "passages": {"covered": _share(by_passages, counts), "threshold": passages_from},
        "queries": {
            "covered": _share(by_gold, counts),
            "threshold": gold_from,
            "nearness": _nearness(near.log_gold.likeness, near.gold_gold.likeness, counts),
        },
        "distributions": shapes,
        "together_from": together,
        "not_in_gold": naming.clusters(np.flatnonzero(missing).tolist()),
        "not_in_passages": naming.clusters(np.flatnonzero(absent).tolist()),
    }


def _share(covered: Flags, counts: Counts) -> dict[str, float]:
    return {"lines": float(counts[covered].sum() / counts.sum()), "distinct": float(np.mean(covered))}


def _nearness(log: Floats, own: Floats, counts: Counts) -> float:
    """Return the chance that a line of the log is nearer to the gold set than one of its own queries to the others.

    One half: the log might be drawn from the same; ties count half.
    """
    ordered = np.sort(own)
    below, upto = np.searchsorted(ordered, log - 1e-12), np.searchsorted(ordered, log + 1e-12, side="right")
    return float(np.average((below + upto) / (2 * len(own)), weights=counts))


def _shapes(
    log: Log, queries: Mapping[str, str], language: str | None, settings: Settings
) -> dict[str, dict[str, Any]]:
    asked = distributions(((asked.text, asked.count) for asked in log.queries.values()), language)
    known = distributions(((text, 1) for text in queries.values()), language)
    return {
        name: {
            "log": asked[name],
            "gold": known[name],
            "divergence": jensen_shannon(asked[name], known[name]),
            "by_chance": divergence_by_chance(asked[name], known[name], seed=settings.seed),
        }
        for name in asked
    }


@dataclass(frozen=True, slots=True)
class _Naming:
    """Makes clusters of uncovered queries fit to be read: what they are about, how many, examples, what is nearest."""

    words: Words
    language: str | None
    compared: Sequence[Asked]
    gold: Sequence[str]
    near: Neighbours
    passage_ids: Sequence[str]
    together: float
    settings: Settings

    def clusters(self, places: Sequence[int]) -> dict[str, Any]:
        """Return the clusters of the queries at these places, the heaviest first."""
        found = [content_terms(self.compared[place].text, self.language) for place in places]
        weights = [self.compared[place].count for place in places]
        groups = self.words.clusters(found, weights, likeness=self.together)
        shown = groups[: self.settings.clusters]
        return {
            "lines": sum(weights),
            "distinct": len(weights),
            "clusters": len(groups),
            "shown": [self._described([places[member] for member in group]) for group in shown],
        }

    def _described(self, members: Sequence[int]) -> dict[str, Any]:
        centre = members[0]
        ranked = [centre, *sorted(members[1:], key=lambda place: (-self.compared[place].count, place))]
        passage, query = int(self.near.log_passages.position[centre]), int(self.near.log_gold.position[centre])
        return {
            "about": salient_terms(
                [(self.compared[place].text, self.compared[place].count) for place in members],
                self.words,
                self.language,
            ),
            "lines": sum(self.compared[place].count for place in members),
            "distinct": len(members),
            "examples": [
                {"text": self.compared[p].text, "line": self.compared[p].line, "lines": self.compared[p].count}
                for p in ranked[: self.settings.examples]
            ],
            "nearest_passage": self.passage_ids[passage] if passage >= 0 else None,
            "nearest_query": one_line(self.gold[query]) if query >= 0 else None,
        }


def check_quantile(quantile: float) -> None:
    """Refuse a quantile that is none.

    Raises:
        UsageError: it is not from 0 to below 1.
    """
    if not 0 <= quantile < 1:
        raise UsageError(f"--quantile {quantile}: give a share from 0 to below 1, as 0.05")
