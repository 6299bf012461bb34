"""The names of analyzers; imports nothing heavy, so that a command line may know them."""

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
