"""Function words per language: articles, pronouns, prepositions, conjunctions, auxiliaries, question words.

Closed classes only, in ``stopwords.toml``. The packaged lists were looked at and left: they hold words that carry a
query (``computer``, ``information``, ``system``, ``world`` and every country code in one English list of 1,333
words), and what is asked here is which words of a query carry its meaning. A language without a list keeps all of
its words.
"""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib.resources import files


@lru_cache(maxsize=64)
def stop_words(language: str | None) -> frozenset[str]:
    """Return the function words of a language (case-folded), empty where there is no list.

    Args:
        language: ISO 639-1, with or without a region (``zh-TW``); None where it is not known.
    """
    return frozenset(_lists().get((language or "").split("-")[0], "").casefold().split())


def listed() -> frozenset[str]:
    """Return the languages that have a list."""
    return frozenset(_lists())


@lru_cache(maxsize=1)
def _lists() -> dict[str, str]:
    return tomllib.loads(files("pipeline.text").joinpath("stopwords.toml").read_text(encoding="utf-8"))
