"""The functions that score and compare: by a gold set, or by judgments that a caller holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from goldbench.api.evaluations import Evaluation, Evaluations
from goldbench.api.given_systems import (
    EvaluateOptions,
    ScoringChoices,
    check_kinds,
    deepest,
    name_of,
    score,
    systems_in,
)
from goldbench.api.keywords import Measures, choice_of, keywords_named, path_of, unfit, whole_number
from goldbench.api.run_comparison import RunComparison
from goldbench.errors import InputError, UsageError
from goldbench.measures.assessment import Missing
from goldbench.measures.evaluation import judgments_of, measures_of
from goldbench.measures.names import default_measures
from goldbench.measures.ranks.columns import library_of
from goldbench.measures.ranks.judged_ranks import Scores
from goldbench.records.scorecard import GoldReference, Method
from goldbench.report.terminal import on_standard_error
from goldbench.score.runs import DECIDING, Gold, Match, Weight, load_gold, weighted
from goldbench.score.scorecards import card_of, reference, to_compare
from goldbench.text.asked_query import Conversation
from goldbench.text.display import shown

_MOST_DRAWS = 10_000_000
"""Limits permutations and resamples, which take minutes then; a larger number is refused as a mistake."""


@keywords_named()
def evaluate(
    qrels: object,
    run: object,
    measures: Measures | None = None,
    *,
    missing: Missing = "zero",
    scores: Scores = "float64",
    rel: int | None = None,
) -> Evaluation:
    """Return the scores of a run by judgments, as ``goldbench score`` computes them.

    A query of the run without results, as ``{"q1": {}}``, scores 0 and is not missing.

    >>> from goldbench import evaluate
    >>> evaluate({"q1": {"d1": 1}}, {"q1": {"d1": 0.9, "d2": 0.8}}, ["ndcg@10", "p@2"])["p@2"]
    0.5

    Args:
        qrels: The judgments: ``{query: {document: grade}}``, ``{query: [relevant document, ...]}``, a frame of pandas
            or polars (columns ``query_id``, ``doc_id``, ``grade``), or the path of a file or of a gold set.
        run: The results: ``{query: {document: score}}``, ``{query: [document, ...]}`` with the best first, a frame
            (columns ``query_id``, ``doc_id``, ``score``), the path of a file, or an `Evaluation`, whose run is taken.
        measures: Names such as ``ndcg@10`` (default: as ``goldbench score``).
        missing: What a judged query that the run lacks counts: ``zero``, nothing (``skip``), or an error.
        scores: ``float64`` compares scores as trec_eval 10 does, ``float32`` as trec_eval 9 and pytrec_eval do.
        rel: The smallest relevant grade of measures without one (default: 1, or what a gold set says).

    Raises:
        InputError: The judgments or the run cannot be used; the message names the reason.
        UnknownMeasure: A measure cannot be understood.
        UsageError: A parameter has a value that is not offered.
    """
    gold = _gold_of(qrels, rel)
    choices = scoring(measures, rel=gold.level, missing=missing, scores=scores)
    return _evaluated(gold, _checked_run(run, "run"), name_of(run), choices)


@keywords_named()
def compare(
    qrels: object,
    runs: Mapping[str, object],
    measures: Measures | None = None,
    *,
    missing: Missing = "zero",
    scores: Scores = "float64",
    rel: int | None = None,
    permutations: int = 10_000,
    resamples: int = 10_000,
    seed: int = 0,
    alpha: float = 0.05,
) -> RunComparison:
    """Return which of several runs is better, and whether chance explains the difference, as ``goldbench compare``.

    >>> from goldbench import compare
    >>> qrels = {f"q{n}": {f"d{n}": 1} for n in range(20)}
    >>> runs = {"good": {query: list(judged) for query, judged in qrels.items()}, "bad": {q: ["d0"] for q in qrels}}
    >>> compare(qrels, runs, "mrr@10")["mrr@10"][0].verdict.value
    'first'

    Args:
        runs: Two runs or more, by name; each as in `evaluate`.
        measures: Measures that are tested (default: as ``goldbench compare``); the first one ranks.
        permutations: Draws of the randomization test, 1 or more.
        resamples: Resamples of the bootstrap, 100 or more.
        seed: The same seed gives the same figures; 0 or more.
        alpha: Accepted chance of a false claim, above 0 and below 1 (0.05 = 5 %).

    Raises:
        UsageError: There are fewer than two runs, or a parameter has a value that is not offered.
        InputError: The judgments or a run cannot be used.
        UnknownMeasure: A measure cannot be understood.
    """
    gold = _gold_of(qrels, rel)
    choices = scoring(measures, rel=gold.level, missing=missing, scores=scores, compares=True)
    method = method_of(choices, permutations=permutations, resamples=resamples, seed=seed, alpha=alpha)
    held = not isinstance(qrels, str | PathLike)
    about = GoldReference(name="qrels", sha256=gold.fingerprint(), queries=len(gold.qrels)) if held else reference(gold)
    checked = {name: _checked_run(run, name) for name, run in (systems_in(runs) or {}).items()}
    return compare_all(gold, checked, choices, method, about)


def scoring(
    measures: Measures | None, *, rel: int, compares: bool = False, **options: Unpack[EvaluateOptions]
) -> ScoringChoices:
    """Return how systems are scored, every parameter checked.

    Args:
        measures: The measures; None for the default ones.
        rel: The smallest relevant grade of measures without one.
        compares: Whether the default measures are those of a comparison.
        options: The keywords of ``GoldSet.evaluate``; without ``progress`` none is shown.

    Raises:
        UnknownMeasure: A measure cannot be understood.
        UsageError: A parameter has a value that is not offered.
    """
    stated: dict[str, Any] = {name: value for name, value in options.items() if name != "weight" or value is not None}
    offered = {"missing": Missing, "scores": Scores, "match": Match, "conversation": Conversation, "weight": Weight}
    choices = {name: choice_of(stated[name], name, offered[name]) for name in offered.keys() & stated.keys()}
    if compares and callable(measures):
        raise UsageError("compare: give the systems by name in one mapping, as {'a': f, 'b': g}")
    cutoffs = _cutoffs(stated.get("cutoffs", ()))
    if measures is None:
        measures = DECIDING if compares and not cutoffs else default_measures(cutoffs)
    parsed = measures_of(measures, rel, cutoffs=cutoffs)
    return ScoringChoices(
        measures=parsed,
        k=deepest(parsed, stated.get("k")),
        timeout=_seconds(stated.get("timeout", 30.0)),
        progress=on_standard_error(quiet=not stated.get("progress", False)),
        **choices,  # type: ignore[arg-type]  # each is one of the names that are offered
    )


def _seconds(timeout: object) -> float:
    try:
        seconds = math.nan if isinstance(timeout, bool) or not isinstance(timeout, Real) else float(timeout)
    except OverflowError:
        seconds = math.inf
    if not seconds > 0:
        raise unfit(timeout, "timeout", "a number of seconds above 0")
    return seconds


def _cutoffs(value: Any) -> list[int]:  # noqa: ANN401  whatever a caller gives
    try:
        cuts = [value] if isinstance(value, str | bytes) else list(value)
    except TypeError:
        cuts = [value]
    return [whole_number(cut, "cutoffs", least=1) for cut in cuts]


def evaluate_all(
    gold: Gold, systems: object, choices: ScoringChoices, *, notice: str | None
) -> Evaluation | Evaluations:
    """Return the scores of one system, or of several by name.

    Args:
        gold: The judgments.
        systems: A run or a retriever, or several by name.
        choices: How they are scored.
        notice: The gold set's warning, or None.
    """
    several = systems_in(systems)
    if several is None:
        return _evaluated(gold, systems, name_of(systems), choices, notice)
    for name, value in several.items():
        if isinstance(value, str) and name in gold.qrels:
            raise InputError("run", f"query {name!r}: holds a str; give documents with numbers, or a list of documents")
    check_kinds(several)
    return Evaluations({name: _evaluated(gold, system, name, choices, notice) for name, system in several.items()})


def _evaluated(gold: Gold, system: object, name: str, choices: ScoringChoices, notice: str | None = None) -> Evaluation:
    scored = score(gold, system, name, choices)
    result = weighted(gold, scored.result, choices.weight)
    return Evaluation(gold, result, scored.run, system=name, notes=scored.notes, notice=notice)


def compare_all(
    gold: Gold,
    systems: object,
    choices: ScoringChoices,
    method: Method,
    about: GoldReference,
    *,
    notice: str | None = None,
) -> RunComparison:
    """Return the comparison of systems.

    Args:
        gold: The judgments.
        systems: Runs or retrievers by name.
        choices: How they are scored.
        method: How intervals and tests are computed.
        about: The judgments by name.
        notice: The gold set's warning, or None.

    Raises:
        UsageError: There are fewer than two systems.
    """
    several = systems_in(systems)
    if several is None or len(several) < 2:
        raise UsageError("compare: give at least two systems by name, as {'a': run_a, 'b': run_b}")
    check_kinds(several)
    compared, judged = to_compare(choices.measures)
    both = choices._replace(measures=[*compared, judged])
    scored = {name: score(gold, system, name, both) for name, system in several.items()}
    results = {name: system_scores.result for name, system_scores in scored.items()}
    card = card_of(gold, results, compared, judged=judged, method=method, about=about)
    notes = [f"{name}: {note}" for name, system_scores in scored.items() for note in system_scores.notes]
    return RunComparison(card, level=gold.level, notice=notice, notes=notes)


def method_of(choices: ScoringChoices, **numbers: float) -> Method:
    """Return how intervals and tests are computed.

    Raises:
        UsageError: A number is out of its range.
    """
    from pydantic import ValidationError

    for name, value in numbers.items():
        if isinstance(value, bool):
            raise unfit(value, name, "a number")
    for name in ("permutations", "resamples"):
        if isinstance(numbers[name], int | float) and numbers[name] > _MOST_DRAWS:
            raise unfit(numbers[name], name, f"at most {_MOST_DRAWS:,}")
    try:
        return Method.model_validate(
            {"missing": choices.missing, "scores": choices.scores, "confidence": 0.95, **numbers}
        )
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        name = ".".join(map(str, wrong["loc"]))
        raise UsageError(f"{name}: not a valid value: {shown(repr(wrong['input']))}; {wrong['msg'].lower()}") from None


def _gold_of(qrels: object, rel: int | None) -> Gold:
    if type(qrels).__name__ == "GoldSet":  # whose module imports this one
        raise UsageError("is a GoldSet; call its own evaluate() or compare()", parameter="qrels")
    if isinstance(qrels, str | PathLike):
        gold = load_gold(path_of(qrels, "qrels"))
    else:
        gold = Gold(Path("qrels"), judgments_of(qrels), in_memory=True)
    if not gold.qrels:
        raise InputError(gold.path, "holds no judgments")
    return gold if rel is None else replace(gold, level=whole_number(rel, "rel", least=1))


def _checked_run(run: object, name: str) -> object:
    """Return a run; a retriever has no place where there are no texts to search.

    Raises:
        InputError: It is of another type.
    """
    if isinstance(run, str | PathLike | Mapping) or library_of(run) is not None:
        return run
    kind = type(run).__name__
    where = "; retrievers are scored by GoldSet.evaluate and GoldSet.compare" if callable(run) else ""
    raise InputError(name, f"is of type {kind}; give a dict, a frame of pandas or polars, or the path of a run{where}")
