"""Name a cluster of queries by the words they use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from goldbench.measures.statistics.coverage import Words
from goldbench.text.scripts import is_spaceless
from goldbench.text.words import content_terms, stems, stop_words, terms

MOST = 4
"""Number of terms in a name."""


def salient_terms(queries: Sequence[tuple[str, int]], words: Words, language: str | None) -> list[str]:
    """Return the terms that weigh most among queries, in the spelling used most often.

    Args:
        queries: Texts, each with how often it was asked.
        words: The weights of terms.
        language: ISO 639-1 code, for stemmer and function words, or None.
    """
    weight: Counter[str] = Counter()
    spelled: dict[str, Counter[str]] = {}
    stop = stop_words(language)
    for text, count in queries:
        kept = [word for word in terms(text) if word not in stop] or terms(text)
        spelling = dict(zip(stems(kept, language), kept, strict=True))
        for term in dict.fromkeys(content_terms(text, language) or kept):
            weight[term] += count
            spelled.setdefault(term, Counter())[spelling.get(term, term)] += count
    best = sorted(weight, key=lambda term: (-weight[term] * words.weight(term), term))[:MOST]
    names = [max(spelled[term].items(), key=lambda item: (item[1], item[0]))[0] for term in best]
    return joined(names, [text.casefold() for text, _ in queries])


def joined(names: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return the names, with those of scripts without spaces joined if they overlap in a text."""
    found = [name for name in names if not is_spaceless(name)]
    grams = [name for name in names if is_spaceless(name)]
    while grams:
        run, grams = grams[0], grams[1:]
        while (step := _step(run, grams, texts)) is not None:
            run, used = step
            grams.remove(used)
        found.append(run)
    return found


def _step(run: str, grams: Sequence[str], texts: Sequence[str]) -> tuple[str, str] | None:
    """Return the run extended by a gram that overlaps one of its ends in a text, and the gram."""
    for gram in grams:
        for longer in (run + gram[-1:], gram[:1] + run):
            if gram in longer and any(longer in text for text in texts):
                return longer, gram
    return None
