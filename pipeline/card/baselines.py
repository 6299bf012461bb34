"""The baselines: built-in simple retrievers, run over a gold set for its figures on rankings, reach and power."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from goldbench.pipeline.card.described_set import DescribedSet
from goldbench.pipeline.errors import GoldbenchError
from goldbench.pipeline.formats.documents.worker_pool import environment_without_keys, usable_processors
from goldbench.pipeline.measures.assessment import assess
from goldbench.pipeline.measures.names import parse_measure
from goldbench.pipeline.measures.ranks.mapping_ranks import place_mapping
from goldbench.pipeline.measures.ranks.order import best
from goldbench.pipeline.measures.statistics.floats import Floats
from goldbench.pipeline.retrieval.fusion import reciprocal_ranks
from goldbench.pipeline.retrieval.system_settings import RRF_K
from goldbench.pipeline.systems import open_systems

Tables: TypeAlias = dict[str, dict[str, object]]
"""The settings of systems by name."""
Ranked: TypeAlias = dict[str, dict[str, list[str]]]
"""What systems found: system -> query -> ids of passages, best first."""

_WORTH_A_PROCESS = 10_000
"""Passages from which a second process is started, which takes about a second; each of the two then holds an index."""
_END = b"\n"
"""The line that ends a request."""
DEEP = 100
"""Results kept per baseline and query."""
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
    ranked: Ranked = {}
    if queries:
        from threadpoolctl import threadpool_limits

        tables = described(material.main_language())
        grams = {name: table for name, table in tables.items() if table["kind"] == "ngrams"}
        words = {name: table for name, table in tables.items() if table["kind"] in {"bm25", "lsi"}}
        with threadpool_limits(1), _beside(grams, material.corpus, queries) as found:
            # One thread: the same bits on any number of processors, and faster on small corpora.
            ranked = _search(words, material.corpus, queries) | found()
        ranked |= _fused(ranked, queries)
        ranked = {name: ranked[name] for name in tables if name in ranked}
    qrels = {query_id: material.qrels[query_id] for query_id in query_ids}
    columns = [ndcg(qrels, found) for found in ranked.values()]
    scores = np.stack(columns, axis=1) if columns else np.zeros((len(query_ids), 0))
    return Baselines(query_ids, ranked, scores)


@contextmanager
def _beside(tables: Tables, corpus: Mapping[str, str], queries: Mapping[str, str]) -> Iterator[Callable[[], Ranked]]:
    """Yield a function that waits for the rankings and returns them.

    Systems are searched one by one, for a large corpus in a second process, which holds the corpus and one index beside
    those of this process. If that process cannot be started or fails, they are searched here at the end.
    """
    here = partial(_one_by_one, tables, corpus, queries)
    process = None
    if len(corpus) >= _WORTH_A_PROCESS and usable_processors() > 1:
        process = _started()
    if process is None:
        yield here
        return
    with process, ThreadPoolExecutor(1) as thread:
        request = map(_line, chain([[tables, dict(queries)]], corpus.items()))
        answer = thread.submit(_answer, process, request)

        def found() -> Ranked:
            ranked = answer.result()
            return here() if ranked is None else ranked

        try:
            yield found
        finally:
            process.kill()  # has no effect on one that has ended


def _started() -> subprocess.Popen[bytes] | None:
    """Start a process that runs `serve`; return None if the system refuses."""
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-c", "from goldbench.pipeline.card.baselines import serve; serve()"],
            env=environment_without_keys(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None


def _answer(process: subprocess.Popen[bytes], request: Iterable[bytes]) -> Ranked | None:
    """Return the rankings that a process answers with, None if it fails.

    Args:
        process: A process that runs `serve`.
        request: The lines of the request.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.writelines(request)
        process.stdin.write(_END)
        process.stdin.flush()
        answer = process.stdout.read()
        return _value(answer) if process.wait() == 0 else None
    except (OSError, ValueError):
        return None
    finally:
        with suppress(OSError):  # closing writes what a process that has ended did not read
            process.stdin.close()


def serve() -> None:
    """Search for another process, which writes the request to standard input and reads the rankings.

    A line holds the settings and the queries, each other one the id and the text of a passage; an empty line follows.
    Standard input stays open until the other process has the rankings or has ended, and this process ends with it.
    """
    from threadpoolctl import threadpool_limits

    lines = iter(sys.stdin.buffer.readline, _END)
    tables, queries = _value(next(lines))
    corpus = dict(map(_value, lines))
    threading.Thread(target=_end_with_input, daemon=True).start()
    with threadpool_limits(1):
        sys.stdout.buffer.write(_line(_one_by_one(tables, corpus, queries)))


def _end_with_input() -> None:
    """End this process when standard input ends."""
    os.read(sys.stdin.fileno(), 1)  # not through Python's buffer, whose lock a thread must not hold when Python ends
    os._exit(1)


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def _value(line: bytes) -> Any:  # noqa: ANN401  what `_line` wrote
    return json.loads(line.decode("utf-8", "surrogatepass"))


def _one_by_one(tables: Tables, corpus: Mapping[str, str], queries: Mapping[str, str]) -> Ranked:
    """Search with baselines that hold large indexes, of which this process has one at a time in memory."""
    ranked: Ranked = {}
    for name, table in tables.items():
        ranked |= _search({name: table}, corpus, queries)
    return ranked


def _search(tables: Tables, corpus: Mapping[str, str], queries: Mapping[str, str]) -> Ranked:
    """Search with baselines that share counted words and the space of LSI; each index is freed after its search."""
    ranked: Ranked = {}
    with open_systems(list(tables), tables, where="baselines") as systems:
        for name in tables:
            with suppress(GoldbenchError), systems.freed(name) as system:
                system.index(corpus)
                found = system.search(queries, k=min(DEEP, len(corpus)))
                ranked[name] = {query_id: list(found.get(query_id, {})) for query_id in queries}
    return ranked


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
