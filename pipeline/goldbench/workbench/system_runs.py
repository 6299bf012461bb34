"""The systems of a set: their runs, held so that the results of a query are found without reading a file again."""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from goldbench.errors import GoldbenchError, InputError
from goldbench.formats.runs.scorecard_files import read_record
from goldbench.goldset.file_names import BENCH
from goldbench.goldset.folder import GoldFolder
from goldbench.measures.evaluation import evaluate
from goldbench.measures.ranks.order import best
from goldbench.records.experiment import Experiment
from goldbench.score.runs import Gold, load_run, read_results, score_results
from goldbench.text.display import shown

if TYPE_CHECKING:
    from goldbench.measures.names import Measure

EXPERIMENT = "experiment.json"


@dataclass(frozen=True, slots=True)
class Results:
    """The results of one query, best first."""

    doc_ids: tuple[str, ...]
    scores: array[float]


NO_RESULTS = Results((), array("d"))


@dataclass(frozen=True, slots=True)
class HeldRun:
    """A run: the results of each query of the set that it answers, and its values by the judgments of the set.

    ``values`` has a value per measure for each judged query, in the order of the measures.
    """

    name: str
    results: Mapping[str, Results]
    values: Mapping[str, Sequence[float]]

    def of(self, query_id: str) -> Results:
        """Return the results of a query, none if the run lacks it."""
        return self.results.get(query_id, NO_RESULTS)

    def documents(self) -> set[str]:
        """Return the ids of all documents that the run retrieves."""
        return {doc_id for results in self.results.values() for doc_id in results.doc_ids}

    def values_by(self, query_id: str, grades: Mapping[str, int], measures: Sequence[Measure]) -> list[float]:
        """Return the value of each measure for one query by other judgments than those of the set.

        Args:
            query_id: The query.
            grades: The grade of each judged document.
            measures: The measures.
        """
        results = self.of(query_id)
        scores = dict(zip(results.doc_ids, results.scores, strict=True))
        result = evaluate({query_id: grades}, {query_id: scores}, measures)
        return [result.values[measure.name][0] for measure in measures]


def run_paths(folder: Path, runs: Mapping[str, Path]) -> dict[str, Path]:
    """Return the file of each system's run: those given, those beside the set, those of its experiment.

    A system of the experiment is left out if another run has its name.

    Args:
        folder: The folder of the set.
        runs: Further runs by name; they go before others of the same name.
    """
    paths = GoldFolder(folder).named_runs() | dict(runs)
    for name, path in _measured(folder / BENCH):
        paths.setdefault(name, path)
    return paths


def _measured(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the systems of an experiment that searched the passages of the set, with their runs."""
    record = folder / EXPERIMENT
    with contextlib.suppress(InputError):  # a damaged experiment has no systems
        for system in read_record(record, Experiment).systems if record.is_file() else ():
            if system.chunking is None and (folder / system.run).is_file():
                yield system.system, folder / system.run


def held_runs(gold: Gold, paths: Mapping[str, Path], measures: Sequence[Measure]) -> tuple[list[HeldRun], list[str]]:
    """Return the runs, and one line for each that cannot be read.

    Args:
        gold: The set, whose ids the runs share.
        paths: The file of each run.
        measures: The measures to compute.
    """
    known: dict[str, str] = {}
    runs = []
    problems = []
    for name, path in paths.items():
        try:
            runs.append(_held(gold, name, path, measures, known))
        except GoldbenchError as problem:
            problems.append(f"{shown(name)} is left out: {problem}")
    return runs, problems


def _held(gold: Gold, name: str, path: Path, measures: Sequence[Measure], known: dict[str, str]) -> HeldRun:
    """Return a run; ids that several runs hold are kept once."""
    if not name.isprintable():
        raise InputError(path, "the name of a run has characters that cannot be shown; rename the file")
    run = load_run(path)
    scores = read_results(run)
    values: dict[str, Sequence[float]] = {}
    if gold.qrels:
        result = score_results(gold, scores, measures, name=run.source.name)
        columns = (result.values[measure.name] for measure in measures)
        values = dict(zip(result.query_ids, zip(*columns, strict=True), strict=True))
    results = {}
    for query_id, documents in scores.items():
        ordered = best(documents, len(documents))
        doc_ids = tuple(known.setdefault(doc_id, doc_id) for doc_id in ordered)
        results[query_id] = Results(doc_ids, array("d", ordered.values()))
    return HeldRun(name, results, values)
