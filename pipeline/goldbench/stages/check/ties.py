"""The rules that tie a query, its evidence and its answer together."""

from __future__ import annotations

from goldbench.records.query import Candidate, QueryKind, QueryStyle
from goldbench.stages.check.overlap import overlap
from goldbench.stages.check.verdict import CheckContext, Finding
from goldbench.text.language import same_script
from goldbench.text.numbers import numbers_in, quantities_in
from goldbench.text.wordings import asks_why, declines, gives_cause, is_yes_or_no
from goldbench.text.words import content_terms, index_terms, stop_words, terms

LEAST_SHARED = 0.25
"""Least share of an answer's content terms and numbers, 0 to 1, that stand in its evidence."""
REPEATED_OF_ANSWER = 0.9
REPEATED_OF_QUERY = 0.7
"""Shares of the content terms of an answer and of its query, 0 to 1, that the other one holds if it only repeats it. An
answer that chooses between two things that the query names holds far less of the query."""

_SPOKEN = frozenset({QueryStyle.PROBLEM, QueryStyle.VAGUE})
"""Styles in which somebody tells of himself or of trouble."""
_ABOUT_THE_WHOLE = frozenset({QueryKind.SUMMARY, QueryKind.PROCEDURE, QueryKind.COMPARISON})
"""Kinds whose answer may come from more of the passage than the sentence that is quoted."""


def no_answer(candidate: Candidate, _: CheckContext) -> Finding | None:
    """Reject a query whose answer declines to answer."""
    if not candidate.answer or not declines(candidate.answer):
        return None
    return Finding("no-answer", "its answer says that there is none")


def foreign_answer(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Reject a query whose answer shares too little with its evidence.

    Yes and no share nothing with any text. An answer in another language than the passage is not compared.
    """
    text = candidate.answer
    if not text or not candidate.evidence or is_yes_or_no(text) or _is_translated(text, context):
        return None
    whole = candidate.kind in _ABOUT_THE_WHOLE or bool(candidate.needs)
    source = context.indexed_text if whole else f"{context.title}\n{_quotes(candidate)}"
    share = _shared(text, source, context.language)
    if share is None or share >= LEAST_SHARED or _holds_quantity(text, source):
        return None
    return Finding("answer-tie", f"{share:.0%} of what its answer says stands in its evidence", share)


def _holds_quantity(text: str, source: str) -> bool:
    """Whether a quantity of a text stands in a source, perhaps in another unit."""
    return any(quantity.equals(written) for quantity in quantities_in(text) for written in quantities_in(source))


def _shared(text: str, source: str, language: str | None) -> float | None:
    """Return the share of a text's content terms and numbers that stand in a source, None if it has none."""
    numbers = numbers_in(text)
    wanted = {term for term in content_terms(text, language) if not numbers_in(term)}
    if not wanted and not numbers:
        return None
    matched = len(wanted & index_terms(source, language)) + len(numbers & numbers_in(source))
    return matched / (len(wanted) + len(numbers))


def nothing_asked(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Reject a plain statement, a query that holds everything its evidence says, and one that its answer repeats."""
    if candidate.style is None and candidate.asked is not None and candidate.asked.style in _SPOKEN:
        return Finding("nothing-asked", "it is a statement in which nobody speaks of trouble or of a wish")
    if not candidate.evidence or candidate.needs:
        return None
    if candidate.answer and _repeats(candidate.answer, candidate.text, context.language):
        return Finding("nothing-asked", "its answer repeats it")
    quotes = _quotes(candidate)
    beyond = set(content_terms(quotes, context.language)) - index_terms(candidate.text, context.language)
    if beyond or not content_terms(quotes, context.language):
        return None
    return Finding("nothing-asked", "its evidence says nothing that the query does not say itself")


def _repeats(answer: str, query: str, language: str | None) -> bool:
    """Return whether an answer says what the query says and nothing else."""
    in_answer = set(content_terms(answer, language))
    in_query = set(content_terms(query, language))
    if not in_answer or not in_query:
        return False
    in_both = len(in_answer & index_terms(query, language))
    if in_both < REPEATED_OF_ANSWER * len(in_answer):
        return False
    return len(in_query & index_terms(answer, language)) >= REPEATED_OF_QUERY * len(in_query)


def no_cause(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Reject a query for a reason whose evidence holds no word that introduces a cause or a purpose."""
    language = candidate.language or context.language
    if not candidate.evidence or not asks_why(candidate.text, language):
        return None
    if gives_cause(_quotes(candidate), context.passage_language) or gives_cause(candidate.answer or "", language):
        return None
    return Finding("no-cause", "it asks for a reason, and its evidence gives none")


def off_topic(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Reject a query that shares no word with its passage or the title; a vague one, and a translated one, may."""
    if candidate.style is QueryStyle.VAGUE or _is_translated(candidate.text, context):
        return None
    words = set(terms(candidate.text)) - stop_words(context.language)
    if not words.isdisjoint(terms(context.indexed_text)):
        return None
    if overlap(candidate.text, context.indexed_text, context.language) != 0.0:
        return None
    return Finding("off-topic", "no word of it that matters stands in the passage or its title", 0.0)


def no_subject(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Reject a query if no word of its subject stands in it or in the title of its passage.

    A query that names a word of the title says what it is about, whatever subject the model gives.
    """
    if not candidate.subject or candidate.style is QueryStyle.VAGUE or _is_translated(candidate.text, context):
        return None
    wanted = set(content_terms(candidate.subject, context.language))
    titled = set(content_terms(context.title, context.language))
    if not wanted or wanted & titled or (wanted | titled) & index_terms(candidate.text, context.language):
        return None
    return Finding("no-subject", "neither it nor the title of its passage names what it is about")


def _quotes(candidate: Candidate) -> str:
    return "\n".join(item.quote for item in candidate.evidence)


def _is_translated(text: str, context: CheckContext) -> bool:
    """Return whether a text of the query is in another language than the passage, so that words cannot be compared."""
    query_language = (context.language or "").split("-")[0]
    spoken = (context.passage_language or "").split("-")[0]
    return bool(query_language and spoken and query_language != spoken) or not same_script(text, context.chunk.text)
