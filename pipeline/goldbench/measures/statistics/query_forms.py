"""The form of queries: their length, their script, and whether they are questions, codes, keywords or sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from goldbench.text.scripts import script_of
from goldbench.text.words import count_words, stop_words, terms

BANDS = ("1", "2", "3", "4-5", "6-8", "9-12", "13-20", "21+")
_ENDS = (1, 2, 3, 5, 8, 12, 20)

_MARKS = ("?", "？", "؟", "吗", "嗎", "呢", "か")
_ASKING = frozenset([
    "what", "who", "whom", "whose", "which", "when", "where", "why", "how", "can", "could", "do", "does", "did", "is",
    "are", "was", "were", "should", "would", "will", "may", "was", "wer", "wen", "wem", "wessen", "welche", "welcher",
    "welches", "wann", "wo", "wohin", "woher", "warum", "wieso", "weshalb", "wie", "kann", "darf", "soll", "que",
    "quoi", "qui", "quel", "quelle", "quels", "quelles", "quand", "où", "pourquoi", "comment", "combien", "est-ce",
    "qué", "quién", "cuál", "cuándo", "dónde", "cómo", "cuánto", "cuántos", "por-qué", "cosa", "chi", "quale",
    "quando", "dove", "perché", "come", "quanto", "quem", "qual", "onde", "como", "por-que", "что", "кто", "какой",
    "какая", "какие", "когда", "где", "почему", "зачем", "как", "сколько", "чей", "ما", "ماذا", "من", "متى", "أين",
    "لماذا", "كيف", "كم", "هل", "أي", "क्या", "कौन", "कब", "कहाँ", "क्यों", "कैसे", "कितना", "कितने", "किस"
])  # fmt: skip
_ASKING_INSIDE = re.compile(
    "什么|什麼|怎么|怎麼|怎样|如何|为什么|為什麼|为何|哪|谁|誰|几|幾|多少|是否|何|なぜ|どう|どこ|いつ|だれ|どの|どれ|"
    "อะไร|ใคร|เมื่อไร|เมื่อใด|ที่ไหน|ทำไม|อย่างไร|กี่|เท่าไร|무엇|누구|언제|어디|왜|어떻게|얼마"
)
_CODE = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z_\-./:])\S+")
_SENTENCE_END = (".", "!", "。", "！", "।")


def length_band(text: str) -> str:
    """Return the band of ``BANDS`` of a query's number of words; in Chinese and Japanese, of characters."""
    count = count_words(text)
    return next((band for band, end in zip(BANDS, _ENDS, strict=False) if count <= end), BANDS[-1])


def form_of(text: str, language: str | None) -> str:
    """Return the form of a query: ``question``, ``code``, ``keywords`` or ``sentence``.

    A question ends in a question mark or begins with (in scripts without spaces: has) a question word. A code has at
    most three words, one of them with digits and letters. Keywords are at most five words without a function word.

    Args:
        text: The query.
        language: ISO 639-1 code, for its function words; None for no function words.
    """
    stripped = text.strip()
    words = terms(stripped)
    first = stripped.split(maxsplit=1)[0].casefold() if stripped else ""
    if stripped.endswith(_MARKS) or first in _ASKING or _ASKING_INSIDE.search(stripped):
        return "question"
    parts = stripped.split()
    if len(parts) <= 3 and any(_CODE.fullmatch(part) for part in parts):
        return "code"
    if stripped.endswith(_SENTENCE_END) or count_words(stripped) > (5 if len(parts) > 1 else 10):
        return "sentence"
    return "sentence" if len(parts) > 1 and _functional(language).intersection(words) else "keywords"


@lru_cache(maxsize=8)
def _functional(language: str | None) -> frozenset[str]:
    return stop_words(language)


def distributions(queries: Iterable[tuple[str, int]], language: str | None) -> dict[str, dict[str, int]]:
    """Return the number of queries of each length, script and form.

    Args:
        queries: Texts, each with how often it was asked.
    """
    counts: dict[str, Counter[str]] = {"length": Counter(), "script": Counter(), "form": Counter()}
    for text, count in queries:
        counts["length"][length_band(text)] += count
        counts["script"][script_of(text) or "none"] += count
        counts["form"][form_of(text, language)] += count
    order = {name: position for position, name in enumerate(BANDS)}
    return {
        name: dict(sorted(counts_of_values.items(), key=lambda item: (order.get(item[0], 99), -item[1], item[0])))
        for name, counts_of_values in counts.items()
    }
