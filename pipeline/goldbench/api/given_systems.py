"""What a caller gives to be scored: the path of a run, a run in memory, or a retriever; one, or several by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, ValuesView
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from goldbench.api.evaluations import Evaluation, Evaluations
from goldbench.api.keywords import unfit, whole_number
from goldbench.errors import InputError, UsageError
from goldbench.formats.runs.run_tables import name_of_run
from goldbench.measures.assessment import Missing
from goldbench.measures.evaluation import results_of
from goldbench.measures.names import Measure
from goldbench.measures.ranks.columns import library_of
from goldbench.measures.ranks.judged_ranks import Scores
from goldbench.measures.ranks.text_match import TextMatch
from goldbench.measures.result import Result
from goldbench.ports import Progress
from goldbench.retrieval.guard import GuardedRetriever
from goldbench.retrieval.user_answers import Returns
from goldbench.retrieval.user_retrievers import UserRetriever
from goldbench.score.runs import Gold, Match, Weight, load_run, read_results, run_by_text, score_results, texts_in_order
from goldbench.score.runs import Run as RunFile
from goldbench.score.searched_queries import conversations, texts_to_search, told_of_conversations
from goldbench.systems.adapters import adapt
from goldbench.text.asked_query import Conversation
from goldbench.text.display import amount
from goldbench.text.display import queries as queries_of

Run = Mapping[str, Mapping[str, float]]

DEPTH = 100
"""Results asked of a retriever per query; more if a measure looks deeper."""


class EvaluateOptions(TypedDict, total=False):
    """The keywords of ``GoldSet.evaluate``."""

    k: int | None
    cutoffs: int | Iterable[int]
    missing: Missing
    scores: Scores
    match: Match
    conversation: Conversation
    weight: Weight | None
    timeout: float
    progress: bool


class ScoringChoices(NamedTuple):
    """How systems are scored; the fields are the checked keywords of ``GoldSet.evaluate``."""

    measures: Sequence[Measure]
    k: int
    timeout: float
    progress: Progress
    missing: Missing = "zero"
    scores: Scores = "float64"
    match: Match = "id"
    conversation: Conversation = "last"
    weight: Weight | None = None


class ScoresOfSystem(NamedTuple):
    """The scores of one system.

    Args:
        result: The values of every query.
        run: What was scored, by ids; nothing that the caller holds can change it.
        notes: What to know about the answers of a retriever, a line each.
    """

    result: Result
    run: Run
    notes: tuple[str, ...] = ()


def systems_in(given: object) -> Mapping[str, object] | None:
    """Return systems by name; None if ``given`` is one run or one retriever.

    A mapping is one run if it holds the results of queries: lists, or mappings to numbers. ``{}`` may be either: the
    results of a query that was answered with nothing, or a run without queries.

    Raises:
        UsageError: A mapping holds both results of queries and systems, or a name is not a string.
    """
    if isinstance(given, Evaluation) or not isinstance(given, Mapping):
        return None
    results = [_holds_results(value) for value in given.values() if not isinstance(value, Mapping) or value]
    if all(results):
        return None
    if any(results):
        raise UsageError(
            "holds results of queries beside systems; give {query: results} or {name: system}", parameter="systems"
        )
    for name in given:
        if not isinstance(name, str) or not name.isprintable() or not name.strip():
            raise unfit(name, "systems", "names that are printable strings")
        if isinstance(given[name], Evaluations):
            raise UsageError(
                f"{name!r} holds several evaluations; give them by name, as {{**found, 'b': run}}", parameter="systems"
            )
    return given


def _holds_results(value: object) -> bool:
    """Return whether a value is what a run has for a query: documents in a list, or with scores."""
    if isinstance(value, Evaluation):
        return False
    if isinstance(value, Mapping):
        return not any(isinstance(inner, Mapping) or _is_list(inner) for inner in value.values())
    return _is_list(value)


def _is_list(value: object) -> bool:
    """Return whether a value was meant as a list of documents; what has no order is refused when it is read."""
    return isinstance(value, list | tuple | Set | ValuesView) or type(value).__name__ == "ndarray"


def check_kinds(systems: Mapping[str, object]) -> None:
    """Check that each system is a run or a retriever, before the first one is asked.

    Raises:
        InputError: The file of a run does not exist or cannot be read.
        UsageError: A system is neither a run nor a retriever.
    """
    for name, system in systems.items():
        if isinstance(system, str | PathLike):
            _file(system)
        elif not isinstance(system, Mapping) and not _is_frame(system):
            adapt(system, name=name)


def name_of(value: object) -> str:
    """Return the name of one run or retriever: that of its file or function, or its kind."""
    if isinstance(value, str | PathLike):
        return name_of_run(Path(value)) or "run"
    if isinstance(value, Mapping) or _is_frame(value):
        return "run"
    name = getattr(value, "__name__", None) or type(value).__name__
    return name if str(name).isidentifier() else "retriever"


def deepest(measures: Sequence[Measure], k: int | None) -> int:
    """Return how many results a retriever is asked for.

    Args:
        measures: The measures to compute.
        k: What the caller asked for; None for `DEPTH`, or the deepest cutoff if that is more.

    Raises:
        UsageError: ``k`` is not a whole number from 1.
    """
    if k is None:
        return max([DEPTH, *(measure.k for measure in measures if measure.k)])
    return whole_number(k, "k", least=1)


def score(gold: Gold, system: Any, name: str, how: ScoringChoices) -> ScoresOfSystem:  # noqa: ANN401  see the module
    """Return the scores of a run or a retriever.

    Args:
        gold: The judgments.
        system: The run, the retriever, or the evaluation of one, whose run is taken.
        name: Its name in messages.
        how: How it is scored.

    Raises:
        InputError: The run is not valid, does not fit the judgments, or the set has no texts to search.
        RetrieverFailed: The retriever failed, or its answer is not a ranking.
        UsageError: It is neither a run nor a retriever.
    """
    notes: tuple[str, ...] = ()
    if isinstance(system, Evaluation):
        run, notes = system.run, system.notes  # by ids, whatever it was matched by
    elif isinstance(system, str | PathLike):
        file = _file(system)
        if how.match == "id":
            run = read_results(file)
            name = file.source.name
        else:
            run = run_by_text(gold, texts_in_order(file))
            name = file.source.name
    elif isinstance(system, Mapping) or _is_frame(system):
        run = _matched(gold, system, name) if how.match == "text" else _held(system, name)
    else:
        run, notes = _search(gold, system, name, how)
    result = score_results(gold, run, how.measures, name=name, missing=how.missing, scores=how.scores)
    return ScoresOfSystem(result, run, notes)


def _is_frame(value: object) -> bool:
    return library_of(value) is not None


def _file(path: str | PathLike[str]) -> RunFile:
    if not str(path):
        raise unfit(path, "systems", "the path of a run, a run or a retriever")
    return load_run(str(path))


def _held(results: object, name: str) -> Run:
    with _called(name):
        return results_of(results)


@contextmanager
def _called(name: str) -> Iterator[None]:
    """Name the system in what is wrong with a run.

    Raises:
        InputError: With the name of the system.
    """
    try:
        yield
    except InputError as error:
        if error.path == "run":
            raise InputError(name, error.problem, line=error.line) from None
        raise


def _matched(gold: Gold, run: Any, name: str) -> Run:  # noqa: ANN401
    listed = isinstance(run, Mapping) and all(
        isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts) for texts in run.values()
    )
    if not listed:
        raise InputError(name, "has no texts; match='text' needs {query: [text, ...]}")
    return run_by_text(gold, run)


def _search(gold: Gold, thing: Any, name: str, how: ScoringChoices) -> tuple[Run, tuple[str, ...]]:  # noqa: ANN401
    """Return what a retriever finds for every judged query, if only nothing, and what to know about it."""
    returns: Returns = "texts" if how.match == "text" else "ids"
    advice = "" if how.match == "text" else "; if it returns texts, give match='text'"
    texts, corpus = texts_to_search(gold, how.conversation)
    without = gold.unanswerable()
    queries = {query_id: text for query_id, text in texts.items() if query_id in gold.qrels or query_id in without}
    if not queries.keys() & gold.qrels.keys():
        raise InputError(gold.path, "holds no text of a judged query; use the same ids in judgments and queries")
    find = TextMatch(gold.qrels, corpus).find
    retriever = adapt(thing, name=name, returns=returns, timeout_s=how.timeout, advice=advice, find_text=find)
    one_by_one = isinstance(retriever.inner, UserRetriever)  # an object with an index answers all queries at once
    try:
        with how.progress.stage(name, len(queries)) as step:
            retriever.index(corpus)
            results: dict[str, Mapping[str, float]] = {}
            for part in ({query_id: text} for query_id, text in queries.items()) if one_by_one else (queries,):
                results |= retriever.search(part, k=how.k)
                step.advance(len(part))
    finally:
        retriever.close()
    note = told_of_conversations(len(conversations(gold).keys() & queries.keys()), how.conversation)
    return results, (*filter(None, [note]), *_notes(retriever, results, how, passages=len(corpus)))


def _notes(retriever: GuardedRetriever, run: Run, how: ScoringChoices, *, passages: int) -> Iterator[str]:
    if retriever.rising * 2 > retriever.listed:
        yield (
            f"the scores rise down the list for {retriever.rising:,} of {queries_of(retriever.listed)} with 2 results "
            "or more, and higher is better: if they are distances, return them with a minus."
        )
    most = max(map(len, run.values()))
    cutoff = max((measure.k for measure in how.measures if measure.k), default=0)
    if 0 < most < min(cutoff, passages):
        yield f"at most {amount(most, 'result')} per query, measured at {cutoff}."
