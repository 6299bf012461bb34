"""``evaluate``: the measures of a run that is in memory, as dicts or as a frame of pandas or polars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, Literal, get_args

from goldbench.errors import InputError, UsageError
from goldbench.measures.assessment import Missing, assess
from goldbench.measures.names import DEFAULT, Measure, parse_measures
from goldbench.measures.ranks.judged_ranks import GRADES, HIGHEST_GRADE, BadScore, DuplicateDocument, Scores
from goldbench.measures.ranks.mapping_ranks import place_mapping
from goldbench.measures.result import Result
from goldbench.text.display import shown

_MANY = 8
"""Check the judgments of a query together if it has more than this many."""


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
    asked = measures_of(measures, rel)
    grades = judgments_of(qrels)
    if not isinstance(run, Mapping):
        from goldbench.measures.ranks.frames import place_frame

        placed, extra = place_frame(grades, run, scores=scores)
        return assess(grades, placed, asked, extra=extra, missing=missing)
    with _named("run"):
        results = _read_run(run)
        try:
            placed = place_mapping(grades, results, scores=scores)
        except BadScore as error:
            _check_ids(results[error.query_id])
            raise _Wrong(f"query {error.query_id!r}: {error}") from None
        for query_id, at in placed.items():
            if len(at.ranks) < len(grades[query_id]):  # what was not found may be there as a number
                _check_ids(results[query_id])
    return assess(grades, placed, asked, extra=len(results.keys() - grades.keys()), missing=missing)


def judgments_of(qrels: Any) -> dict[str, dict[str, int]]:  # noqa: ANN401  a mapping or a frame
    """Return judgments in memory as a grade per document and query, every one of them checked.

    Args:
        qrels: As in `evaluate`.

    Raises:
        InputError: They cannot be used; the message names the reason.
    """
    with _named("qrels"):
        return _read_qrels(qrels)


def results_of(run: Any) -> dict[str, dict[str, float]]:  # noqa: ANN401  a mapping or a frame
    """Return a run in memory as a score per document and query: a copy, whose scores `evaluate` checks.

    Args:
        run: As in `evaluate`.

    Raises:
        InputError: It cannot be used; the message names the reason.
    """
    if not isinstance(run, Mapping):
        from goldbench.measures.ranks.frames import results_of_frame

        return results_of_frame(run)
    with _named("run"):
        return {query_id: dict(documents) for query_id, documents in _read_run(run).items()}


class _Wrong(Exception):
    """What is wrong with the judgments or the run."""


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Add to what is wrong where it is: ``qrels`` or ``run``."""
    try:
        yield
    except _Wrong as wrong:
        raise InputError(name, str(wrong)) from None


def _read_qrels(qrels: Any) -> dict[str, dict[str, int]]:  # noqa: ANN401  a mapping or a frame
    """Return judgments as a grade per document and query; a list of documents gives each the grade 1."""
    if not isinstance(qrels, Mapping):
        from goldbench.measures.ranks.frames import qrels_of_frame

        return qrels_of_frame(qrels)
    grades: dict[str, dict[str, int]] = {}
    for query_id, judged in qrels.items():
        _check_id(query_id, "query")
        documents = judged if isinstance(judged, Mapping) else _listed(judged, query_id, lambda _: 1)
        if len(documents) > _MANY and _are_plain(documents):
            grades[query_id] = dict(documents)
            continue
        grades[query_id] = checked = {}
        for doc_id, grade in documents.items():
            if type(doc_id) is not str:
                _check_id(doc_id, "document")
            plain = type(grade) is int and -HIGHEST_GRADE <= grade <= HIGHEST_GRADE
            checked[doc_id] = grade if plain else _grade(grade, query_id)
    return grades


def _are_plain(documents: Mapping[Any, Any]) -> bool:
    """Return whether all documents are strings and all grades whole numbers that are allowed."""
    values = documents.values()
    if not {str}.issuperset(map(type, documents)) or not {int}.issuperset(map(type, values)):
        return False
    found: set[int] = set(values)
    return min(found) >= -HIGHEST_GRADE and max(found) <= HIGHEST_GRADE


def _read_run(run: Mapping[Any, Any]) -> Mapping[str, Mapping[str, float]]:
    """Return results as a score per document and query; documents in a list score in its order."""
    results = {}
    for query_id, documents in run.items():
        if type(query_id) is not str:
            _check_id(query_id, "query")
        if isinstance(documents, Mapping):
            results[query_id] = documents
        elif isinstance(documents, set | frozenset):
            raise _Wrong(f"query {query_id!r}: a set has no order; give a list, or documents with scores")
        else:
            listed = documents.tolist() if type(documents).__name__ == "ndarray" else documents
            results[query_id] = _listed(listed, query_id, lambda place: -float(place))
    return results


def _listed(documents: Any, query_id: str, value: Callable[[int], Any]) -> dict[str, Any]:  # noqa: ANN401
    if isinstance(documents, str) or not isinstance(documents, Sequence | set | frozenset):
        found = type(documents).__name__
        raise _Wrong(f"query {query_id!r}: holds a {found}; give documents with numbers, or a list of documents")
    for doc_id in documents:
        _check_id(doc_id, "document")
    listed = {doc_id: value(place) for place, doc_id in enumerate(documents)}
    if len(listed) < len(documents):
        twice = next(doc_id for doc_id, count in Counter(documents).items() if count > 1)
        raise _Wrong(f"query {query_id!r}: {DuplicateDocument(query_id, twice)} ({twice!r})")
    return listed


def _check_ids(documents: Mapping[Any, Any]) -> None:
    try:
        "".join(documents)  # the quickest look at every id
    except TypeError:
        for doc_id in documents:
            _check_id(doc_id, "document")


def _check_id(value: object, kind: Literal["query", "document"]) -> None:
    if not isinstance(value, str):
        raise _Wrong(f"a {kind} id is of type {type(value).__name__}; ids are strings, convert them with str()")


def _grade(value: Any, query_id: str) -> int:  # noqa: ANN401
    try:
        grade = int(value)
        exact = grade == value and abs(grade) <= HIGHEST_GRADE
    except (TypeError, ValueError, OverflowError):
        exact = False
    if not exact:
        raise _Wrong(f"query {query_id!r}: a grade is not {GRADES}")
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
        given = [measures] if isinstance(measures, str | Measure) else list(measures)
    except TypeError:
        raise UsageError(f"measures={shown(repr(measures))}: give names such as 'ndcg@10', or measures") from None
    strange = next((one for one in given if not isinstance(one, str | Measure)), None)
    if strange is not None:
        raise UsageError(f"measures: holds a {type(strange).__name__}; give names such as 'ndcg@10', or measures")
    named = [str(measure) for measure in given if not isinstance(measure, Measure)]
    if named or not given:
        parse_measures(named, cutoffs=cutoffs, rel=rel)  # so that one error lists all names that cannot be understood
    asked = [
        [one] if isinstance(one, Measure) else parse_measures([str(one)], cutoffs=cutoffs, rel=rel) for one in given
    ]
    return list(dict.fromkeys(chain.from_iterable(asked)))


def _check(value: object, offered: Any, name: str) -> None:  # noqa: ANN401  a Literal has no type of its own
    if not isinstance(value, str) or value not in get_args(offered):
        raise UsageError(f"{name}={shown(repr(value))} is not offered; choose from {', '.join(get_args(offered))}")
