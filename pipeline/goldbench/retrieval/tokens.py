"""Analyzers: how a text is cut into the terms of a lexical index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from goldbench.errors import MissingExtra
from goldbench.retrieval.lucene_standard import cjk_bigrams, standard
from goldbench.retrieval.system_settings import Analyzer
from goldbench.retrieval.token_files import TokenFiles
from goldbench.text.words import stems, stop_words, terms

_WORDS_KNOWN = 2**17
"""Words whose terms a tokenizer remembers; beyond them it forgets the word that was used least recently."""


class Tokenizer:
    """Returns the terms of a text, and remembers the terms of its words.

    An index asks ``terms_of``, which remembers nothing, because it asks for each word of a corpus once.

    Args:
        words: Cuts a text into words.
        terms_of: Returns the terms of a word, None if each word is a term.
    """

    def __init__(self, words: Callable[[str], list[str]], terms_of: Callable[[str], list[str]] | None = None) -> None:
        self.words = words
        self.terms_of = terms_of
        self._remembered = lru_cache(maxsize=_WORDS_KNOWN)(terms_of) if terms_of else None

    def __call__(self, text: str) -> list[str]:
        """Return the terms, in order, with repetitions."""
        words = self.words(text)
        return words if self._remembered is None else [term for word in words for term in self._remembered(word)]


GRAM = 3
"""Characters of a term of the analyzer ``ngrams``."""


def tokenizer(analyzer: Analyzer, *, language: str | None = None) -> Tokenizer:
    """Return the function that cuts a text into terms.

    Args:
        analyzer: How texts are cut, but not ``file``, whose tokens are read by ``TokenFiles``.
        language: ISO 639-1 code: its function words are left out and its words stemmed; None keeps every word as it is.

    Raises:
        MissingExtra: The analyzer's package is not installed.
    """
    cut = _jieba() if analyzer is Analyzer.JIEBA else _CUT[analyzer]
    parts = _grams if analyzer is Analyzer.NGRAMS else None
    if language is None:
        return Tokenizer(cut, parts)
    stop = stop_words(language)

    def terms_of(word: str) -> list[str]:
        return stems([term for term in (parts(word) if parts else [word]) if term not in stop], language)

    return Tokenizer(cut, terms_of)


def cut(tokens: Tokenizer | TokenFiles, texts: Mapping[str, str]) -> Iterator[list[str]]:
    """Return the terms of each text, in the order of the mapping.

    Args:
        tokens: A tokenizer, or the files that hold the tokens.
        texts: The texts by id.

    Raises:
        RetrieverFailed: The files lack a text.
    """
    return tokens.of(texts) if isinstance(tokens, TokenFiles) else map(tokens, texts.values())


def _grams(word: str) -> list[str]:
    return [word[start : start + GRAM] for start in range(max(1, len(word) - GRAM + 1))]


def _jieba() -> Callable[[str], list[str]]:
    """Return the tokenizer of ``jieba``, its progress messages switched off; marks and white space are not terms."""
    try:
        import jieba
    except ImportError:
        raise MissingExtra("jieba", "cjk") from None
    import logging

    jieba.setLogLevel(logging.ERROR)
    jieba.initialize()  # now, so that the time to load its dictionary does not count as indexing

    def words(text: str) -> list[str]:
        return [word for word in jieba.lcut(text.casefold()) if any(map(str.isalnum, word))]

    return words


_CUT: dict[Analyzer, Callable[[str], list[str]]] = {
    Analyzer.UNICODE: terms,
    Analyzer.STANDARD: standard,
    Analyzer.CJK_BIGRAM: cjk_bigrams,
    Analyzer.NGRAMS: terms,
}
