"""An experiment from its gold set to its figures; writes only runs and their times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from goldbench.bench.bench_file import Bench
from goldbench.bench.experiment_files import make_folders
from goldbench.bench.measurements import experiment_of, results_of
from goldbench.bench.search import Outcome, run_all
from goldbench.bench.searched_texts import texts_of
from goldbench.measures.result import Result
from goldbench.ports import Progress
from goldbench.records.experiment import Experiment, Timings
from goldbench.score.runs import Gold
from goldbench.systems import open_systems
from goldbench.systems.destinations import text_line


@dataclass(frozen=True, slots=True)
class Found:
    """The figures of an experiment (None if no system could be measured), the times, and what failed or was kept.

    ``results`` are the values of every query by system.
    """

    experiment: Experiment | None
    timings: Timings
    outcome: Outcome
    results: Mapping[str, Result] = field(default_factory=dict)


def conduct(
    bench: Bench,
    gold: Gold,
    *,
    folder: Path,
    answers: Path,
    progress: Progress,
    again: bool = False,
    replay: bool = False,
) -> Found:
    """Return the figures of an experiment; every run is in the folder as soon as it is complete.

    Args:
        bench: The experiment.
        gold: The gold set, with texts beside its judgments.
        folder: Where runs and times are written.
        answers: The store of model answers.
        progress: Shows each system.
        again: Whether systems whose finished runs are in the folder are searched again.
        replay: Whether models are answered from the store alone.

    Raises:
        InputError: The gold set has no texts, or cannot be cut anew.
        OutputError: A file cannot be written.
    """
    texts = texts_of(bench, gold)
    make_folders(folder)
    names = list(dict.fromkeys(point.system for point in bench.points))
    with open_systems(
        names,
        bench.described,
        config=bench.config,
        answers=answers,
        replay=replay,
        where=bench.where,
        folder=bench.folder,
    ) as systems:
        progress.note(text_line(systems.destinations()))
        outcome = run_all(bench, systems, texts, folder=folder, progress=progress, again=again)
        timings = Timings(timings={point.name: known.timing for point, known in outcome.measured.items()})
        if not outcome.measured:
            return Found(None, timings, outcome)
        results = results_of(bench, gold, outcome, texts.queries, folder=folder)
    return Found(experiment_of(bench, gold, outcome, results, settings=systems.settings), timings, outcome, results)
