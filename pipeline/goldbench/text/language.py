"""The language of a text: decided by its script, then by a statistical model among the languages of the script."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from goldbench.text import table
from goldbench.text.scripts import script_of
from goldbench.text.words import words

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_ONE_LANGUAGE: dict[str, str] = table("languages")["one"]
_SEVERAL_LANGUAGES: dict[str, str] = table("languages")["several"]
_SAME: dict[str, str] = table("languages")["same"]
_SCRIPTS_OF = {language: {script} for script, language in _ONE_LANGUAGE.items()} | {
    "ja": {"Han", "Hiragana", "Katakana"},
    "zh": {"Han"},
}
for _script, _languages in _SEVERAL_LANGUAGES.items():
    for _language in _languages.split():
        _SCRIPTS_OF.setdefault(_language, set()).add(_script)

_HARD_TO_TELL = ({"bs", "hr", "sr"}, {"id", "ms"}, {"gl", "pt"}, {"da", "no"}, {"af", "nl"}, {"cs", "sk"})
"""Languages that a short text does not tell apart reliably."""

_WINDOWS = 4
_WINDOW = 80
_VOTERS = 100
"""Texts of a corpus that are asked for its language."""
_LOADING = threading.Lock()


def detect_language(text: str) -> str | None:
    """Return the language of most of a text (ISO 639-1), None if it is not clear.

    Long texts are judged by four windows of 80 characters spread over them.
    """
    sample = _sample(text)
    counts = _words_by_script(sample)
    if not counts:
        return None
    script = max(counts, key=lambda name: (counts[name], name))
    if script == "Han":
        return "ja" if 20 * _kana(counts) >= counts[script] else "zh"
    if script not in _SEVERAL_LANGUAGES:
        return _ONE_LANGUAGE.get(script)
    language, probability = _probabilities(sample, script)[0]
    return language if counts[script] >= 3 and probability >= 0.5 else None


def main_language(texts: Sequence[str]) -> str | None:
    """Return the language of most texts of an evenly spaced sample, None if no language has more than half.

    Args:
        texts: The texts of a corpus, in an order that does not change.
    """
    counts = Counter(detect_language(text) for text in texts[:: max(1, len(texts) // _VOTERS)])
    best = max(counts, key=lambda name: (counts[name], name or "")) if counts else None
    return best if best and 2 * counts[best] > counts.total() else None


def same_language(query: str, expected: str) -> bool | None:
    """Return whether a short text is in the expected language, None if it is too short or too mixed to tell.

    False needs clear evidence: a script that does not fit, or at least four words and 20 letters that the model
    assigns to another language with a probability of 0.9 or more.

    Args:
        query: A query.
        expected: ISO 639-1, with or without a region.
    """
    wanted = _code(expected)
    fits = script_fits(query, wanted)
    if not fits:
        return fits
    counts = _words_by_script(query)
    script = max(counts, key=lambda name: (counts[name], name))
    if script not in _SCRIPTS_OF[wanted]:
        return None
    if script in _ONE_LANGUAGE or script == "Han":
        return None if wanted == "ja" and not _kana(counts) else True
    return _model_agrees(query, wanted, script, counts[script])


def script_fits(query: str, expected: str) -> bool | None:
    """Return whether a short text is in a script of the expected language, None if the language is not known.

    Names and abbreviations in Latin script do not count against a language of another script if words in that script
    are present. Kana are not Chinese, and characters simplified only in China are not Japanese.

    Args:
        query: As in `same_language`.
        expected: As in `same_language`.
    """
    wanted = _code(expected)
    counts = _words_by_script(query)
    if not counts or wanted not in _SCRIPTS_OF:
        return None
    own = sum(counts[script] for script in _SCRIPTS_OF[wanted])
    total = sum(counts.values())
    if wanted == "zh" and _kana(counts) >= max(2, 0.15 * counts["Han"]):
        return False
    if wanted == "ja" and not _kana(counts) and _unknown_in_japan(query) >= 2:
        return False
    if "Latin" in _SCRIPTS_OF[wanted]:
        return 2 * own >= total
    latin = counts["Latin"]
    return own > 0 and own >= total - own - latin and (latin < 5 or 5 * own >= own + latin)


def probability(text: str, expected: Collection[str]) -> float:
    """Return how probable it is that a text is in one of the languages, from 0 to 1; 1 if its script has one language.

    Args:
        text: Any text; of one or two words the languages of a script are hardly told apart.
        expected: ISO 639-1 codes, with or without a region.
    """
    script = script_of(text)
    if script not in _SEVERAL_LANGUAGES:
        return 1.0
    wanted = {_code(language) for language in expected}
    return sum(share for language, share in _probabilities(text, script) if language in wanted)


def same_script(query: str, text: str) -> bool:
    """Return whether a query is in a script of a text; True if either has no letters.

    It is if one of its words is in the text's main script, or at least half are in scripts with a tenth of its words.
    """
    in_query = _words_by_script(query)
    in_text = _words_by_script(_sample(text))
    if not in_query or not in_text:
        return True
    shared = sum(in_query[script] for script in in_query if 10 * in_text[script] >= sum(in_text.values()))
    return max(in_text, key=lambda name: (in_text[name], name)) in in_query or 2 * shared >= sum(in_query.values())


def _code(language: str) -> str:
    code = language.split("-", maxsplit=1)[0]
    return _SAME.get(code, code)


def _kana(counts: Counter[str]) -> int:
    return counts["Hiragana"] + counts["Katakana"]


def _unknown_in_japan(text: str) -> int:
    """Return the number of characters that Japanese encodings lack."""
    return len(text) - len(text.encode("cp932", errors="ignore").decode("cp932", errors="ignore"))


def _model_agrees(query: str, wanted: str, script: str, count: int) -> bool | None:
    ranked = _probabilities(query, script)
    best = ranked[0][0]
    if best == wanted:
        return True
    alike = next((group for group in _HARD_TO_TELL if best in group), {best})
    if count < 4 or sum(map(str.isalpha, query)) < 20 or wanted in alike:
        return None
    alternatives = sum(probability for language, probability in ranked if language in alike)
    return False if alternatives >= 0.9 and dict(ranked).get(wanted, 0.0) <= 0.02 else None


def _sample(text: str) -> str:
    if len(text) <= _WINDOWS * _WINDOW:
        return text
    step = (len(text) - _WINDOW) // (_WINDOWS - 1)
    return "\n".join(text[i * step : i * step + _WINDOW] for i in range(_WINDOWS))


def _words_by_script(text: str) -> Counter[str]:
    """Count words by script; in scripts without spaces every character is one."""
    counts: Counter[str] = Counter()
    for word in words(text):
        script = script_of(word)
        if script:
            counts[script] += 1
    return counts


def _probabilities(text: str, script: str) -> list[tuple[str, float]]:
    """Return the languages of a script, most probable first, with probabilities that add up to 1."""
    among = set(_SEVERAL_LANGUAGES[script].split())
    counts: Counter[str] = Counter()
    for label, probability in _identifier().rank(text):
        language = _SAME.get(label, label)
        if language in among:
            counts[language] += probability
    total = sum(counts.values()) or 1.0
    return [
        (language, value / total) for language, value in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]


def _identifier() -> LanguageIdentifier:
    """Return the statistical model, loaded once even if several threads ask for it."""
    with _LOADING:
        return _loaded()


@lru_cache(maxsize=1)
def _loaded() -> LanguageIdentifier:
    # Loading the model takes half a second, so it waits for the first text that needs it.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
