"""What somebody probably meant: the known name that an unknown one resembles."""

from __future__ import annotations

from collections.abc import Iterable

LANGUAGES = {
    "arabic": "ar",
    "armenian": "hy",
    "basque": "eu",
    "catalan": "ca",
    "chinese": "zh",
    "danish": "da",
    "dutch": "nl",
    "english": "en",
    "finnish": "fi",
    "french": "fr",
    "german": "de",
    "deutsch": "de",
    "greek": "el",
    "hindi": "hi",
    "hungarian": "hu",
    "indonesian": "id",
    "irish": "ga",
    "italian": "it",
    "japanese": "ja",
    "korean": "ko",
    "lithuanian": "lt",
    "nepali": "ne",
    "norwegian": "no",
    "polish": "pl",
    "portuguese": "pt",
    "romanian": "ro",
    "russian": "ru",
    "serbian": "sr",
    "spanish": "es",
    "swedish": "sv",
    "tamil": "ta",
    "thai": "th",
    "turkish": "tr",
    "ukrainian": "uk",
    "yiddish": "yi",
}
"""Codes of languages (ISO 639-1) by the names that people type in their place."""


def did_you_mean(name: str, known: Iterable[str], *, most: int = 1, likeness: float = 0.6) -> str:
    """Return ``; did you mean NAME?`` with the known names that a name resembles, or nothing.

    Args:
        name: The unknown name.
        known: The known names.
        most: How many of them are named at most, 1 or more.
        likeness: How much of the letters must be alike, 0 to 1.
    """
    from difflib import get_close_matches  # slow to import

    names = sorted(known)
    letters = sorted(name)  # the same letters in another order: ngcd for ndcg
    near = get_close_matches(name, names, n=most, cutoff=likeness) or [
        candidate for candidate in names if len(candidate) == len(name) > 2 and sorted(candidate) == letters
    ]
    return f"; did you mean {' or '.join(near[:most])}?" if near else ""


def language_meant(name: str) -> str:
    """Return ``; did you mean en?`` for the name of a language in the place of its code, or nothing."""
    from difflib import get_close_matches

    near = get_close_matches(name.strip().lower(), LANGUAGES, n=1, cutoff=0.7)
    return f"; did you mean {LANGUAGES[near[0]]}?" if near else ""


def language_name(code: str) -> str:
    """Return the name of a language with its code, as ``Chinese (zh)``; the code alone if no name is known."""
    plain = code.split("-", maxsplit=1)[0]
    name = next((name for name, known in LANGUAGES.items() if known == plain), None)
    return f"{name.title()} ({code})" if name else code
