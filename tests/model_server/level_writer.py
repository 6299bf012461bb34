"""Queries as hard for word matching as the prompt asks: names of the passage, a name misspelt, or none of its words.

``levels`` of the settings: {"bad": share of the queries that are easy whatever is asked for, "copies": True if the
first wording of each is, with many words of the passage, and only a rewrite is as asked}.
"""

from __future__ import annotations

import hashlib
import random
import re
from typing import Any

_PASSAGE = re.compile(r"<<<PASSAGE ([0-9a-f]{16})>>>\n(.*?)\n<<<END \1>>>", re.DOTALL)
_NAME = re.compile(r"\b[a-z]{6,}on\b")
_ASKED = {
    "easy": "names its subject in the words that the passage uses",
    "medium": "at least two of five things in other words",
    "hard": "as few words of the passage as it can",
}


def as_hard_as_asked(settings: dict[str, Any] | None, prompt: str, good: dict[str, Any]) -> dict[str, Any]:
    """Return a good reply with a query of the level that the prompt asks for, unchanged if it asks for none."""
    asked = next((level for level, words in _ASKED.items() if words in prompt), None)
    passage = _PASSAGE.search(prompt)
    if asked is None or passage is None or not good.get("candidates"):
        return good
    told, chance = settings or {}, random.Random(hashlib.sha256(prompt.encode()).digest())
    first = told.get("copies") and "What is wrong with the query" not in prompt
    if first or chance.random() < told.get("bad", 0):
        asked = "easy"
    names = chance.sample(sorted(set(_NAME.findall(passage.group(2)))), 5 if first else 2)
    unknown = ["".join(chance.sample("qxjzvkwy", 6)) for _ in range(3)]  # no passage holds three of these in a row
    words = {"easy": names, "medium": [f"{names[0][:-2]}qz"]}.get(asked, [])
    good["candidates"][0]["query"] = f"{' '.join([*words, *unknown])}?"
    return good
