"""Queries that pass the mechanical checks: two terms of the passage among words that are not in it.

Frames in the languages of the sample corpus; in any other language a handful of the passage's own words.
"""

from __future__ import annotations

import random
import re
import unicodedata

_WORD = re.compile(r"[^\W\d_]{4,}")
_ANY_WORD = re.compile(r"[^\W\d_]{2,}")
_CJK_RUN = re.compile(r"[\u3400-\u9fff]{2,}|[\u30a1-\u30fa\u30fc]{2,}")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_LANGUAGE = re.compile(r"language[^\n:]{0,40}:\s*(?:[a-z]+ \()?([a-z]{2})\b", re.IGNORECASE)

_NAMED_LANGUAGE = re.compile(r"^[A-Z][a-z]+ \(([a-z]{2})\), sentence ", re.MULTILINE)

_FRAMES = {
    "en": (
        "How does {a} change {b} when {x} and {y} matter?",
        "What should someone planning {x} know about {a} and {b} for {y}?",
        "Where would {a} depend on {b} during {x} or {y}?",
        "Which {x} is right for {a} if {b} needs {y}?",
        "Can {a} help a newcomer handle {b} under {x} and {y}?",
        "When do people with {x} rely on {a} for {b} and {y}?",
    ),
    "de": (
        "Wie hilft {a} bei {b}, wenn man im Winter wenig Zeit hat?",
        "Wozu brauchen Anfänger {a} für {b} im Alltag?",
    ),
    "fr": ("Comment {a} aide-t-il avec {b} quand on débute en hiver ?", "Où faut-il {a} pour {b} chez soi ?"),
    "es": ("¿Cómo ayuda {a} con {b} cuando uno empieza en invierno?", "¿Dónde hace falta {a} para {b} en casa?"),
    "zh": (
        "{a}怎样影响{b}",
        "预算有限时{a}如何搭配{b}",
        "{a}与{b}有何差别",
        "如何用{a}改善{b}",
        "租房青年用{a}还是{b}划算",
        "{a}能否代替{b}",
    ),
    "ja": ("{a}は{b}にどう影響しますか", "いつ{a}に{b}が必要ですか", "{a}と{b}はどちらが先ですか"),
}
FILLERS = """
budgets weekends teenagers landlords winters freelancers travellers migrations outages audits renovations holidays
beginners retirees emergencies overtime insurance franchises allergies humidity vibration deadlines subscriptions
warranties inheritance suppliers contractors volunteers expeditions quarantines blackouts refunds mortgages tournaments
harvests droughts earthquakes commuters apprentices grandparents
""".split()  # noqa: SIM905 - a list of forty strings reads worse
_STOP = frozenset(
    """
this that these those with from have been were they their there which while where when what will would could should
about after before above below under over into than then them some such only also more most other each here your does
very between because through during following mentioned passage section text table figure chapter document article
""".split()  # noqa: SIM905 - as above
)


def write_query(prompt: str, passage: str, evidence: str, style: str, chance: random.Random) -> tuple[str, str]:
    """Return a query about the passage, and its subject, under the constraints the prompt names."""
    query = subject = ""
    for _ in range(60):
        query, subject = _draw(prompt, passage, evidence, style, chance)
        if "no punctuation" in prompt:
            query = "".join(c for c in query if not unicodedata.category(c).startswith("P"))
        if _fits(query, prompt):
            break
    return query, subject


def _fits(query: str, prompt: str) -> bool:
    most = re.search(r"at most (\d+) characters", prompt)
    banned = re.search(r"none of these: ([^\n]*?)\.?\n", prompt)
    words = [word.strip() for word in banned.group(1).split(",")] if banned else []
    return (not most or len(query) <= int(most.group(1))) and not any(word and word in query for word in words)


def _draw(prompt: str, passage: str, evidence: str, style: str, chance: random.Random) -> tuple[str, str]:
    asked = _LANGUAGE.search(prompt) or _NAMED_LANGUAGE.search(prompt)
    if len(_CJK.findall(evidence)) * 2 >= len(re.findall(r"\w", evidence)):
        a, b = _pieces(passage, chance)
        return chance.choice(_FRAMES["ja" if _KANA.search(evidence) else "zh"]).format(a=a, b=b), a
    language = asked.group(1) if asked else "en"
    if language not in _FRAMES or not re.search(r"[A-Za-z]", evidence):
        words = sorted(set(_ANY_WORD.findall(passage))) or [passage[:20]]
        few = chance.sample(words, min(3, len(words)))
        return " ".join(few), few[0]
    a, b = _two_words(evidence, passage, chance)
    x, y = chance.sample([word for word in FILLERS if word not in passage], 2)
    if style == "keywords":
        return f"{a} {x} {b} {y}", a
    return chance.choice(_FRAMES[language]).format(a=a, b=b, x=x, y=y), a


def _two_words(evidence: str, passage: str, chance: random.Random) -> tuple[str, str]:
    for source in (evidence, passage):
        found = sorted({w for w in _WORD.findall(source) if w.lower() not in _STOP and len(w) <= 20})
        if len(found) >= 2:
            first, second = chance.sample(found, 2)
            return first, second
    return "planning", "maintenance"


def _pieces(passage: str, chance: random.Random) -> tuple[str, str]:
    runs = [run for run in _CJK_RUN.findall(passage) if not set(run[:3]) & set("这那根据依的了和是在其不可")]
    first, second = (chance.choice(runs), chance.choice(runs)) if runs else ("资料", "内容")
    return first[:3], second[-3:] if second != first else second[-2:]
