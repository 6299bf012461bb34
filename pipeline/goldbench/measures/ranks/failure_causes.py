"""Why a system fails at a query: causes that follow from its list, the judgments and the texts.

A system fails at a query at k if none of its first k results is relevant. Several causes may hold at once. They come in
the order in which a person should look at them: first those that say that the figure may be wrong, then those that
explain the system.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import NamedTuple


class Cause(StrEnum):
    """What a failure follows from; see ``MEANINGS``."""

    UNJUDGED_ABOVE = "only-unjudged-above"
    NEAR_DUPLICATE_ABOVE = "near-duplicate-above"
    TIE = "tie"
    NO_SHARED_WORDS = "no-shared-words"
    JUST_BELOW = "just-below"
    FAR_BELOW = "far-below"
    NEVER_FOUND = "never-found"
    NO_RESULTS = "no-results"


MEANINGS: Mapping[Cause, str] = {
    Cause.UNJUDGED_ABOVE: "only unjudged passages stand above the first relevant one",
    Cause.NEAR_DUPLICATE_ABOVE: "a near-duplicate of a relevant passage stands above it, without being relevant itself",
    Cause.TIE: "the first relevant passage has the same score as the last one of the first k",
    Cause.NO_SHARED_WORDS: "query and relevant passages share no word",
    Cause.JUST_BELOW: "the first relevant passage is ranked just below k",
    Cause.FAR_BELOW: "the first relevant passage is ranked far below k",
    Cause.NEVER_FOUND: "no relevant passage was found",
    Cause.NO_RESULTS: "the system returned nothing",
}

TITLES: Mapping[Cause, str] = {
    Cause.UNJUDGED_ABOVE: "only unjudged above",
    Cause.NEAR_DUPLICATE_ABOVE: "near-duplicate above",
    Cause.TIE: "tie at k",
    Cause.NO_SHARED_WORDS: "no shared words",
    Cause.JUST_BELOW: "ranked just below k",
    Cause.FAR_BELOW: "ranked far below k",
    Cause.NEVER_FOUND: "never found",
    Cause.NO_RESULTS: "no results",
}

JUST_BELOW = 2
"""A passage that is ranked at most this many times k is just below k."""


class ListedResult(NamedTuple):
    """A result in its place: ``grade`` is None if nobody judged it."""

    doc_id: str
    score: float
    grade: int | None


def first_relevant(ranked: Iterable[ListedResult], level: int) -> int | None:
    """Return the rank of the first relevant result, from 1; None if none is relevant.

    Args:
        ranked: The results, best first.
        level: The smallest grade that counts as relevant.
    """
    return next(
        (rank for rank, result in enumerate(ranked, start=1) if result.grade is not None and result.grade >= level),
        None,
    )


def failure_causes(
    ranked: Sequence[ListedResult],
    relevant: Collection[str],
    k: int,
    *,
    level: int,
    shares_words: Callable[[str], bool] | None = None,
    alike: Callable[[str, str], bool] | None = None,
) -> tuple[Cause, ...]:
    """Return why a system fails at a query; empty if it does not, or if nothing relevant is known.

    Args:
        ranked: All results of the query, best first.
        relevant: The relevant documents, found or not.
        k: The number of first results of which one must be relevant, 1 or more.
        level: The smallest grade that counts as relevant.
        shares_words: Returns whether a relevant document shares a word with the query; None if the texts are not known.
        alike: Returns whether two documents, the second one relevant, are near-duplicates; None if it is not known.
    """
    rank = first_relevant(ranked, level)
    if not relevant or (rank is not None and rank <= k):
        return ()
    if not ranked:
        return (Cause.NO_RESULTS, *_of_words(relevant, shares_words))
    above = ranked[: k if rank is None else rank - 1]
    return (
        *((Cause.UNJUDGED_ABOVE,) if all(result.grade is None for result in above) else ()),
        *((Cause.NEAR_DUPLICATE_ABOVE,) if alike and _holds_copy(above[:k], relevant, alike) else ()),
        *((Cause.TIE,) if rank is not None and ranked[rank - 1].score == ranked[k - 1].score else ()),
        *_of_words(relevant, shares_words),
        _place(rank, k),
    )


def _place(rank: int | None, k: int) -> Cause:
    if rank is None:
        return Cause.NEVER_FOUND
    return Cause.JUST_BELOW if rank <= JUST_BELOW * k else Cause.FAR_BELOW


def _of_words(relevant: Collection[str], shares_words: Callable[[str], bool] | None) -> tuple[Cause, ...]:
    if shares_words is None or any(map(shares_words, relevant)):
        return ()
    return (Cause.NO_SHARED_WORDS,)


_COMPARED = 20
"""Relevant documents of a query that are looked for near-duplicates of; more would take long and tell nothing new."""


def _holds_copy(above: Sequence[ListedResult], relevant: Collection[str], alike: Callable[[str, str], bool]) -> bool:
    """Return whether a result is a near-duplicate of a relevant document, which it is not graded to be itself."""
    compared = list(islice(sorted(relevant), _COMPARED))
    return any(
        alike(result.doc_id, relevant_id)
        for result in above
        if result.doc_id not in relevant
        for relevant_id in compared
    )
