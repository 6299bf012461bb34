"""How far a log of users' queries is covered by the passages, and by the queries of the gold set.

Whether a passage answers a query is decided by rules about its words (`word_rules`), and where people or a model wrote
enough queries of the gold set, by thresholds read off those (`verdicts`). What neither decides stays undecided. A gold
set that represents its users has queries as near to theirs as its queries are to one another, each compared with the
others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from goldbench.errors import InputError, Message, UsageError
from goldbench.explore.log_neighbours import Neighbours, by_vectors, by_words
from goldbench.explore.passage_pool import SHOWN, looked_up
from goldbench.explore.readings import LogReading
from goldbench.explore.verdicts import LikenessThresholds, QueryOrigin, by_rules, thresholds, with_thresholds, writers
from goldbench.explore.word_rules import CoverageState, Decider, WordVerdict
from goldbench.formats.query_logs import Log, LoggedQuery, folded
from goldbench.measures.statistics.coverage import Words, salient_terms
from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.query_forms import distributions
from goldbench.measures.statistics.shares import divergence_by_chance, jensen_shannon
from goldbench.ports import Retriever
from goldbench.score.runs import Gold
from goldbench.text.display import one_line
from goldbench.text.language import detect_language
from goldbench.text.words import content_terms, terms

Flags = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]

SAMPLED = 300
"""Number of passages sampled to detect the language of the collection."""

UNRELATED = 0.99
"""Two queries are in one cluster if they are more alike than this share of pairs about different passages."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the comparison.

    ``quantile`` is the share of the gold set's own queries left out as the least near; ``most`` is the number of
    distinct queries compared, the most frequent first; ``clusters`` and ``examples`` are the numbers shown.
    """

    quantile: float = 0.05
    most: int = 20_000
    clusters: int = 10
    examples: int = 5
    seed: int = 0


def drift(gold: Gold, log: Log, settings: Settings, *, vectors: tuple[str, Retriever] | None = None) -> dict[str, Any]:
    """Return the report of `compare` without a model that reads; arguments and errors are the same.

    Args:
        gold: A gold set with its texts.
        log: The users' queries.
        settings: Settings of the comparison.
    """
    comparison = compare(gold, log, settings, vectors=vectors)
    return comparison.report(looked_up(comparison.undecided(), comparison.corpus, comparison.language))


def compare(gold: Gold, log: Log, settings: Settings, *, vectors: tuple[str, Retriever] | None = None) -> LogComparison:
    """Return what words say about the coverage of a log by a gold set, and similarity where thresholds are known.

    Args:
        gold: A gold set with its texts.
        log: The users' queries.
        settings: Settings of the comparison.
        vectors: Name of a system whose scores are cosines, and the system; None compares words.

    Raises:
        InputError: The gold set has no texts, or fewer than two queries.
        RetrieverFailed: The system cannot index or search.
    """
    queries = gold.queries()
    corpus = gold.corpus()
    queries = {query_id: text for query_id, text in queries.items() if query_id in gold.qrels}
    if len(queries) < 2 or not corpus:
        raise InputError(
            str(gold.path), "has no texts of passages and of at least two queries; give the folder of a gold set"
        )
    language = main_language(corpus.values())
    compared = _compared(log, settings)
    texts = [query.text for query in compared]
    words = Words(content_terms(text, language) for text in corpus.values())
    numbers = {doc_id: position for position, doc_id in enumerate(corpus)}
    answers = {
        query_id: frozenset(
            numbers[d] for d, grade in gold.qrels[query_id].items() if grade >= gold.level and d in numbers
        )
        for query_id in queries
    }
    if vectors is None:
        near = by_words(words, texts, queries, answers, language)
    else:
        near = by_vectors(*vectors, corpus, texts, queries, answers)
    written = writers(gold, queries)
    authored = [written[query_id] == QueryOrigin.AUTHOR and bool(answers[query_id]) for query_id in queries]
    limits = thresholds(near.gold_passages.likeness, near.gold_others.likeness, authored)
    rules = by_rules(texts, list(corpus.values()), queries, answers, written, language)
    verdicts = with_thresholds(rules, near.log_passages, limits)
    asked_about = frozenset(number for places in answers.values() for number in places)
    return LogComparison(
        gold, log, settings, queries, corpus, compared, words, near, language, limits, verdicts, asked_about
    )


def main_language(texts: Iterable[str]) -> str | None:
    """Return the most frequent language of the texts, or None if it cannot be detected."""
    sample = list(texts)
    step = max(1, len(sample) // SAMPLED)
    languages = Counter(detect_language(text[:1000]) for text in sample[::step][:SAMPLED])
    language, _ = max(languages.items(), key=lambda item: (item[1], item[0] or ""), default=(None, 0))
    return language


def _compared(log: Log, settings: Settings) -> list[LoggedQuery]:
    """Return the most frequent queries; of those asked equally often, a random sample."""
    log_queries = list(log.queries.values())
    if len(log_queries) <= settings.most:
        return log_queries
    shuffled = np.random.default_rng(settings.seed).permutation(len(log_queries))
    chosen = sorted(shuffled.tolist(), key=lambda position: -log_queries[position].count)[: settings.most]
    return [log_queries[position] for position in sorted(chosen)]


def _covered(near: Floats, calibration: Floats, quantile: float) -> tuple[Flags, float]:
    """Return which queries are near enough, and the least likeness for it; without anything in common none is."""
    threshold = float(np.quantile(calibration, quantile, method="lower"))
    return (near >= threshold - 1e-9) & (near > 0), threshold


def _share(covered: Flags, counts: Counts) -> dict[str, float]:
    return {"lines": float(counts[covered].sum() / counts.sum()), "distinct": float(np.mean(covered))}


def _nearness(log: Floats, own: Floats, counts: Counts) -> float:
    """Return the chance that a line of the log is nearer to the gold set than one of its own queries to the others.

    At 0.5 log and gold set are alike. Ties count half.
    """
    ordered = np.sort(own)
    below = np.searchsorted(ordered, log - 1e-12)
    upto = np.searchsorted(ordered, log + 1e-12, side="right")
    return float(np.average((below + upto) / (2 * len(own)), weights=counts))


WIDTH = 100
"""Characters shown of a passage to look at."""


@dataclass(frozen=True)
class LogComparison:
    """A log and a gold set with everything that was found out about the two."""

    gold: Gold
    log: Log
    settings: Settings
    queries: Mapping[str, str]
    corpus: Mapping[str, str]
    compared: Sequence[LoggedQuery]
    words: Words
    near: Neighbours
    language: str | None
    limits: LikenessThresholds
    verdicts: Sequence[WordVerdict]
    asked_about: frozenset[int]
    """The positions of the passages that answer a query of the gold set."""
    reading: LogReading | None = None

    @cached_property
    def passage_ids(self) -> list[str]:
        """The ids of the passages, in their order."""
        return list(self.corpus)

    def undecided(self) -> dict[str, str]:
        """Return the text of each query that nothing decides, by an id, the most frequent first."""
        places = [
            position for position, verdict in enumerate(self.verdicts) if verdict.state is CoverageState.UNDECIDED
        ]
        places.sort(key=lambda row: (-self.compared[row].count, row))
        return {_id(row): self.compared[row].text for row in places}

    def read(self, reading: LogReading) -> LogComparison:
        """Return the comparison with what a model decided about undecided queries.

        Args:
            reading: Its decisions, by the ids of `undecided`.
        """
        numbers = {passage: row for row, passage in enumerate(self.corpus)}
        verdicts = list(self.verdicts)
        for position, verdict in enumerate(self.verdicts):
            decision = reading.decisions.get(_id(position))
            if decision is None:
                continue
            if decision.state is CoverageState.UNDECIDED:
                verdicts[position] = replace(verdict, reason=f"{verdict.reason}; {decision.reason}")
            else:
                answers = (numbers[decision.passage],) if decision.passage is not None else ()
                verdicts[position] = WordVerdict(decision.state, decision.reason, answers, Decider.MODEL)
        return replace(self, verdicts=verdicts, reading=reading)

    def report(self, look_at: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Return the report as plain values fit for JSON.

        ``decisions`` holds for each distinct query its state (``covered``, ``not_covered``, ``undecided``), what
        decided it (``rules``, ``similarity``, ``model``; None if nothing did), the reason, the passage that it rests
        on, and passages to look at if it is undecided; ``passages`` the shares of the states and the thresholds, None
        if unknown; ``reading`` what a model read, None if none did; and ``not_in_gold``, ``not_in_passages`` and
        ``undecided`` clusters of queries.

        Args:
            look_at: Ids of the passages nearest to an undecided query, the best first, by its id in `undecided`.
        """
        near = self.near
        quantile = self.settings.quantile
        counts = np.array([compared_query.count for compared_query in self.compared])
        known = {folded(text) for text in self.queries.values()}
        same = np.array([folded(compared_query.text) in known for compared_query in self.compared], dtype=bool)
        states = {
            state: np.array([verdict.state == state for verdict in self.verdicts], dtype=bool)
            for state in CoverageState
        }
        by_gold, gold_from = self._asked_already(quantile)
        by_gold = by_gold | same
        together = self._together()
        return {
            "log": {
                "name": self.log.name,
                "lines": self.log.lines,
                "distinct": len(self.log.queries),
                "compared": len(self.compared),
                "compared_lines": int(counts.sum()),
                "passed_over": dict(sorted(self.log.passed_over.items())),
                "in_gold": sum(query.count for key, query in self.log.queries.items() if key in known),
            },
            "gold": {"queries": len(self.queries), "passages": len(self.passage_ids), "language": self.language},
            "measure": near.measure,
            "quantile": quantile,
            "passages": {
                **{state.value: _share(flags, counts) for state, flags in states.items()},
                "decided_by": self._decided_by(counts),
                "threshold": self.limits.as_json(),
            },
            "reading": None if self.reading is None else self.reading.as_json(),
            "queries": {
                "covered": _share(by_gold, counts),
                "threshold": gold_from,
                "nearness": _nearness(near.log_gold.likeness, near.gold_gold.likeness, counts),
            },
            "distributions": self._shapes(),
            "together_from": together,
            "not_in_gold": self._clusters(states[CoverageState.COVERED] & ~by_gold, together, look_at),
            "not_in_passages": self._clusters(states[CoverageState.NOT_COVERED], together, look_at),
            "undecided": self._clusters(states[CoverageState.UNDECIDED], together, look_at),
            "decisions": [
                {
                    "text": compared_query.text,
                    "line": compared_query.line,
                    "lines": compared_query.count,
                    **self._decision(position, look_at),
                }
                for position, compared_query in enumerate(self.compared)
            ],
        }

    def _decision(self, position: int, look_at: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        verdict = self.verdicts[position]
        own = [self.passage_ids[number] for number in verdict.passages]
        is_open = verdict.state is CoverageState.UNDECIDED
        near = list(dict.fromkeys([*own, *look_at.get(_id(position), ())]))[:SHOWN] if is_open else []
        return {
            "state": verdict.state.value,
            "by": None if is_open else verdict.by.value,
            "reason": verdict.reason,
            "passage": own[0] if own else None,
            "look_at": near,
        }

    def _decided_by(self, counts: Counts) -> dict[str, dict[str, int]]:
        """Return the numbers of lines and of distinct queries that each way of deciding decided."""
        deciders = {}
        for decider in Decider:
            flags = np.array(
                [v.by is decider and v.state is not CoverageState.UNDECIDED for v in self.verdicts], dtype=bool
            )
            deciders[decider.value] = {"lines": int(counts[flags].sum()), "distinct": int(flags.sum())}
        return deciders

    def _asked_already(self, quantile: float) -> tuple[Flags, float | None]:
        """Return which queries of the log the gold set's stand for, and the least likeness for it if it is known.

        Without a threshold, they stand for what is answered by a passage that one of them asks about.
        """
        if self.limits.known:
            return _covered(self.near.log_gold.likeness, self.near.gold_gold.likeness, quantile)
        flags = [
            verdict.state == CoverageState.COVERED and not self.asked_about.isdisjoint(verdict.passages)
            for verdict in self.verdicts
        ]
        return np.array(flags, dtype=bool), None

    def _together(self) -> float:
        """Return the likeness from which on two queries are in one cluster."""
        own = [content_terms(text, self.language) or terms(text) for text in self.queries.values()]
        level = self.gold.level
        qrels = self.gold.qrels
        groups = [min((d for d, grade in qrels[q].items() if grade >= level), default="") for q in self.queries]
        return self.words.unrelated(own, groups, quantile=UNRELATED)

    def _shapes(self) -> dict[str, dict[str, Any]]:
        log_shapes = distributions(((query.text, query.count) for query in self.log.queries.values()), self.language)
        known = distributions(((text, 1) for text in self.queries.values()), self.language)
        return {
            name: {
                "log": log_shapes[name],
                "gold": known[name],
                "divergence": jensen_shannon(log_shapes[name], known[name]),
                "by_chance": divergence_by_chance(log_shapes[name], known[name], seed=self.settings.seed),
            }
            for name in log_shapes
        }

    def _clusters(self, chosen: Flags, together: float, look_at: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Return the clusters of the chosen queries, the heaviest first."""
        places: list[int] = np.flatnonzero(chosen).tolist()
        query_terms = [content_terms(self.compared[position].text, self.language) for position in places]
        weights = [self.compared[position].count for position in places]
        groups = self.words.clusters(query_terms, weights, likeness=together)
        return {
            "lines": sum(weights),
            "distinct": len(weights),
            "clusters": len(groups),
            "shown": [
                self._described([places[member] for member in group], look_at)
                for group in groups[: self.settings.clusters]
            ],
        }

    def _described(self, members: Sequence[int], look_at: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Return what a cluster is about, its size, examples, and what is nearest to its centre, its first member."""
        centre = members[0]
        ranked = [centre, *sorted(members[1:], key=lambda position: (-self.compared[position].count, position))]
        decided = self.verdicts[centre].passages
        passage = decided[0] if decided else int(self.near.log_passages.position[centre])
        query = int(self.near.log_gold.position[centre])
        queries_of_cluster = [(self.compared[member].text, self.compared[member].count) for member in members]
        return {
            "about": salient_terms(queries_of_cluster, self.words, self.language),
            "lines": sum(count for _, count in queries_of_cluster),
            "distinct": len(members),
            "examples": [
                {
                    "text": self.compared[p].text,
                    "line": self.compared[p].line,
                    "lines": self.compared[p].count,
                    **self._shown(p, look_at),
                }
                for p in ranked[: self.settings.examples]
            ],
            "nearest_passage": self.passage_ids[passage] if passage >= 0 else None,
            "nearest_query": one_line(list(self.queries.values())[query]) if query >= 0 else None,
        }

    def _shown(self, position: int, look_at: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Return why an example is where it is, and the passages to look at with the beginning of their texts."""
        decision = self._decision(position, look_at)
        passages = [
            {"id": doc_id, "text": one_line(self.corpus[doc_id][: 4 * WIDTH])[:WIDTH]} for doc_id in decision["look_at"]
        ]
        return {"reason": decision["reason"], "by": decision["by"], "look_at": passages}


def _id(position: int) -> str:
    """Return the id of the query at this position among those compared."""
    return f"log-{position}"


def check_quantile(quantile: float) -> None:
    """Refuse a quantile out of range.

    Raises:
        UsageError: The quantile is not from 0 to below 1.
    """
    if not 0 <= quantile < 1:
        raise UsageError(Message("{quantile} {}: give a share from 0 to below 1, as 0.05", quantile))
