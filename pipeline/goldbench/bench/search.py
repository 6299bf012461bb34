"""Searches with every system and times it: a warm-up first, then one query at a time, a model's time apart.

Reads a gold set's queries and passages. Writes a run for each system and, beside it, what shaped it and its times. A
system that fails does not stop the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from goldbench.bench.bench_file import Bench, Cut, Point
from goldbench.bench.experiment_files import digest, earlier, fingerprint_of, write_measured
from goldbench.errors import MissingExtra, RetrieverFailed
from goldbench.ports import Progress, Step
from goldbench.records.experiment import FailedSystem, Latency, SystemMeasurement, Timing
from goldbench.retrieval.stopwatch import Took
from goldbench.score.runs import Gold
from goldbench.score.searched_queries import refuse_blanks, texts_to_search
from goldbench.systems import Systems


@dataclass(frozen=True, slots=True)
class SearchCorpus:
    """Passages by id, their number and digest, and the judgments that belong to them.

    ``lost`` are the queries whose evidence no passage holds.
    """

    passages: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]
    count: int
    sha256: str
    lost: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, passages: Mapping[str, str], qrels: Mapping[str, Mapping[str, int]], lost: Sequence[str] = ()
    ) -> SearchCorpus:
        """Return passages with their number and digest.

        Args:
            passages: Texts by id.
            qrels: Grades by query and passage.
            lost: The queries whose evidence no passage holds.
        """
        return cls(passages, qrels, len(passages), digest(passages), tuple(lost))


@dataclass(frozen=True, slots=True)
class SearchTexts:
    """The judged queries by id, in the order of their ids, and the passages of the gold set."""

    gold: Gold
    queries: Mapping[str, str]
    own: SearchCorpus

    def corpus(self, cut: Cut | None) -> SearchCorpus:
        """Return the gold set's own passages, or those of another cut with judgments projected from the evidence.

        Raises:
            InputError: The documents cannot be cut anew.
        """
        if cut is None:
            return self.own
        from goldbench.goldset.projection import rechunk

        path = self.gold.path
        rechunked = rechunk(path if path.is_dir() else path.parent, size=cut.size, overlap=cut.overlap)
        qrels = {query_id: rechunked.qrels.get(query_id, {}) for query_id in self.gold.qrels}
        return SearchCorpus.of(rechunked.corpus, qrels, rechunked.lost)


def texts_of(bench: Bench, gold: Gold) -> SearchTexts:
    """Return the texts of an experiment.

    Raises:
        InputError: There are no texts, or an id cannot stand in a run.
    """
    queries, passages = texts_to_search(gold, bench.file.conversation)
    refuse_blanks(gold, (*queries, *passages))
    order = [*sorted(gold.qrels.keys() & queries.keys()), *gold.unanswerable()]
    return SearchTexts(gold, {query_id: queries[query_id] for query_id in order}, SearchCorpus.of(passages, gold.qrels))


@dataclass(slots=True)
class SearchOutcome:
    """What was done.

    ``measured`` are the finished runs by system, of which ``kept`` were made earlier. ``corpora`` are what was searched
    by cut, with texts only of the gold set's own. ``empty`` counts the queries a system found nothing for.
    """

    measured: dict[Point, SystemMeasurement] = field(default_factory=dict)
    corpora: dict[Cut | None, SearchCorpus] = field(default_factory=dict)
    empty: dict[str, int] = field(default_factory=dict)
    failures: list[FailedSystem] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def run_all(
    bench: Bench, systems: Systems, texts: SearchTexts, *, folder: Path, progress: Progress, again: bool = False
) -> SearchOutcome:
    """Measure every system whose finished run is not in the folder already.

    Args:
        bench: The experiment.
        systems: Its systems.
        texts: Its queries and passages.
        folder: Where runs and times are written.
        progress: Shows each system.
        again: Whether finished runs are made again.

    Raises:
        InputError: The documents cannot be cut anew.
        OutputError: A file cannot be written.
    """
    outcome = SearchOutcome()
    queries = digest(texts.queries)
    for cut in dict.fromkeys(point.cut for point in bench.points):  # cut by cut, so that each corpus is held once
        corpus = texts.corpus(cut)
        outcome.corpora[cut] = replace(corpus, passages={}) if cut else corpus
        for point in bench.points:
            if point.cut != cut:
                continue
            fingerprint = fingerprint_of(bench, systems.settings, point, queries=queries, corpus=corpus.sha256)
            known = None if again else earlier(folder, point.name, fingerprint)
            if known is not None:
                outcome.measured[point] = known
                outcome.kept.append(point.name)
                continue
            try:
                with progress.stage(point.name, len(texts.queries)) as step:
                    run, timing = measure(bench, systems, point.system, texts.queries, corpus, step=step)
            except (RetrieverFailed, MissingExtra) as error:
                failed = FailedSystem(system=point.name, problem=_problem(error, point))
                outcome.failures.append(failed)
                progress.note(f"failed: system {failed.system}: {failed.problem}")
                continue
            draft = SystemMeasurement(system=point.name, fingerprint=fingerprint, run_sha256="", timing=timing)
            outcome.measured[point] = write_measured(folder, run, draft)
    return outcome


def measure(
    bench: Bench, systems: Systems, name: str, queries: Mapping[str, str], corpus: SearchCorpus, *, step: Step
) -> tuple[dict[str, dict[str, float]], Timing]:
    """Index, warm up, then search with one query at a time; return the run and the times.

    Args:
        bench: The experiment.
        systems: Its systems.
        name: The system to measure.
        queries: Texts by id.
        corpus: The passages to search.
        step: Shows the progress.

    Raises:
        RetrieverFailed: The system cannot be built, index or search.
        MissingExtra: It needs a package that is not installed.
    """
    step.tell("indexing")
    retriever = systems.retriever(name)
    timer = systems.stopwatch.started()
    retriever.index(corpus.passages)
    indexing = timer()
    step.tell("warming up")
    warm = list(queries.items())[: bench.file.warm_up]
    for query_id, text in warm:
        retriever.search({query_id: text}, k=bench.depth)
    run: dict[str, dict[str, float]] = {}
    took: list[Took] = []
    step.tell("")
    for query_id, text in queries.items():
        timer = systems.stopwatch.started()
        match = retriever.search({query_id: text}, k=bench.depth)
        took.append(timer())
        run[query_id] = match.get(query_id, {})
        step.advance(1)
    embedding = indexing.parts.get("embed", 0.0)
    latencies = parts_of([times.total for times in took], [times.parts for times in took])
    timing = Timing(
        index_s=round(max(0.0, indexing.total - embedding), 6),
        index_embed_s=round(embedding, 6),
        passages=corpus.count,
        queries=len(queries),
        warm_up=len(warm),
        **{part: latency for part, latency in latencies.items() if latency is not None},
    )
    return run, timing


def _problem(error: RetrieverFailed | MissingExtra, point: Point) -> str:
    """Return the problem in one line, with the name of the part if a part failed."""
    own = isinstance(error, RetrieverFailed) and error.system in {point.name, point.system}
    return " ".join((error.problem if isinstance(error, RetrieverFailed) and own else str(error)).split())


MODEL_PARTS = ("embed", "rerank", "expand")
"""Parts of a search in which a model works."""


def latency(seconds: Sequence[float]) -> Latency:
    """Return median and 95th percentile in milliseconds, of at least one query."""
    median, high = np.quantile(seconds, [0.5, 0.95])
    return Latency(p50_ms=round(float(median) * 1000, 6), p95_ms=round(float(high) * 1000, 6))


def parts_of(seconds: Sequence[float], parts: Sequence[Mapping[str, float]]) -> dict[str, Latency | None]:
    """Return the latency of ``whole``, of ``search`` and of each part of a model; None for a part that no query had.

    Args:
        seconds: Seconds of each query as a whole.
        parts: Seconds within each query by part, in the same order.
    """
    without = [
        max(0.0, whole - sum(part.get(name, 0.0) for name in MODEL_PARTS))
        for whole, part in zip(seconds, parts, strict=True)
    ]
    figures: dict[str, Latency | None] = {"whole": latency(seconds), "search": latency(without)}
    for name in MODEL_PARTS:
        took = [part.get(name, 0.0) for part in parts]
        figures[name] = latency(took) if any(took) else None
    return figures
