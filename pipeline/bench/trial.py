"""An experiment from its gold set to what was found; writes nothing but runs and their times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pipeline.bench.experiment_files import make_folders, read_passages
from pipeline.bench.measurements import experiment_of, results_of, timings_of
from pipeline.bench.search import Corpus, Outcome, run_all
from pipeline.errors import InputError, UsageError
from pipeline.goldset.file_names import DATASET
from pipeline.score.scorecards import notice_of, reference
from pipeline.systems import open_systems

if TYPE_CHECKING:
    from pipeline.bench.bench_file import Bench
    from pipeline.bench.sweeps import Cut
    from pipeline.ports import Progress
    from pipeline.score.runs import Gold
    from schemas.experiment import Experiment, Timings


class Recut(Protocol):
    """A gold set's documents cut anew, its labels projected from the evidence; ``lost`` are queries without any."""

    @property
    def corpus(self) -> Mapping[str, str]:
        """Texts by id."""

    @property
    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        """Grades by query and passage."""

    @property
    def lost(self) -> Sequence[str]:
        """The queries whose evidence no passage holds."""


Rechunk = Callable[[Path, int, int], Recut]
"""Cuts the documents of a gold set anew: its path, the size and the overlap in characters."""


@dataclass(frozen=True, slots=True)
class Found:
    """What an experiment found, where any system could be measured, and what failed or was kept."""

    experiment: Experiment | None
    timings: Timings
    outcome: Outcome


def conduct(
    bench: Bench,
    gold: Gold,
    *,
    folder: Path,
    answers: Path,
    rechunk: Rechunk,
    progress: Progress,
    again: bool = False,
    replay: bool = False,
) -> Found:
    """Return what the experiment found; every run is in the folder as soon as it is whole.

    Args:
        bench: the experiment.
        gold: the gold set, texts beside its judgments.
        folder: where runs and times go.
        answers: the store of model answers.
        rechunk: cuts documents anew.
        progress: shows it.
        again: whether finished runs that lie in the folder are made again.
        replay: whether models are answered from the store alone.

    Raises:
        InputError: The gold set has no texts, or cannot be cut anew.
        OutputError: A file cannot be written.
    """
    queries, own = texts_of(bench, gold)
    make_folders(folder)
    names = list(dict.fromkeys(point.system for point in bench.points))

    def corpus_of(cut: Cut | None) -> Corpus:
        if cut is None:
            return own
        found = rechunk(gold.path, cut.size, cut.overlap)
        qrels = {query_id: found.qrels.get(query_id, {}) for query_id in gold.qrels}
        return Corpus.of(found.corpus, qrels, found.lost)

    with open_systems(
        names,
        bench.described,
        config=bench.config,
        answers=answers,
        replay=replay,
        timeout_s=bench.timeout_s,
        where=bench.where,
        folder=bench.folder,
    ) as opened:
        outcome = run_all(bench, opened, queries, corpus_of, folder=folder, progress=progress, again=again)
        settings = dict(opened.settings)
    if not outcome.measured:
        return Found(None, timings_of(outcome), outcome)
    results = results_of(bench, gold, outcome, queries, folder=folder)
    experiment = experiment_of(bench, reference(gold), outcome, results, settings=settings, notice=notice_of(gold))
    return Found(experiment, timings_of(outcome), outcome)


def texts_of(bench: Bench, gold: Gold) -> tuple[dict[str, str], Corpus]:
    """Return the texts of the judged queries in the order of their ids, and the passages that are searched.

    Raises:
        InputError: There are none, an id cannot stand in a run, or no judged passage is among them.
    """
    texts = gold.queries()
    queries = {query_id: texts[query_id] for query_id in sorted(gold.qrels) if query_id in texts}
    if not queries:
        raise InputError(str(gold.path), f"holds no texts of queries; name the folder of a build, {DATASET} or BEIR")
    passages = read_passages(bench.corpus) if bench.corpus else gold.corpus()
    if not passages:
        raise InputError(str(gold.path), "holds no passages to retrieve from; name the folder of a build, or a corpus")
    for ids in (queries, passages):
        for one in ids:
            if not one or one.split() != [one]:
                raise InputError(str(gold.path), f"the id {one[:80]!r} has white space, which no run can hold")
    known = {doc_id for grades in gold.qrels.values() for doc_id in grades}
    if bench.match == "id" and known.isdisjoint(passages):
        raise UsageError(
            f"{bench.corpus or gold.path}: holds none of the judged passages by id; "
            'passages that were cut otherwise are recognised by match = "text"'
        )
    return queries, Corpus.of(passages, gold.qrels)
