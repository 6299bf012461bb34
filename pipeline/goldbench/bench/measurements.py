"""From runs to figures: means with intervals for every system and measure, tests, and published figures to compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np

from goldbench import __version__
from goldbench.bench.bench_file import Bench
from goldbench.bench.experiment_files import RUNS, run_path
from goldbench.bench.fingerprints import parts_with_settings
from goldbench.bench.search import Outcome
from goldbench.errors import InputError
from goldbench.formats.runs.trec import read_run
from goldbench.measures.names import Measure, parse_measure
from goldbench.measures.ranks.text_match import TextMatch
from goldbench.measures.result import Result
from goldbench.measures.statistics.comparison import aligned, systems_of, warnings
from goldbench.measures.statistics.detectable import adjusted_difference
from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.intervals import Intervals, bootstrap_intervals
from goldbench.measures.statistics.published_tables import differences
from goldbench.measures.statistics.significance import compare, holm
from goldbench.records.experiment import Chunking, Experiment, Measurable, PublishedRow
from goldbench.records.scorecard import Comparison, GoldReference, Method, Scorecard, SystemScores, Verdict
from goldbench.retrieval.system_settings import SystemSettings
from goldbench.score.runs import Gold, load_run, score_results
from goldbench.score.scorecards import notice_of, reference, with_verdict
from goldbench.score.searched_queries import conversations, told_of_conversations
from goldbench.systems.resolution import reached
from goldbench.text.display import queries

MOST_COMPARED = 40
"""Limits the systems of which every pair is tested: among more, no pair stands out after correcting for all of them."""

_SERVED = frozenset({"embedding", "rewrite", "hyde", "listwise"})
"""Kinds of systems that a model's server answers."""


