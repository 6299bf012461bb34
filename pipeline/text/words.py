"""Words, in any script: runs of letters and digits; single characters where a script has no spaces."""

from __future__ import annotations

from functools import lru_cache

import regex
import Stemmer

from pipeline.text.scripts import SPACELESS

_SPACELESS_CLASS = "".join(rf"\p{{Script={name}}}" for name in sorted(SPACELESS))
_WORD = regex.compile(
    rf"[{_SPACELESS_CLASS}]\p{{M}}*"
    rf"|(?:(?![{_SPACELESS_CLASS}])[\p{{L}}\p{{M}}\p{{N}}])+(?:['’.\-_/](?:(?![{_SPACELESS_CLASS}])[\p{{L}}\p{{M}}\p{{N}}])+)*"
)
_PLAIN = regex.compile(rf"(?:(?![{_SPACELESS_CLASS}])[\p{{L}}\p{{M}}\p{{N}}])+|[{_SPACELESS_CLASS}]\p{{M}}*")

_STEMMERS = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian",
    "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch",
    "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip


def words(text: str) -> list[str]:
    """Return the words as written, hyphenated and dotted compounds whole (``re-use``, ``v2.1``)."""
    return _WORD.findall(text)


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of every word of ``words``."""
    return [match.span() for match in _WORD.finditer(text)]


def terms(text: str) -> list[str]:
    """Return lower-cased index terms: compounds in their parts, one term per character in scripts without spaces."""
    return _PLAIN.findall(text.casefold())


@lru_cache(maxsize=64)
def _stemmer(language: str) -> Stemmer.Stemmer | None:
    name = _STEMMERS.get(language)
    return Stemmer.Stemmer(name) if name in Stemmer.algorithms() else None


def stems(tokens: list[str], language: str | None) -> list[str]:
    """Return the Snowball stem of each lower-cased token; the tokens themselves where there is no stemmer."""
    stemmer = _stemmer(language) if language else None
    return stemmer.stemWords(tokens) if stemmer else tokens
