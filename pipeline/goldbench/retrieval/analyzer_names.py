"""The values of settings that are words; imports nothing heavy, so that a command line can know them."""

from __future__ import annotations

from enum import StrEnum


class Analyzer(StrEnum):
    """How a text is cut into terms."""

    UNICODE = "unicode"
    """Words in lower case; single characters of scripts without spaces."""
    CJK_BIGRAM = "cjk-bigram"
    """Words in lower case; pairs of neighbouring characters in Chinese, Japanese and Korean, as in Lucene."""
    STANDARD = "standard"
    """Elasticsearch's standard analyzer: words in lower case, Chinese and hiragana character by character."""
    JIEBA = "jieba"
    """Chinese words by the package ``jieba``."""
    NGRAMS = "ngrams"
    """Character n-grams (3) within words."""
    FILE = "file"
    """Tokens of another analyzer, read from files."""


class Normalisation(StrEnum):
    """How the scores of one query become comparable before they are added."""

    MIN_MAX = "min-max"
    """Lowest score 0, best 1; a single score becomes 1."""
    Z_SCORE = "z-score"
    """Mean 0, standard deviation 1; equal scores become 0."""
    SUM = "sum"
    """Shifted so that the lowest is 0, then divided by their sum."""
    NONE = "none"
    """Unchanged."""


class IndexKind(StrEnum):
    """How the nearest vectors are found."""

    FLAT = "flat"
    """Every vector compared: exact."""
    HNSW = "hnsw"
    """A navigable graph: approximate."""


def known_language(language: str) -> str:
    """Return a language (ISO 639-1) if its words can be stemmed or left out.

    Raises:
        ValueError: The language is not known, so that naming it would change nothing.
    """
    from goldbench.text.words import languages

    known = languages()
    if language not in known:
        from goldbench.text.suggestion import did_you_mean, language_meant

        meant = language_meant(language) or did_you_mean(language, known) or f"; known are {', '.join(sorted(known))}"
        raise ValueError(f"not a known language: {language!r}{meant}")
    return language
