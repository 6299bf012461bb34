"""Words of a text in any script, as written, as index terms, as stems and as the terms that carry its meaning.

A word is a run of letters and digits; in scripts without spaces every character counts as one. Function words stand in
``stopwords.toml``, closed classes only (articles, pronouns, prepositions, conjunctions, auxiliaries, question words):
packaged lists also hold words that carry a query (``computer``, ``information``, ``world`` and every country code in
one English list of 1,333 words).
"""

from __future__ import annotations

import re
from functools import lru_cache

import regex
import Stemmer

from goldbench.text import table
from goldbench.text.scripts import SPACELESS

_SPACELESS_CLASS = "".join(rf"\p{{Script={name}}}" for name in sorted(SPACELESS))
_WORD = regex.compile(
    rf"[{_SPACELESS_CLASS}]\p{{M}}*"
    rf"|(?:(?![{_SPACELESS_CLASS}])[\p{{L}}\p{{M}}\p{{N}}])+(?:['’.\-_/](?:(?![{_SPACELESS_CLASS}])[\p{{L}}\p{{M}}\p{{N}}])+)*"
)
_PLAIN = regex.compile(rf"(?:(?![{_SPACELESS_CLASS}])[\p{{L}}\p{{M}}\p{{N}}])+|[{_SPACELESS_CLASS}]\p{{M}}*")

# The same words for text in plain letters, several times faster: there "[^\\W_]" is exactly a letter or a digit.
_UNPLAIN = re.compile("[^\x00-\u02ff\u0370-\u0482\u048a-\u052f\u1e00-\u1eff\u2000-\u2060\u20a0-\u20bf]")
_PLAIN_WORD = re.compile(r"[^\W_]+(?:['’.\-_/][^\W_]+)*")
_PLAIN_TERM = re.compile(r"[^\W_]+")
_JOINS = re.compile(r"['.\-_/](?<=[0-9A-Za-z].)(?=[0-9A-Za-z])")
"""What makes one word of two in a text of ASCII."""
_MARKS = re.compile("[\xa0\xa7\xa9\xab\xae\xb0\xb7\xbb\u2000-\u206f]+")
_ASCII_TERMS = bytes(ord(chr(byte).lower()) if byte < 128 and chr(byte).isalnum() else 32 for byte in range(256))
"""Letters in lower case, digits, and a space for each other byte: cutting at spaces is faster than any pattern."""

_STEMMERS = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian",
    "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch",
    "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip


def languages() -> frozenset[str]:
    """Return the languages (ISO 639-1) whose words can be stemmed or whose function words are listed."""
    return frozenset(_STEMMERS) | table("stopwords").keys()


@lru_cache(maxsize=64)
def stop_words(language: str | None) -> frozenset[str]:
    """Return the function words of a language (case-folded), none if there is no list.

    Args:
        language: ISO 639-1, with or without a region (``zh-TW``); None if it is not known.
    """
    return frozenset(table("stopwords").get((language or "").split("-")[0], "").casefold().split())


def query_words(language: str | None) -> dict[str, float]:
    """Return the commonest function words of queries, each weighted by one over its rank; none if there is no list.

    Source: Zipf (1935): the frequency of a word is about the inverse of its rank.

    Args:
        language: As in `stop_words`.
    """
    listed = table("querywords").get((language or "").split("-")[0], "").split()
    return {word: 1 / rank for rank, word in enumerate(listed, start=1)}


def words(text: str) -> list[str]:
    """Return the words as written, hyphenated and dotted compounds as one word (``re-use``, ``v2.1``)."""
    return (_PLAIN_WORD if is_plain(text) else _WORD).findall(text)


