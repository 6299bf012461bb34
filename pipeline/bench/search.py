"""Searching with every system, the clock beside: warm-up first, one query at a time, what a model took apart.

Reads: a gold set's queries and passages. Writes: a run for each system, beside it what made it and its times.
Fails: one system at a time; the others go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pipeline.bench.experiment_files import earlier, write_measured
from pipeline.bench.fingerprints import digest, fingerprint_of
from pipeline.bench.sweeps import Cut, Point
from pipeline.errors import MissingExtra, RetrieverFailed
from pipeline.measures.statistics.latency import MODEL_PARTS, parts_of
from schemas.experiment import FailedSystem, Measured, Timing

if TYPE_CHECKING:
    from pipeline.bench.bench_file import Bench
    from pipeline.ports import Progress, Retriever, Step
    from pipeline.retrieval.stopwatch import Stopwatch

REMEMBERED = "remembered"
"""Seconds that a shared part took when it was asked first: a system that asks again is not quicker for it."""


class Opened(Protocol):
    """The systems of an experiment, each built when it is first asked for."""

    stopwatch: Stopwatch

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of every system by name, those of its parts too."""

    def retriever(self, name: str) -> Retriever:
        """Return one system.

        Raises:
            RetrieverFailed: It cannot be built.
            MissingExtra: It needs a package that is not installed.
        """

    def forget(self) -> None:
        """Drop remembered results."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is searched: passages by id, the judgments that belong to them, and the digest of the passages."""

    passages: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]
    count: int
    sha256: str
    lost: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, passages: Mapping[str, str], qrels: Mapping[str, Mapping[str, int]], lost: Sequence[str] = ()
    ) -> Corpus:
        """Return passages with their number and digest; ``lost`` are queries whose evidence no passage holds."""
        return cls(passages, qrels, len(passages), digest(passages), tuple(lost))

    def without_texts(self) -> Corpus:
        """Return the same, the passages left out: what is no longer searched need not be held."""
        return replace(self, passages={})


@dataclass(slots=True)
class Outcome:
    """What became of the systems: what was measured by point, what failed, what was kept from an earlier time.

    ``corpora`` are what was searched, by cut, texts only of the gold set's own; ``empty`` how many queries a system
    found nothing for.
    """

    measured: dict[Point, Measured] = field(default_factory=dict)
    corpora: dict[Cut | None, Corpus] = field(default_factory=dict)
    empty: dict[str, int] = field(default_factory=dict)
    failures: list[FailedSystem] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def run_all(
    bench: Bench,
    opened: Opened,
    queries: Mapping[str, str],
    corpus_of: Callable[[Cut | None], Corpus],
    *,
    folder: Path,
    progress: Progress,
    again: bool = False,
) -> Outcome:
    """Measure every system whose finished run does not lie in the folder already.

    Args:
        bench: the experiment.
        opened: its systems.
        queries: texts by id.
        corpus_of: gives the passages of a cut, of the gold set's own for None.
        folder: where runs and times go.
        progress: shows it.
        again: also measure what lies there.

    Raises:
        InputError: The documents cannot be cut anew.
        OutputError: A file cannot be written.
    """
    outcome = Outcome()
    shaping = digest(queries)
    for cut, points in _by_cut(bench.points):
        corpus = corpus_of(cut)
        outcome.corpora[cut] = corpus.without_texts() if cut else corpus
        for point in points:
            fingerprint = fingerprint_of(bench, opened.settings, point, queries=shaping, corpus=corpus.sha256)
            known = None if again else earlier(folder, point.name, fingerprint)
            if known is not None:
                outcome.measured[point] = known
                outcome.kept.append(point.name)
                continue
            try:
                with progress.stage(point.name, len(queries)) as step:
                    run, timing = measure(opened, point.system, queries, corpus, bench=bench, step=step)
            except (RetrieverFailed, MissingExtra) as error:
                failed = FailedSystem(system=point.name, problem=_problem(error, point))
                outcome.failures.append(failed)
                progress.note(f"failed: system {failed.system}: {failed.problem}")
                continue
            draft = Measured(system=point.name, fingerprint=fingerprint, run_sha256="", timing=timing)
            outcome.measured[point] = write_measured(folder, run, draft)
    return outcome


def measure(
    opened: Opened, name: str, queries: Mapping[str, str], corpus: Corpus, *, bench: Bench, step: Step
) -> tuple[dict[str, dict[str, float]], Timing]:
    """Index, warm up, then search with one query at a time; return the run and how long it took.

    Raises:
        RetrieverFailed: The system cannot be built, index or search.
        MissingExtra: It needs a package that is not installed.
    """
    watch = opened.stopwatch
    step.tell("indexing")
    retriever = opened.retriever(name)
    clock = Clock(watch)
    retriever.index(corpus.passages)
    index_s, index_parts = clock.read()
    opened.forget()
    step.tell("warming up")
    warm = list(queries.items())[: bench.warm_up]
    for query_id, text in warm:
        retriever.search({query_id: text}, k=bench.depth)
    run: dict[str, dict[str, float]] = {}
    seconds: list[float] = []
    parts: list[Mapping[str, float]] = []
    step.tell("")
    for query_id, text in queries.items():
        opened.forget()
        clock = Clock(watch)
        found = retriever.search({query_id: text}, k=bench.depth)
        took, within = clock.read()
        run[query_id] = found.get(query_id, {})
        seconds.append(took)
        parts.append(within)
        step.advance(1)
    embedding = index_parts.get("embed", 0.0)
    timing = Timing(
        index_s=round(max(0.0, index_s - embedding), 6),
        index_embed_s=round(embedding, 6),
        passages=corpus.count,
        queries=len(queries),
        warm_up=len(warm),
        **{name: value for name, value in parts_of(seconds, parts).items() if value is not None},
    )
    return run, timing


class Clock:
    """Seconds since it was made, and the growth of a stopwatch's parts."""

    def __init__(self, watch: Stopwatch) -> None:
        self._watch, self._before = watch, dict(watch.seconds)
        self._started = time.perf_counter()

    def read(self) -> tuple[float, dict[str, float]]:
        """Return the whole time, that of remembered parts with it, and the time of each part of a model."""
        whole = time.perf_counter() - self._started
        grown = {
            part: seconds - self._before.get(part, 0.0)
            for part, seconds in self._watch.seconds.items()
            if part in {*MODEL_PARTS, REMEMBERED}
        }
        return whole + grown.pop(REMEMBERED, 0.0), grown


def _by_cut(points: Sequence[Point]) -> Iterator[tuple[Cut | None, list[Point]]]:
    """Yield the points cut by cut, so that each corpus is held once."""
    for cut in dict.fromkeys(point.cut for point in points):
        yield cut, [point for point in points if point.cut == cut]


def _problem(error: RetrieverFailed | MissingExtra, point: Point) -> str:
    """Return what is wrong, in one line, with the name of the part where it is a part that failed."""
    own = isinstance(error, RetrieverFailed) and error.system in {point.name, point.system}
    return " ".join((error.problem if isinstance(error, RetrieverFailed) and own else str(error)).split())
