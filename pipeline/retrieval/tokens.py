"""Analyzers: how a text is cut into the terms that a lexical index holds."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from pipeline.retrieval.names import Analyzer
from pipeline.text.scripts import is_spaceless
from pipeline.text.stopwords import stop_words
from pipeline.text.words import stems, terms

Tokenizer = Callable[[str], list[str]]


def tokenizer(analyzer: Analyzer, *, language: str | None = None) -> Tokenizer:
    """Return the function that cuts a text into terms.

    Args:
        analyzer: How scripts without spaces are cut.
        language: ISO 639-1: its function words are left out and its words stemmed; None keeps every word as it is.
    """
    cut = terms if analyzer is Analyzer.UNICODE else _bigrams
    stop = stop_words(language) if language else frozenset()

    def tokens(text: str) -> list[str]:
        return stems([term for term in cut(text) if term not in stop], language)

    return tokens


def _bigrams(text: str) -> list[str]:
    found: list[str] = []
    for spaceless, run in itertools.groupby(terms(text), key=lambda term: len(term) == 1 and is_spaceless(term)):
        group = list(run)
        found += [a + b for a, b in itertools.pairwise(group)] if spaceless and len(group) > 1 else group
    return found
