"""The names of analyzers, indexes and normalisations; imports nothing heavy, so that a command line may know them."""

from __future__ import annotations

from enum import StrEnum


class Analyzer(StrEnum):
    """How a text is cut into terms."""

    UNICODE = "unicode"
    """Words in lower case; single characters where a script has no spaces."""
    CJK_BIGRAM = "cjk-bigram"
    """Words in lower case; pairs of neighbouring characters in Chinese, Japanese and Korean, as Lucene's."""
    STANDARD = "standard"
    """Elasticsearch's standard analyzer: words in lower case, Chinese and hiragana character by character."""
    JIEBA = "jieba"
    """Chinese words by the package ``jieba``."""
    NGRAMS = "ngrams"
    """Character n-grams (3) within words."""
    FILE = "file"
    """Tokens made elsewhere, read from files by id."""


class Normalisation(StrEnum):
    """How the scores of one query are made comparable before they are added."""

    MIN_MAX = "min-max"
    """Least score 0, best 1; one score alone is 1."""
    Z_SCORE = "z-score"
    """Mean 0, standard deviation 1; equal scores are all 0."""
    SUM = "sum"
    """Shifted to a least of 0, divided by their sum."""
    NONE = "none"
    """As they are."""


class IndexKind(StrEnum):
    """How the nearest vectors are found."""

    FLAT = "flat"
    """Every vector compared: exact."""
    HNSW = "hnsw"
    """A navigable graph: approximate."""


def known_language(language: str) -> str:
    """Return a language (ISO 639-1) whose words can be stemmed or left out.

    Raises:
        ValueError: Nothing is known of it, so that to name it would change nothing.
    """
    from pipeline.text.words import languages

    known = languages()
    if language not in known:
        raise ValueError(f"nothing is known of the language {language!r}; known are {', '.join(sorted(known))}")
    return language
