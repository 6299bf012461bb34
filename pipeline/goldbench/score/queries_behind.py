"""The queries behind the figures of a page: results with grades and reasons, ranks, causes of failures, words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.gold_path import folder_of
from goldbench.measures.names import Measure, parse_measure
from goldbench.measures.ranks.failure_causes import Cause, Listed, failure_causes
from goldbench.measures.result import Result
from goldbench.measures.statistics.comparison import aligned
from goldbench.measures.statistics.slices import labels_of
from goldbench.report.failure_browser import Behind, Found, hardest
from goldbench.report.rank_buckets import ranks_of
from goldbench.score.judge_reasons import pooled_of, reasons_of
from goldbench.score.runs import Gold, Retrieved
from goldbench.score.searched_queries import conversations
from goldbench.stages.select.passage_likeness import PassageLikeness
from goldbench.text.asked_query import AskedQuery
from goldbench.text.language import main_language
from goldbench.text.matched_words import matched_forms, shares_words

SHOWN = 10
"""Results of each query on the page."""

DEPTH = 100
"""Results of each query that causes of failures are looked for in."""

Top = Callable[[str, Sequence[str], int], Mapping[str, Sequence["Retrieved"]]]
"""Returns the best results of a system by name for some queries, this many of each."""


def first_relevant_measure(level: int) -> Measure:
    """Return the measure that tells the rank of the first relevant passage."""
    return parse_measure("mrr", rel=level)


@dataclass(frozen=True, slots=True)
class Sources:
    """What the queries behind figures are taken from.

    ``relevant`` returns the relevant passages of a query for a system, ``passages`` the texts of passages by id.
    """

    gold: Gold
    results: Mapping[str, Result]
    top: Top
    relevant: Callable[[str, str], Mapping[str, int]]
    passages: Callable[[Collection[str]], Mapping[str, str]]


def behind_of(sources: Sources, measures: Sequence[str], *, depth: int | None = None) -> Behind:
    """Return the queries behind the figures.

    Args:
        sources: What they are taken from; the results are those of each system, the best first, and hold the measure
            of `first_relevant_measure`.
        measures: The measures on the page; the first one ranks.
        depth: Results per query that a run holds at most; None if it is not known.
    """
    gold, results = sources.gold, sources.results
    both = aligned(results, measures[:1])
    values = {name: both.scores[:, column, 0].tolist() for column, name in enumerate(results)}
    shown = [both.query_ids[row] for row in hardest(both.query_ids, values)]
    own, spoken, about = gold.queries(), conversations(gold), gold.about()
    asked = {**own, **{query_id: one.judged for query_id, one in spoken.items()}}
    k = next((one.k for one in map(parse_measure, measures) if one.k), SHOWN)
    tops = {name: sources.top(name, shown, max(DEPTH, 2 * k)) for name in results}
    relevant = {query_id: dict(sources.relevant(next(iter(results)), query_id)) for query_id in shown}
    wanted = _pairs(tops, relevant)
    above = {one.doc_id for found in tops.values() for top in found.values() for one in top[:k]}
    passages = sources.passages(above | {doc_id for found in wanted.values() for doc_id in found})
    languages = _languages(shown, asked, about)
    first = first_relevant_measure(gold.level).name
    ranks = {name: ranks_of(_column(result, first, both.query_ids)) for name, result in results.items()}
    home = home_of(gold)
    folder = None if home is None else GoldFolder(home)
    return Behind(
        query_ids=both.query_ids,
        values=_values(results, measures, both.query_ids),
        k=k,
        depth=depth,
        level=gold.level,
        retrieved=_retrieved(tops),
        relevant=relevant,
        ranks=ranks,
        causes=_Causes(sources, asked, languages, passages, k).of(tops, shown, ranks, both.query_ids),
        quotes={query_id: quote for query_id, notes in about.items() if isinstance(quote := notes.get("quote"), str)},
        texts={**own, **_in_turns(gold, spoken)},
        passages=passages,
        kinds={query_id: kind_of(notes) for query_id, notes in about.items()},
        words=_words(wanted, asked, passages, languages),
        reasons=reasons_of(folder, wanted),
        pooled=pooled_of(folder, wanted),
        parts=_parts(both.query_ids, own, about),
        home=None if home is None else str(gold.path if gold.path.is_dir() else home),
    )


def _values(
    results: Mapping[str, Result], measures: Sequence[str], query_ids: Sequence[str]
) -> dict[str, dict[str, list[float]]]:
    return {
        measure: {name: _column(result, measure, query_ids) for name, result in results.items()} for measure in measures
    }


def _retrieved(tops: Mapping[str, Mapping[str, Sequence[Retrieved]]]) -> dict[str, dict[str, list[Found]]]:
    return {
        name: {
            query_id: [Found(one.doc_id, one.grade, one.score) for one in top[:SHOWN]]
            for query_id, top in found.items()
        }
        for name, found in tops.items()
    }


def _words(
    wanted: Mapping[str, Collection[str]],
    texts: Mapping[str, str],
    passages: Mapping[str, str],
    languages: Mapping[str, str | None],
) -> dict[str, list[list[str]]]:
    """Return the forms of the words of each query in its passages."""
    found = {}
    for query_id, doc_ids in wanted.items():
        if query_id in texts:
            known = (passages[doc_id] for doc_id in sorted(doc_ids) if doc_id in passages)
            found[query_id] = matched_forms(texts[query_id], known, languages[query_id])
    return found


def _parts(
    query_ids: Sequence[str], texts: Mapping[str, str], about: Mapping[str, Mapping[str, Any]]
) -> dict[str, list[str | None]]:
    """Return the part of each query by trait."""
    traits = labels_of(query_ids, texts=texts, about=with_source(about))
    return {trait: [labels.get(one) for one in query_ids] for trait, labels in traits.items() if labels}


def home_of(gold: Gold) -> Path | None:
    """Return the folder of the gold set that judgments belong to, None if they are in memory or belong to none."""
    return None if gold.in_memory else folder_of(gold.path)


def kind_of(notes: Mapping[str, object]) -> str:
    """Return the kind of a query by its notes, else its style; empty if it has neither."""
    return str(notes.get("kind") or notes.get("style") or "")


def with_source(about: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the notes with the document of a query's evidence as its source, and the level of its difficulty."""
    from goldbench.measures.statistics.special_figures import level_in

    return {
        query_id: {**notes, "source": _source(notes), "level": level_in(notes)} for query_id, notes in about.items()
    }