def word_count(text: str) -> int:
    """Return the number of words; in scripts without spaces, of characters."""
    return len(_ascii_terms(text)) - len(_JOINS.findall(text)) if text.isascii() else len(words(text))


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of every word of ``words``."""
    pattern = _PLAIN_WORD if is_plain(text) else _WORD
    return [match.span() for match in pattern.finditer(text)]


def terms(text: str) -> list[str]:
    """Return lower-cased index terms: the parts of compounds, and single characters in scripts without spaces."""
    if (plain := _without_marks(text)).isascii():
        return _ascii_terms(plain)
    folded = text.casefold()
    return (_PLAIN_TERM if is_plain(folded) else _PLAIN).findall(folded)


def parts(text: str) -> list[str]:
    """Return the `terms` as written, in upper and lower case."""
    return (_PLAIN_TERM if is_plain(text) else _PLAIN).findall(text)


def encoded_terms(text: str) -> list[bytes]:
    """Return the `terms` in UTF-8."""
    if (plain := _without_marks(text)).isascii():
        return plain.encode("ascii").translate(_ASCII_TERMS).split()
    return [term.encode() for term in terms(text)]


def _without_marks(text: str) -> str:
    """Return a text with a space for quotation marks, dashes and the like, which are often all that is not ASCII."""
    return text if text.isascii() else _MARKS.sub(" ", text)


def _ascii_terms(text: str) -> list[str]:
    return text.encode("ascii").translate(_ASCII_TERMS).decode("ascii").split()


def is_plain(text: str) -> bool:
    """Return whether each letter and digit of a text, and nothing else, is what ``re`` takes for one."""
    return text.isascii() or not _UNPLAIN.search(text)


@lru_cache(maxsize=64)
def _stemmer(language: str) -> Stemmer.Stemmer | None:
    name = _STEMMERS.get(language)
    return Stemmer.Stemmer(name) if name in Stemmer.algorithms() else None


def stems(tokens: list[str], language: str | None) -> list[str]:
    """Return the Snowball stem of each lower-cased token; the tokens themselves if there is no stemmer."""
    stemmer = _stemmer(language) if language else None
    return stemmer.stemWords(tokens) if stemmer else tokens


_SPACELESS_RUN = regex.compile(rf"(?:[{_SPACELESS_CLASS}][\p{{M}}ー々]*)+")
_ALPHASYLLABLE = regex.compile(r"[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]")


def content_terms(text: str, language: str | None) -> list[str]:
    """Return the stems of the words that carry meaning, in order, with repetitions.

    Function words are left out. In scripts without spaces a term is two characters in a row (three in Thai, Lao, Khmer
    and Myanmar) between function words: on parallel human questions, these share as many terms with their passages as
    English words do (67 and 78 % in Chinese and Thai, 77 % in English), and as few with those of the next question (14,
    21 and 16 %): ``python -m tests.benchmarks.query_overlap``.

    Args:
        text: Any text.
        language: ISO 639-1, for its function words and stemmer; None keeps every word as it is.
    """
    return _content_terms(text.casefold(), language, stop_words(language))


@lru_cache(maxsize=256)
def index_terms(text: str, language: str | None) -> frozenset[str]:
    """Return every term that ``content_terms`` could find in a part of the text, function words included.

    Cached for the last texts, because several checks in a row ask for the same chunk.
    """
    return frozenset(_content_terms(text.casefold(), language, frozenset())) | frozenset(terms(text))


def _content_terms(text: str, language: str | None, stop: frozenset[str]) -> list[str]:
    content: list[str] = []
    position = 0
    for run in _SPACELESS_RUN.finditer(text):
        content += _spaced_terms(text[position : run.start()], language, stop)
        for piece in _between(run.group(), stop):
            content += _grams(piece)
        position = run.end()
    return content + _spaced_terms(text[position:], language, stop)


def _spaced_terms(text: str, language: str | None, stop: frozenset[str]) -> list[str]:
    return stems([word for word in _PLAIN.findall(text) if word not in stop], language)


def _between(run: str, stop: frozenset[str]) -> list[str]:
    return _stop_pattern(stop).split(run) if stop else [run]


@lru_cache(maxsize=64)
def _stop_pattern(stop: frozenset[str]) -> regex.Pattern[str]:
    return regex.compile("|".join(regex.escape(word) for word in sorted(stop, key=lambda word: (-len(word), word))))


def _grams(piece: str) -> list[str]:
    characters = _PLAIN.findall(piece)
    size = 3 if _ALPHASYLLABLE.match(piece) else 2
    if len(characters) < size:
        return ["".join(characters)] if characters and size == 2 else []
    return ["".join(characters[i : i + size]) for i in range(len(characters) - size + 1)]


def term_weight(term: str) -> float:
    """Return the number of words that a term of ``terms`` counts for: 1, or less in scripts without spaces.

    A word has about two characters in Chinese and Japanese, five in Thai, Lao, Khmer and Myanmar.
    """
    if not _SPACELESS_RUN.match(term):
        return 1.0
    return 0.2 if _ALPHASYLLABLE.match(term) else 0.5


def count_words(text: str) -> int:
    """Return the number of words that a reader would count; in Chinese and Japanese, of characters.

    In Thai, Lao, Khmer and Myanmar script, five characters with their marks count as a word.
    """
    fifths = sum(1 if _ALPHASYLLABLE.match(word) else 5 for word in words(text))
    return -(-fifths // 5)