def results_of(
    bench: Bench, gold: Gold, outcome: Outcome, query_ids: Iterable[str], *, folder: Path
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
    matched = TextMatch(gold.qrels, _texts(gold)) if bench.match == "text" else None
    judged = _judged(bench)
    asked = list(dict.fromkeys([*bench.measures, judged]))
    results = {}
    for point in outcome.measured:
        run: dict[str, dict[str, float]] = {query_id: {} for query_id in query_ids} | read_run(
            load_run(run_path(folder, point.name)).source
        )
        corpus = outcome.corpora[point.cut]
        outcome.empty[point.name] = sum(not documents for documents in run.values())
        if matched:
            ordered = {query_id: [corpus.passages[doc_id] for doc_id in docs] for query_id, docs in run.items()}
            run = matched.run_of(ordered)
        file = load_run(run_path(folder, point.name))
        judged_here = replace(gold, qrels={query_id: dict(grades) for query_id, grades in corpus.qrels.items()})
        results[point.name] = score_results(judged_here, file, run, asked)
    return results


def experiment_of(
    bench: Bench, gold: Gold, outcome: Outcome, results: Mapping[str, Result], *, settings: Mapping[str, SystemSettings]
) -> Experiment:
    """Return the figures of at least one system.

    Args:
        bench: The experiment.
        gold: The judgments.
        outcome: The finished runs and the failures.
        results: Results by system.
        settings: The settings of every system by name.
    """
    card = with_verdict(card_of(bench, reference(gold), results), gold, results)
    means = {system.system: {name: score.mean for name, score in system.scores.items()} for system in card.systems}
    points = {point.name: point for point in outcome.measured}
    systems = [
        Measurable(
            system=name,
            settings=parts_with_settings(settings, point.system, bench.folder),
            chunking=Chunking(size=point.cut.size, overlap=point.cut.overlap) if point.cut else None,
            passages=outcome.corpora[point.cut].count,
            run=f"{RUNS}/{run_path(Path(), name).name}",
            run_sha256=outcome.measured[point].run_sha256,
        )
        for name, point in ((system.system, points[system.system]) for system in card.systems)
    ]
    return Experiment(
        compared=tuple(one.name for one in bench.compared),
        baseline=bench.baseline,
        depth=bench.depth,
        match=bench.match,
        card=card,
        systems=systems,
        failures=outcome.failures,
        published=list(bench.published),
        differences=list(differences(bench.published, means, card.gold.queries)),
        notes=[*_searched(bench, gold), *_notes(bench, outcome, settings)],
        notice=notice_of(gold),
    )


def card_of(bench: Bench, gold: GoldReference, results: Mapping[str, Result]) -> Scorecard:
    """Return the scorecard of all measures, the best system by the first compared measure first.

    Args:
        bench: The experiment.
        gold: The gold set, as scorecards name it.
        results: Results by system.
    """
    first = bench.compared[0].name
    judged = _judged(bench).name
    measures = list(dict.fromkeys([first, *(one.name for one in bench.measures)]))
    ranked = dict(sorted(results.items(), key=lambda item: (-item[1].mean(first), item[0])))
    scores = aligned(ranked, measures).scores
    method = Method(missing="zero", scores="float64", seed=bench.seed)
    means = np.array([[result.mean(measure) for measure in measures] for result in ranked.values()])
    systems = systems_of(ranked, measures, judged=judged, means=means, ends=_ends(scores, method))
    return Scorecard(
        goldbench=__version__,
        gold=gold,
        measures=measures,
        systems=systems,
        comparisons=comparisons_of(bench, ranked, method),
        warnings=_warnings(systems, judged, shared=len(scores)),
        method=method,
    )


def _warnings(systems: Sequence[SystemScores], judged: str, *, shared: int) -> list[str]:
    """Return the warnings; of all pairs that differ in the share of judged results only the one that differs most."""
    gap = f"{judged} is "
    ordered = sorted(systems, key=lambda system: (system.judged[judged], system.system))
    widest = warnings([ordered[0], ordered[-1]], judged, shared=shared) if len(ordered) > 1 else ()
    plain = [line for line in warnings(systems, judged, shared=shared) if not line.startswith(gap)]
    return [*plain, *(line for line in widest if line.startswith(gap))]


def comparisons_of(bench: Bench, ranked: Mapping[str, Result], method: Method) -> list[Comparison]:
    """Return the tests of every pair of systems, or of each with the baseline, corrected by Holm for all of them.

    Args:
        bench: The experiment, whose compared measures are tested.
        ranked: Results by system, the best first.
        method: Permutations, resamples, seed and levels of the tests.
    """
    names = list(ranked)
    measures = [one.name for one in bench.compared]
    scores = aligned(ranked, measures).scores
    if len(scores) < 2 or (bench.baseline is None and len(names) > MOST_COMPARED):
        return []
    found: list[Comparison] = []
    for pair in combinations(range(len(names)), 2):
        if bench.baseline is None or bench.baseline in {names[pair[0]], names[pair[1]]}:
            found += compare(scores[:, pair], [names[one] for one in pair], measures, method).comparisons
    return list(_corrected(found, method))


def _corrected(found: Sequence[Comparison], method: Method) -> Iterator[Comparison]:
    """Yield the comparisons with p-values and detectable differences adjusted for all, and the verdict by those."""
    for one, p_holm in zip(found, holm([one.p for one in found]), strict=True):
        verdict = one.verdict
        if verdict is not Verdict.SAME:
            better = Verdict.FIRST if one.difference > 0 else Verdict.SECOND
            verdict = better if p_holm <= method.alpha else Verdict.NOT_SEPARABLE
        shown = adjusted_difference(
            one.detectable, one.queries, pairs=len(found), alpha=method.alpha, permutations=method.permutations
        )
        yield one.model_copy(update={"p_holm": p_holm, "verdict": verdict, "detectable_holm": shown})


def _ends(scores: Floats, method: Method) -> Intervals | None:
    """Return the intervals of the means; None for fewer than 2 queries."""
    if len(scores) < 2:
        return None
    return bootstrap_intervals(scores, [], resamples=method.resamples, seed=method.seed, confidence=method.confidence)


def _judged(bench: Bench) -> Measure:
    cutoff = next((one.k for one in bench.compared if one.k), 10)
    return parse_measure(f"judged@{cutoff}")


def _texts(gold: Gold) -> dict[str, str]:
    judged = {doc_id for grades in gold.qrels.values() for doc_id in grades}
    texts = gold.corpus()
    if judged.isdisjoint(texts):
        raise InputError(str(gold.path), 'has no texts of judged passages, which match = "text" needs')
    return texts


def _searched(bench: Bench, gold: Gold) -> Iterator[str]:
    """Yield what was searched for conversations, if there are any."""
    if told := told_of_conversations(len(conversations(gold)), bench.conversation):
        yield told


def _notes(bench: Bench, outcome: Outcome, settings: Mapping[str, SystemSettings]) -> Iterator[str]:
    """Yield what a reader must know beside the figures, a line each."""
    points = list(outcome.measured)
    if any(settings[one].kind in _SERVED for one in reached([point.system for point in points], settings)):
        yield "answers of a model's server that were stored come from the store, and so do their times"
    for name, count in outcome.empty.items():
        if count:
            yield f"{name}: no results for {queries(count)}"
    if any(point.cut for point in points):
        yield "other cuts are measured by labels projected from evidence spans; k counts passages of any length"
    for cut, corpus in outcome.corpora.items():
        if cut and corpus.lost:
            lost = queries(len(corpus.lost))
            yield f"cut {cut.size}/{cut.overlap}: no passage holds the evidence of {lost}, scored 0"
    if bench.baseline is None and len(points) > MOST_COMPARED:
        yield f"{len(points):,} systems are too many to test every pair; name a baseline to test each with it"
    names = {point.name for point in points}
    if bench.baseline and bench.baseline not in names:
        yield f"the baseline {bench.baseline} was not measured, so nothing is tested"
    yield from (line for row in bench.published for line in _about(row, names))


def _about(row: PublishedRow, ours: Set[str]) -> Iterator[str]:
    if ours.isdisjoint(row.beside or (row.published,)):
        note = f" ({row.note})" if row.note else ""
        yield f"published {row.published}: no measured system to compare it with{note}"
    elif row.note:
        yield f"published {row.published}: {row.note}"