def _source(notes: Mapping[str, object]) -> object:
    evidence = notes.get("evidence")
    first = evidence[0] if isinstance(evidence, list) and evidence else None
    return first.get("doc_id") if isinstance(first, dict) else notes.get("source")


def _in_turns(gold: Gold, spoken: Mapping[str, AskedQuery]) -> dict[str, str]:
    """Return each conversation as the page shows it: its turns, then the form that passages are judged for."""
    return {
        query_id: f"{' / '.join(asked.conversation.splitlines())} / Judged as: {asked.judged}"
        for query_id, asked in spoken.items()
        if query_id in gold.qrels
    }


def _pairs(
    tops: Mapping[str, Mapping[str, Sequence[Retrieved]]], relevant: Mapping[str, Mapping[str, int]]
) -> dict[str, set[str]]:
    """Return the passages of each query that are on the page."""
    found = {query_id: set(grades) for query_id, grades in relevant.items()}
    for results in tops.values():
        for query_id, top in results.items():
            found[query_id] |= {one.doc_id for one in top[:SHOWN]}
    return found


def _languages(
    query_ids: Sequence[str], texts: Mapping[str, str], about: Mapping[str, Mapping[str, Any]]
) -> dict[str, str | None]:
    """Return the language of each query: the one that is noted, else that of most queries."""
    noted = {query_id: about.get(query_id, {}).get("language") for query_id in query_ids}
    known = [texts[query_id] for query_id in query_ids if query_id in texts]
    most = main_language(known) if known and not all(noted.values()) else None
    return {query_id: found if isinstance(found, str) else most for query_id, found in noted.items()}


def _column(result: Result, measure: str, query_ids: Sequence[str]) -> list[float]:
    table = dict(zip(result.query_ids, result.values[measure], strict=True))
    return [float(table[query_id]) for query_id in query_ids]


@dataclass(frozen=True, slots=True)
class _Causes:
    """Looks for the causes of failures at ``k``."""

    sources: Sources
    texts: Mapping[str, str]
    languages: Mapping[str, str | None]
    passages: Mapping[str, str]
    k: int

    def of(
        self,
        tops: Mapping[str, Mapping[str, Sequence[Retrieved]]],
        shown: Sequence[str],
        ranks: Mapping[str, Sequence[int | None]],
        query_ids: Sequence[str],
    ) -> dict[str, dict[str, tuple[Cause, ...]]]:
        """Return the causes by system and query; a query without a failure is left out."""
        alike = lru_cache(2**16)(PassageLikeness(self.passages).are_alike)
        rows = {query_id: row for row, query_id in enumerate(query_ids)}
        found: dict[str, dict[str, tuple[Cause, ...]]] = {}
        for name, results in tops.items():
            found[name] = {}
            for query_id in shown:
                rank = ranks[name][rows[query_id]]
                if rank is None or rank > self.k:
                    causes = self._causes(name, query_id, results.get(query_id, ()), alike)
                    found[name][query_id] = causes if rank is None else _placed(causes)
        return found

    def _causes(
        self, name: str, query_id: str, top: Sequence[Retrieved], alike: Callable[[str, str], bool]
    ) -> tuple[Cause, ...]:
        text = self.texts.get(query_id)
        return failure_causes(
            [Listed(one.doc_id, one.score, one.grade) for one in top],
            self.sources.relevant(name, query_id),
            self.k,
            level=self.sources.gold.level,
            shares_words=(lambda doc_id: self._shares(query_id, doc_id)) if text else None,
            alike=alike,
        )

    def _shares(self, query_id: str, doc_id: str) -> bool:
        text = self.passages.get(doc_id)
        return text is None or shares_words(self.texts[query_id], text, self.languages[query_id])


def _placed(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """Return the causes for a passage that is known to be found, though below the results that were looked at."""
    return tuple(Cause.FAR_BELOW if cause is Cause.NEVER_FOUND else cause for cause in causes)
