"""Which language a text is in: its script decides first, a statistical model among the languages of one script."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from pipeline.text.scripts import script_of
from pipeline.text.words import words

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_ONE_LANGUAGE = {
    "Greek": "el", "Hangul": "ko", "Thai": "th", "Lao": "lo", "Khmer": "km", "Myanmar": "my", "Georgian": "ka",
    "Armenian": "hy", "Gurmukhi": "pa", "Gujarati": "gu", "Tamil": "ta", "Telugu": "te", "Kannada": "kn",
    "Malayalam": "ml", "Sinhala": "si", "Tibetan": "bo", "Mongolian": "mn", "Hiragana": "ja", "Katakana": "ja",
}  # fmt: skip
_SEVERAL_LANGUAGES = {
    "Cyrillic": "be bg kk ky mk mn ru sr tg tt uk",
    "Arabic": "ar fa ku ps sd ug ur",
    "Hebrew": "he yi",
    "Devanagari": "hi mr ne",
    "Bengali": "as bn",
    "Ethiopic": "am ti",
    "Han": "ja zh",
    "Latin": "af az bs ca cs cy da de en es et eu fi fr ga gl ha hr hu id is it kk ku lt lv mg ms mt nl no pl pt ro sk "
    "sl so sq sr sv sw tl tr uz vi xh yo zu",
}
_SCRIPTS_OF = {language: {script} for script, language in _ONE_LANGUAGE.items()} | {
    "ja": {"Han", "Hiragana", "Katakana"},
}
for _script, _languages in _SEVERAL_LANGUAGES.items():
    for _language in _languages.split():
        _SCRIPTS_OF.setdefault(_language, set()).add(_script)

_SAME = {
    "arz": "ar", "ary": "ar", "apc": "ar", "ars": "ar", "acm": "ar", "arb": "ar", "wuu": "zh", "yue": "zh", "nb": "no",
    "nn": "no", "fil": "tl", "pes": "fa", "prs": "fa", "ckb": "ku", "iw": "he", "in": "id", "cmn": "zh", "srl": "sr",
}  # fmt: skip
"""Labels that name a variety of a language, or an old code of it."""

_HARD_TO_TELL = ({"bs", "hr", "sr"}, {"id", "ms"}, {"gl", "pt"}, {"da", "no"}, {"af", "nl"}, {"cs", "sk"})
"""Languages a short text does not tell apart for certain."""

_KANA = {"Hiragana", "Katakana"}
_WINDOWS, _WINDOW = 4, 500


def detect_language(text: str) -> str | None:
    """Return the language most of a text is written in (ISO 639-1), None where that is not clear.

    Long texts are judged by four windows of 500 characters spread over them.
    """
    sample = _sample(text)
    counts = _words_by_script(sample)
    if not counts:
        return None
    script = max(counts, key=lambda name: (counts[name], name))
    if script == "Han":
        return "ja" if 20 * sum(counts[kana] for kana in _KANA) >= counts[script] else "zh"
    if script in _ONE_LANGUAGE:
        return _ONE_LANGUAGE[script]
    if script not in _SEVERAL_LANGUAGES or counts[script] < 3:
        return None
    language, probability = next(iter(_probabilities(sample, script)))
    return language if probability >= 0.5 else None


def same_language(query: str, expected: str) -> bool | None:
    """Return whether a short text is in the expected language, None where it is too short or too mixed to say.

    False needs clear evidence: no word, or hardly one, in a script of the language; kana in Chinese; or a text of at least
    four words and 20 letters that the model gives to another language with a probability of 0.9 or more.
    Names and abbreviations in Latin script are no evidence against a language of another script.

    Args:
        query: A query.
        expected: ISO 639-1, with or without a region.
    """
    wanted = expected.split("-")[0]
    wanted = _SAME.get(wanted, wanted)
    counts = _words_by_script(query)
    if not counts or wanted not in _SCRIPTS_OF:
        return None
    if not _script_fits(counts, _SCRIPTS_OF[wanted]):
        return False
    kana = sum(counts[name] for name in _KANA)
    if wanted == "zh" and kana >= max(2, 0.15 * counts["Han"]):
        return False
    if wanted == "ja" and kana == 0:
        return _japanese_without_kana(query, counts["Han"])
    script = max(counts, key=lambda name: (counts[name], name))
    if script not in _SCRIPTS_OF[wanted]:
        return None
    if script in _ONE_LANGUAGE or script == "Han":
        return True
    return _model_agrees(query, wanted, script, counts[script])


def _script_fits(counts: Counter[str], scripts: set[str]) -> bool:
    own = sum(counts[script] for script in scripts)
    total = sum(counts.values())
    if "Latin" in scripts:
        return 2 * own >= total
    latin = counts["Latin"]
    others = total - own - latin
    return own > 0 and own >= others and (latin < 5 or 5 * own >= own + latin)


def same_script(query: str, text: str) -> bool:
    """Whether at least one script of the query's words is one of the text's, or either has no letters."""
    asked, there = _words_by_script(query), _words_by_script(_sample(text))
    return not asked or not there or bool(asked.keys() & there.keys())


def _model_agrees(query: str, wanted: str, script: str, count: int) -> bool | None:
    ranked = _probabilities(query, script)
    best, probability = ranked[0]
    if best == wanted:
        return True
    if count < 4 or sum(map(str.isalpha, query)) < 20 or any({best, wanted} <= group for group in _HARD_TO_TELL):
        return None
    return False if probability >= 0.9 and dict(ranked).get(wanted, 0.0) <= 0.02 else None


def _japanese_without_kana(query: str, characters: int) -> bool | None:
    """Rule out what is Chinese beyond doubt; a heading of a few characters may be either."""
    if characters < 8:
        return None
    return False if dict(_probabilities(query, "Han")).get("zh", 0.0) >= 0.95 else None


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
    """Return the languages of a script, most probable first; their probabilities add up to 1."""
    among = set(_SEVERAL_LANGUAGES[script].split())
    found: Counter[str] = Counter()
    for label, probability in _identifier().rank(text):
        language = _SAME.get(label, label)
        if language in among:
            found[language] += probability
    total = sum(found.values()) or 1.0
    return [
        (language, value / total) for language, value in sorted(found.items(), key=lambda item: (-item[1], item[0]))
    ]


@lru_cache(maxsize=1)
def _identifier() -> LanguageIdentifier:
    # Loading the model takes most of a second: only the first text that needs it pays.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
