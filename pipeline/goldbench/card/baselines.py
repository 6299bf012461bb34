"""The baselines: built-in simple retrievers, run over a gold set for its figures on rankings, reach and power."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np

from goldbench.card.baseline_search import DEEP, Ranked, Tables, request, search, search_one_by_one
from goldbench.card.described_set import DescribedSet
from goldbench.measures.assessment import assess
from goldbench.measures.names import parse_measure
from goldbench.measures.ranks.judged_ranks import place_mapping
from goldbench.measures.ranks.order import best
from goldbench.measures.statistics.floats import Floats
from goldbench.processes.messages import decoded
from goldbench.processes.own_process import OwnProcess, usable_processors
from goldbench.retrieval.fusion import reciprocal_ranks
from goldbench.retrieval.system_settings import RRF_K

_WORTH_A_PROCESS = 10_000
"""Passages from which a second process is started, which takes about a second; each of the two then holds an index."""
WORDS, DENSE = "bm25", "lsi-200"
"""The word-matching and the dense baseline that the card compares with each other."""
FUSION = "fusion"
"""The baseline made of these two."""


@dataclass(frozen=True, slots=True)
class Baselines:
    """What each baseline found, best first, and its nDCG@10 for every query with a relevant passage.

    ``scores`` has the shape (queries, baselines), in the order of ``query_ids`` and ``ranked``. A baseline that fails
    is left out.
    """

    query_ids: list[str]
    ranked: Ranked
    scores: Floats

    @property
    def names(self) -> list[str]:
        """The baselines that could be run."""
        return list(self.ranked)

    def column(self, name: str) -> Floats:
        """Return the nDCG@10 of one baseline by query."""
        return np.asarray(self.scores[:, self.names.index(name)])


def described(language: str | None) -> Tables:
    """Return the settings of the baselines: three of BM25, two of character n-grams, two of LSI, one fusion.

    Args:
        language: Language of the corpus, for stems and stop words; None for neither.
    """
    stemmed: dict[str, object] = {"language": language} if language else {}
    return {
        WORDS: {"kind": "bm25"},
        "bm25-short": {"kind": "bm25", "k1": 0.9, "b": 0.4, "analyzer": "cjk-bigram", **stemmed},
        "bm25-long": {"kind": "bm25", "k1": 2.0, "b": 0.9, "analyzer": "cjk-bigram"},
        "lsi-100": {"kind": "lsi", "dimensions": 100, "analyzer": "cjk-bigram", **stemmed},
        DENSE: {"kind": "lsi", "dimensions": 200, "analyzer": "cjk-bigram", **stemmed},
        FUSION: {"kind": "rrf", "of": [WORDS, DENSE]},
        "ngrams-3": {"kind": "ngrams", "shortest": 3, "longest": 3},
        "ngrams-4": {"kind": "ngrams", "shortest": 4, "longest": 4},
    }


def run_baselines(material: DescribedSet) -> Baselines:
    """Search the set with every baseline."""
    query_ids = sorted(query_id for query_id in material.qrels if material.relevant(query_id))
    queries = {query_id: material.queries[query_id] for query_id in query_ids}
    ranked = ranked_by_all(material.main_language(), material.corpus, queries) if queries else {}
    qrels = {query_id: material.qrels[query_id] for query_id in query_ids}
    columns = [ndcg(qrels, found) for found in ranked.values()]
    scores = np.stack(columns, axis=1) if columns else np.zeros((len(query_ids), 0))
    return Baselines(query_ids, ranked, scores)


def ranked_by_all(language: str | None, corpus: Mapping[str, str], queries: Mapping[str, str]) -> Ranked:
    """Return what every baseline finds; one that fails is left out.

    Args:
        language: As in `described`.
        corpus: The texts of the passages by id.
        queries: The texts of the queries by id.
    """
    tables = described(language)
    grams = {name: table for name, table in tables.items() if table["kind"] == "ngrams"}
    words = {name: table for name, table in tables.items() if table["kind"] in {"bm25", "lsi"}}
    with _beside(grams, corpus, queries) as found:
        ranked = search(words, corpus, queries) | found()
    ranked |= _fused(ranked, queries)
    return {name: ranked[name] for name in tables if name in ranked}


@contextmanager
def _beside(tables: Tables, corpus: Mapping[str, str], queries: Mapping[str, str]) -> Iterator[Callable[[], Ranked]]:
    """Yield a function that waits for the rankings and returns them.

    Systems are searched one by one, for a large corpus in a second process, which holds the corpus and one index beside
    those of this process. If that process cannot be started or fails, they are searched here at the end.
    """
    process = _second_process(len(corpus))
    if process is None:
        yield lambda: search_one_by_one(tables, corpus, queries)
        return
    with ExitStack() as ends:
        ends.callback(process.stop)
        thread = ends.enter_context(ThreadPoolExecutor(1))
        ends.callback(process.kill)  # else the thread would wait for its answer
        answer = thread.submit(_answer, process, request(tables, corpus, queries))

        def found() -> Ranked:
            ranked = answer.result()
            return search_one_by_one(tables, corpus, queries) if ranked is None else ranked

        yield found


def _second_process(passages: int) -> OwnProcess | None:
    """Return a process that searches beside this one; None if it is not worth its start, or cannot be started."""
    if passages < _WORTH_A_PROCESS or usable_processors() == 1:
        return None
    try:
        return OwnProcess("goldbench.card.baseline_search")
    except OSError:
        return None


def _answer(process: OwnProcess, messages: Iterable[object]) -> Ranked | None:
    """Return the rankings with which a process answers messages, None if it fails."""
    process.tell(messages)
    answer = process.answer()
    return None if answer is None else decoded(answer)


def _fused(ranked: Ranked, queries: Iterable[str]) -> Ranked:
    """Return the rankings of the fusion, nothing if one of its parts failed."""
    if not {WORDS, DENSE} <= ranked.keys():
        return {}
    parts = ranked[WORDS], ranked[DENSE]
    sums = {query_id: reciprocal_ranks([part[query_id] for part in parts], k=RRF_K) for query_id in queries}
    return {FUSION: {query_id: list(best(found, DEEP)) for query_id, found in sums.items()}}


def ndcg(qrels: Mapping[str, Mapping[str, int]], ranked: Mapping[str, list[str]]) -> Floats:
    """Return nDCG@10 by query, in the order of the query ids."""
    measure = parse_measure("ndcg@10")
    run = {query_id: {doc_id: -float(rank) for rank, doc_id in enumerate(found)} for query_id, found in ranked.items()}
    result = assess(qrels, place_mapping(qrels, run, scores="float64"), [measure], extra=0, missing="zero")
    return np.asarray(result.values[measure.name], dtype=np.float64)
