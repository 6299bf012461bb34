"""``evaluate``: the measures of a run that is in memory, as dicts or as a frame of pandas or polars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, get_args

from goldbench.errors import InputError, UsageError
from goldbench.measures.assessment import Missing, assess
from goldbench.measures.names import DEFAULT, Measure, parse_measures
from goldbench.measures.ranks.judged_ranks import (
    GRADES,
    HIGHEST_GRADE,
    BadScore,
    DuplicateDocument,
    Scores,
    place_mapping,
)
from goldbench.measures.result import Result
from goldbench.text.display import shown


def evaluate(
    qrels: Any,  # noqa: ANN401  a mapping or a frame
    run: Any,  # noqa: ANN401  a mapping or a frame
    measures: str | Measure | Iterable[str | Measure] = DEFAULT,
    *,
    missing: Missing = "zero",
    scores: Scores = "float64",
    rel: int = 1,
) -> Result:
    """Return the value of every measure for every query, and the counts that say how to read them.

    Args:
        qrels: The judgments: ``{query: {document: grade}}``, ``{query: [relevant document, ...]}``, or a frame of
            pandas or polars (columns ``query_id``, ``doc_id``, ``grade``, or as TREC and BEIR call them).
        run: The results: ``{query: {document: score}}``, ``{query: [document, ...]}`` with the best first, or a frame
            (columns ``query_id``, ``doc_id``, ``score``).
        measures: Names such as ``ndcg@10``, or measures.
        missing: What a judged query that the run lacks counts: ``zero``, nothing (``skip``), or an error.
        scores: ``float64`` compares scores as trec_eval 10 does, ``float32`` as trec_eval 9 and pytrec_eval do.
        rel: The smallest relevant grade for measures without one, 1 or more.

    Raises:
        InputError: The judgments or the run cannot be used; the message names the reason.
        UnknownMeasure: A measure cannot be understood.
        UsageError: ``missing``, ``scores`` or ``rel`` has a value that is not offered.
    """
    _check(missing, Missing, "missing")
    _check(scores, Scores, "scores")
    parsed = measures_of(measures, rel)
    grades = judgments_of(qrels)
    if not isinstance(run, Mapping):
        from goldbench.measures.ranks.frame_ranks import place_frame

        placed, extra = place_frame(grades, run, scores=scores)
        return assess(grades, placed, parsed, extra=extra, missing=missing)
    results = _read_run(run)
    try:
        placed = place_mapping(grades, results, scores=scores)
    except BadScore as error:
        raise InputError("run", f"query {error.query_id!r}: {error}") from None
    return assess(grades, placed, parsed, extra=len(results.keys() - grades.keys()), missing=missing)


def judgments_of(qrels: Any) -> dict[str, dict[str, int]]:  # noqa: ANN401  a mapping or a frame
    """Return judgments in memory as a grade per document and query, every one of them checked.

    Args:
        qrels: As in `evaluate`.

    Raises:
        InputError: They cannot be used; the message names the reason.
    """
    if not isinstance(qrels, Mapping):
        from goldbench.measures.ranks.frame_ranks import qrels_of_frame

        return qrels_of_frame(qrels)
    grades = {}
    for query_id, judged in qrels.items():
        documents = judged if isinstance(judged, Mapping) else _listed(judged, query_id, "qrels")
        _check_ids([query_id], "query", "qrels")
        _check_ids(documents, "document", "qrels")
        grades[query_id] = {
            doc_id: grade if type(grade) is int and abs(grade) <= HIGHEST_GRADE else _grade(grade, query_id)
            for doc_id, grade in documents.items()
        }
    return grades


def results_of(run: Any) -> dict[str, dict[str, float]]:  # noqa: ANN401  a mapping or a frame
    """Return a run in memory as a score per document and query: a copy, whose scores `evaluate` checks.

    Args:
        run: As in `evaluate`.

    Raises:
        InputError: It cannot be used; the message names the reason.
    """
    if not isinstance(run, Mapping):
        from goldbench.measures.ranks.frame_ranks import results_of_frame

        return results_of_frame(run)
    return {query_id: dict(documents) for query_id, documents in _read_run(run).items()}


def _read_run(run: Mapping[Any, Any]) -> dict[str, Mapping[str, float]]:
    """Return results as a score per document and query; documents in a list score in its order."""
    results: dict[str, Mapping[str, float]] = {}
    _check_ids(run, "query", "run")
    for query_id, documents in run.items():
        if isinstance(documents, set | frozenset):
            raise InputError("run", f"query {query_id!r}: a set has no order; give a list, or documents with scores")
        if isinstance(documents, Mapping):
            _check_ids(documents, "document", "run")
            results[query_id] = documents
        else:
            listed = documents.tolist() if type(documents).__name__ == "ndarray" else documents
            places = enumerate(_listed(listed, query_id, "run"))
            results[query_id] = {doc_id: -float(rank) for rank, doc_id in places}
    return results


def _listed(documents: Any, query_id: str, name: str) -> dict[str, int]:  # noqa: ANN401
    """Return the documents of a list with the grade 1 each, in its order."""
    if isinstance(documents, str) or not isinstance(documents, Sequence | set | frozenset):
        held = type(documents).__name__
        problem = f"query {query_id!r}: holds a {held}; give documents with numbers, or a list of documents"
        raise InputError(name, problem)
    _check_ids(documents, "document", name)
    listed = dict.fromkeys(documents, 1)
    if len(listed) < len(documents):
        twice = Counter(documents).most_common(1)[0][0]
        raise InputError(name, f"query {query_id!r}: {DuplicateDocument(query_id, twice)} ({twice!r})")
    return listed


def _check_ids(ids: Iterable[Any], kind: str, name: str) -> None:
    try:
        "".join(ids)  # the quickest look at every id
    except TypeError:
        wrong = next(value for value in ids if not isinstance(value, str))
        problem = f"a {kind} id is of type {type(wrong).__name__}; ids are strings, convert them with str()"
        raise InputError(name, problem) from None


def _grade(value: Any, query_id: str) -> int:  # noqa: ANN401
    try:
        grade = int(value)
        exact = grade == value and abs(grade) <= HIGHEST_GRADE
    except (TypeError, ValueError, OverflowError):
        exact = False
    if not exact:
        raise InputError("qrels", f"query {query_id!r}: a grade is not {GRADES}")
    return grade


def measures_of(
    measures: str | Measure | Iterable[str | Measure], rel: int, *, cutoffs: Sequence[int] = ()
) -> list[Measure]:
    """Return the measures that a caller names, each once, in order.

    Args:
        measures: Names such as ``ndcg@10``, or measures.
        rel: The smallest relevant grade for names without one, 1 or more.
        cutoffs: Cutoffs for names without one.

    Raises:
        UnknownMeasure: A measure cannot be understood; the message lists all of these.
        UsageError: ``measures`` or ``rel`` is of another type.
    """
    if not isinstance(rel, int) or rel < 1:
        raise UsageError(f"rel={shown(repr(rel))}: the smallest relevant grade is a whole number from 1")
    try:
        asked: list[Any] = [measures] if isinstance(measures, str | Measure) else list(measures)
    except TypeError:
        raise UsageError(f"measures={shown(repr(measures))}: give names such as 'ndcg@10', or measures") from None
    for measure in asked:
        if not isinstance(measure, str | Measure):
            kind = type(measure).__name__
            raise UsageError(f"measures: holds a {kind}; give names such as 'ndcg@10', or measures")
    names = [measure for measure in asked if isinstance(measure, str)]
    if names or not asked:
        parse_measures(names, cutoffs=cutoffs, rel=rel)  # one error lists all names that cannot be understood
    parsed = [
        [measure] if isinstance(measure, Measure) else parse_measures([measure], cutoffs=cutoffs, rel=rel)
        for measure in asked
    ]
    return list(dict.fromkeys(chain.from_iterable(parsed)))


def _check(value: object, offered: Any, name: str) -> None:  # noqa: ANN401  a Literal has no type of its own
    if not isinstance(value, str) or value not in get_args(offered):
        raise UsageError(f"{name}={shown(repr(value))} is not offered; choose from {', '.join(get_args(offered))}")
