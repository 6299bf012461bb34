"""How a query is put and what it asks for, decided by its words: a question or keywords, a reason or a procedure.

The patterns are those of ``query_forms.toml``. In languages without patterns, punctuation and length decide.
"""

from __future__ import annotations

from functools import cache

import regex

from goldbench.records.query import QueryKind, QueryStyle
from goldbench.text import table
from goldbench.text.scripts import is_spaceless
from goldbench.text.words import stop_words, terms

_QUESTION_END = regex.compile(r"[?？؟;][\s\"'”’»)」』]*$")
_SENTENCE_END = regex.compile(r"[.!。！।…][\s\"'”’»)」』]*$")
FEWEST_KEYWORDS = 2
MOST_KEYWORDS = 5
_LONGEST_UNSPACED = 12
"""Characters up to which a query in a script without spaces, written in one piece, can be keywords."""
_KINDS = (QueryKind.REASON, QueryKind.COMPARISON, QueryKind.CONDITION, QueryKind.PROCEDURE, QueryKind.DEFINITION)
"""The kinds that words tell, in the order in which they are tried."""


def style_of(query: str, language: str | None, query_style: QueryStyle) -> QueryStyle | None:
    """Return how a query is put, None if no style fits it.

    Keywords and questions are told by their form. A statement is a problem if somebody speaks of himself in it or of
    trouble, and a vague wish if somebody speaks of himself. In languages without patterns it counts as what was asked.

    Args:
        query: The query.
        language: ISO 639-1, None if it is not known.
        query_style: The style that was asked for.
    """
    if is_question(query, language):
        speaks = query_style is QueryStyle.VAGUE and _matches(language, "first", query)
        return QueryStyle.VAGUE if speaks else QueryStyle.QUESTION
    if is_keywords(query, language):
        return QueryStyle.KEYWORDS
    if query_style not in {QueryStyle.PROBLEM, QueryStyle.VAGUE} or _is_plain_statement(query, language, query_style):
        return None
    return query_style


def _is_plain_statement(query: str, language: str | None, query_style: QueryStyle) -> bool:
    """Return whether nobody speaks of himself, nor of trouble where a problem was asked for; False without patterns."""
    forms = ("first",) if query_style is QueryStyle.VAGUE else ("first", "trouble")
    is_known = _compiled((language or "").split("-")[0], forms[-1]) is not None
    return is_known and not any(_matches(language, form, query) for form in forms)


def kind_of(query: str, language: str | None) -> QueryKind:
    """Return what a query asks for: what its words say, else a fact."""
    return next((kind for kind in _KINDS if _matches(language, kind.value, query)), QueryKind.FACT)


def is_question(query: str, language: str | None) -> bool:
    """Return whether a query asks: by its question mark or, in languages with patterns, by its words."""
    return bool(_QUESTION_END.search(query)) or _matches(language, "question", query)


def is_keywords(query: str, language: str | None) -> bool:
    """Return whether a query is two to five words without the form of a sentence; one function word may be inside."""
    if _QUESTION_END.search(query) or _SENTENCE_END.search(query) or _matches(language, "first", query):
        return False
    parts = query.split()
    if is_spaceless(query) and len(parts) == 1:
        return len(query) <= _LONGEST_UNSPACED and not _matches(language, "question", query)
    if is_spaceless(query):
        return FEWEST_KEYWORDS <= len(parts) <= MOST_KEYWORDS and len(query) <= len(parts) * _LONGEST_UNSPACED
    function_words = sum(term in stop_words(language) for term in terms(query))
    return FEWEST_KEYWORDS <= len(parts) <= MOST_KEYWORDS and function_words <= (len(parts) > FEWEST_KEYWORDS)


def _matches(language: str | None, form: str, query: str) -> bool:
    pattern = _compiled((language or "").split("-")[0], form)
    return pattern is not None and bool(pattern.search(query))


@cache
def _compiled(language: str, form: str) -> regex.Pattern[str] | None:
    pattern = table("query_forms").get(language, {}).get(form)
    return regex.compile(pattern, regex.IGNORECASE) if pattern else None
