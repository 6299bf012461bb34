"""``evaluate``: the figures of a run that is in memory, as dicts or as a frame of pandas or polars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

from pipeline.errors import InputError, UsageError
from pipeline.measures.assessment import Missing, assess
from pipeline.measures.names import DEFAULT, Measure, parse_measures
from pipeline.measures.ranks.judged_ranks import BadScore, DuplicateDocument, Qrels, Scores, place_mapping
from pipeline.measures.result import Result

HIGHEST_GRADE = 1000
"""Above this, and below its negative, a grade is taken for a mistake."""


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
        qrels: the judgments: ``{query: {document: grade}}``, ``{query: [relevant document, ...]}``, or a frame of
            pandas or polars (columns ``query_id``, ``doc_id``, ``grade``, or as TREC and BEIR call them).
        run: the results: ``{query: {document: score}}``, ``{query: [document, ...]}`` with the best first, or a frame
            (columns ``query_id``, ``doc_id``, ``score``).
        measures: names as ``ndcg@10``, or measures.
        missing: what a judged query that the run lacks counts: ``zero``, nothing (``skip``), or an error.
        scores: ``float64`` compares scores as trec_eval 10 does, ``float32`` as trec_eval 9 and pytrec_eval do.
        rel: the smallest relevant grade where a measure gives none, 1 or more.

    Raises:
        InputError: the judgments or the run cannot be used as they are; says which and why.
        UnknownMeasure: a measure cannot be understood.
        UsageError: ``missing``, ``scores`` or ``rel`` is none of what is offered.
    """
    _check(missing, ("zero", "skip", "error"), "missing")
    _check(scores, ("float64", "float32"), "scores")
    asked = _measures(measures, rel)
    grades = read_qrels(qrels)
    if not isinstance(run, Mapping):
        from pipeline.measures.ranks.frames import place_frame

        placed, extra = place_frame(grades, run, scores=scores)
        return assess(grades, placed, asked, extra=extra, missing=missing)
    results = read_run(run)
    try:
        placed = place_mapping(grades, results, scores=scores)
    except BadScore as error:
        _check_ids(results[error.query_id], "run")
        raise InputError("run", f"query {error.query_id!r}: {error}") from None
    for query_id, at in placed.items():
        if len(at.hits) < len(grades[query_id]):  # what was not found may be there as a number
            _check_ids(results[query_id], "run")
    return assess(grades, placed, asked, extra=len(results.keys() - grades.keys()), missing=missing)


def read_qrels(qrels: Any, name: str = "qrels") -> Qrels:  # noqa: ANN401  a mapping or a frame
    """Return judgments as a grade per document and query; a list of documents gives each the grade 1.

    Args:
        qrels: what the caller holds.
        name: how it is called in messages.

    Raises:
        InputError: an id is no string, a grade no whole number, or a document judged twice.
    """
    if not isinstance(qrels, Mapping):
        from pipeline.measures.ranks.frames import qrels_of_frame

        return qrels_of_frame(qrels)
    grades: dict[str, dict[str, int]] = {}
    for query_id, judged in qrels.items():
        _check_id(query_id, "query", name)
        documents = judged if isinstance(judged, Mapping) else _listed(judged, query_id, name, lambda _: 1)
        grades[query_id] = checked = {}
        for doc_id, grade in documents.items():
            if type(doc_id) is not str:
                _check_id(doc_id, "document", name)
            plain = type(grade) is int and -HIGHEST_GRADE <= grade <= HIGHEST_GRADE
            checked[doc_id] = grade if plain else _grade(grade, query_id, name)
    return grades


def read_run(run: Mapping[Any, Any], name: str = "run") -> Mapping[str, Mapping[str, float]]:
    """Return results as a score per document and query; documents in a list score in its order.

    Args:
        run: what the caller holds.
        name: how it is called in messages.

    Raises:
        InputError: a query's id is no string, a list names a document twice, or documents stand in a set.
    """
    results = {}
    for query_id, documents in run.items():
        if type(query_id) is not str:
            _check_id(query_id, "query", name)
        if isinstance(documents, Mapping):
            results[query_id] = documents
        elif isinstance(documents, set | frozenset):
            raise InputError(name, f"query {query_id!r}: a set has no order; give a list, or documents with scores")
        else:
            results[query_id] = _listed(documents, query_id, name, lambda place: -float(place))
    return results


def _listed(documents: Any, query_id: str, name: str, value: Any) -> dict[str, Any]:  # noqa: ANN401
    if isinstance(documents, str) or not isinstance(documents, Sequence | set | frozenset):
        found = type(documents).__name__
        raise InputError(
            name, f"query {query_id!r}: {found} where documents with scores, or a list of documents, should be"
        )
    for doc_id in documents:
        _check_id(doc_id, "document", name)
    listed = {doc_id: value(place) for place, doc_id in enumerate(documents)}
    if len(listed) < len(documents):
        twice = next(doc_id for doc_id, count in Counter(documents).items() if count > 1)
        raise InputError(name, f"query {query_id!r}: {DuplicateDocument(query_id, twice)} ({twice!r})")
    return listed


def _check_ids(documents: Mapping[Any, Any], name: str) -> None:
    try:
        "".join(documents)  # the quickest look at every id
    except TypeError:
        for doc_id in documents:
            _check_id(doc_id, "document", name)


def _check_id(value: object, kind: Literal["query", "document"], name: str) -> None:
    if not isinstance(value, str):
        raise InputError(
            name, f"a {kind} id is of type {type(value).__name__}: ids are strings, convert them with str()"
        )


def _grade(value: Any, query_id: str, name: str) -> int:  # noqa: ANN401
    try:
        grade = int(value)
        exact = grade == value and abs(grade) <= HIGHEST_GRADE
    except (TypeError, ValueError, OverflowError):
        exact = False
    if not exact:
        raise InputError(
            name, f"query {query_id!r}: a grade is no whole number from -{HIGHEST_GRADE} to {HIGHEST_GRADE}"
        )
    return grade


def _measures(measures: str | Measure | Iterable[str | Measure], rel: int) -> list[Measure]:
    if not isinstance(measures, Iterable | Measure):
        raise UsageError(f"measures={measures!r}: give names, as 'ndcg@10', or measures")
    if not isinstance(rel, int) or rel < 1:
        raise UsageError(f"rel={rel!r}: the smallest relevant grade is a whole number from 1")
    given = [measures] if isinstance(measures, str | Measure) else list(measures)
    named = [str(measure) for measure in given if not isinstance(measure, Measure)]
    if named or not given:
        parse_measures(named, rel=rel)  # so that all that cannot be understood is told together
    asked = [[one] if isinstance(one, Measure) else parse_measures([str(one)], rel=rel) for one in given]
    return list(dict.fromkeys(chain.from_iterable(asked)))


def _check(value: str, allowed: tuple[str, ...], name: str) -> None:
    if value not in allowed:
        raise UsageError(f"{name}={value!r} is not offered; there are {', '.join(allowed)}")
