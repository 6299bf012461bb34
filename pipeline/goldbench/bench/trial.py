"""An experiment from its gold set to its figures: means with intervals and tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from goldbench import __version__
from goldbench.bench.bench_file import Bench
from goldbench.bench.experiment_files import RUNS, make_folders, parts_with_settings, run_path
from goldbench.bench.search import SearchOutcome, run_all, texts_of
from goldbench.formats.runs.trec import read_run
from goldbench.goldset.gold_path import notice_of
from goldbench.measures.result import Result
from goldbench.measures.statistics.comparison import scorecard
from goldbench.ports import Progress
from goldbench.records.experiment import Experiment, Measurable, OtherChunking, Timings
from goldbench.records.scorecard import Method, Scorecard
from goldbench.retrieval.system_settings import SystemSettings
from goldbench.score.runs import Gold, load_run, score_results
from goldbench.score.scorecards import judged_beside, reference, with_verdict
from goldbench.score.searched_queries import conversations, told_of_conversations
from goldbench.systems import open_systems
from goldbench.systems.destinations import text_line
from goldbench.text.display import queries


@dataclass(frozen=True, slots=True)
class TrialFigures:
    """The figures of an experiment (None if no system could be measured), the times, and what failed or was kept.

    ``results`` are the values of every query by system.
    """

    experiment: Experiment | None
    timings: Timings
    outcome: SearchOutcome
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
) -> TrialFigures:
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
            return TrialFigures(None, timings, outcome)
        results = results_of(bench, gold, outcome, texts.queries, folder=folder)
    return TrialFigures(
        experiment_of(bench, gold, outcome, results, settings=systems.settings), timings, outcome, results
    )


MOST_COMPARED = 40
"""Limits the systems of which every pair is tested: among more, no pair stands out after correcting for all of them."""


def results_of(
    bench: Bench, gold: Gold, outcome: SearchOutcome, query_ids: Iterable[str], *, folder: Path
) -> dict[str, Result]:
    """Return the result of every measured system by the judgments of the passages it searched; count empty results.

    Args:
        bench: The experiment.
        gold: The judgments.
        outcome: The finished runs; the number of queries without results is added.
        query_ids: The queries that were searched; one without results is not missing.
        folder: The folder of the experiment.

    Raises:
        InputError: A run cannot be read again.
    """
    measures = list(dict.fromkeys([*bench.measures, judged_beside(bench.compared)]))
    results = {}
    for point in outcome.measured:
        run: dict[str, dict[str, float]] = {query_id: {} for query_id in query_ids} | read_run(
            load_run(run_path(folder, point.name)).source
        )
        corpus = outcome.corpora[point.cut]
        outcome.empty[point.name] = sum(not documents for documents in run.values())
        judged_here = replace(gold, qrels={query_id: dict(grades) for query_id, grades in corpus.qrels.items()})
        results[point.name] = score_results(judged_here, run, measures, name=str(run_path(folder, point.name)))
    return results


def experiment_of(
    bench: Bench,
    gold: Gold,
    outcome: SearchOutcome,
    results: Mapping[str, Result],
    *,
    settings: Mapping[str, SystemSettings],
) -> Experiment:
    """Return the figures of at least one system.

    Args:
        bench: The experiment.
        gold: The judgments.
        outcome: The finished runs and the failures.
        results: Results by system.
        settings: The settings of every system by name.
    """
    card = with_verdict(_card(bench, gold, results), gold, results)
    points = {point.name: point for point in outcome.measured}
    systems = [
        Measurable(
            system=name,
            settings=parts_with_settings(settings, point.system, bench.folder),
            chunking=OtherChunking(size=point.cut.size, overlap=point.cut.overlap) if point.cut else None,
            passages=outcome.corpora[point.cut].count,
            run=f"{RUNS}/{run_path(Path(), name).name}",
            run_sha256=outcome.measured[point].run_sha256,
        )
        for name, point in ((system.system, points[system.system]) for system in card.systems)
    ]
    return Experiment(
        compared=tuple(measure.name for measure in bench.compared),
        baseline=bench.file.baseline,
        depth=bench.depth,
        card=card,
        systems=systems,
        failures=outcome.failures,
        published=list(bench.published),
        notes=[*_searched(bench, gold), *_notes(bench, outcome)],
        notice=notice_of(gold.path),
    )


def _card(bench: Bench, gold: Gold, results: Mapping[str, Result]) -> Scorecard:
    """Return the scorecard of all measures, the best system by the first compared measure first."""
    compared = [compared_measure.name for compared_measure in bench.compared]
    is_tested = bench.file.baseline is not None or len(results) <= MOST_COMPARED
    return scorecard(
        results,
        list(dict.fromkeys([*compared[:1], *(measure.name for measure in bench.measures)])),
        judged=judged_beside(bench.compared).name,
        gold=reference(gold),
        method=Method(missing="zero", scores="float64", seed=bench.file.seed),
        goldbench=__version__,
        tested=compared if is_tested else (),
        baseline=bench.file.baseline,
    )


def _searched(bench: Bench, gold: Gold) -> Iterator[str]:
    """Yield what was searched for conversations, if there are any."""
    if note := told_of_conversations(len(conversations(gold)), bench.file.conversation):
        yield note


def _notes(bench: Bench, outcome: SearchOutcome) -> Iterator[str]:
    """Yield what a reader must know beside the figures, a line each."""
    points = list(outcome.measured)
    for name, count in outcome.empty.items():
        if count:
            yield f"{name}: no results for {queries(count)}"
    if any(point.cut for point in points):
        yield "other cuts are measured by labels projected from evidence spans; k counts passages of any length"
    for cut, corpus in outcome.corpora.items():
        if cut and corpus.lost:
            lost = queries(len(corpus.lost))
            yield f"cut {cut.size}/{cut.overlap}: no passage holds the evidence of {lost}, scored 0"
    if bench.file.baseline is None and len(points) > MOST_COMPARED:
        yield f"{len(points):,} systems are too many to test every pair; name a baseline to test each with it"
    names = {point.name for point in points}
    if bench.file.baseline and bench.file.baseline not in names:
        yield f"the baseline {bench.file.baseline} was not measured, so nothing is tested"
    for row in bench.published:
        missing = [name for name in row.beside if name not in names]
        yield from (f"published {row.published}: no measured system {name} to compare it with" for name in missing)
