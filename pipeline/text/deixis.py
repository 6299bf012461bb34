"""Words that point at a page the reader of a query cannot see: «this section», «the author», a leading «it».

The patterns, in ``deixis.toml``, are kept narrow: «the author of Emma», «the table of contents», «how long does it take
to …» and «the following year» are good queries. What they let through costs one odd query, what they take wrongly costs
good ones.
"""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import Any

import regex

from pipeline.text.scripts import script_of

_BY_SCRIPT = {
    "Latin": "en", "Han": "zh", "Hiragana": "ja", "Katakana": "ja", "Hangul": "ko", "Cyrillic": "ru", "Arabic": "ar",
    "Devanagari": "hi", "Thai": "th",
}  # fmt: skip
_NAME = regex.compile("<([A-Z]+)>")


def deixis(text: str, language: str | None) -> str | None:
    """Return the first words of a query that point at something outside it, None where there are none.

    Args:
        text: A query.
        language: ISO 639-1; where it is None or has no patterns here, the commonest language of the script.
    """
    known = (language or "").split("-")[0]
    chosen = known if known in _table()["patterns"] else _BY_SCRIPT.get(script_of(text) or "", "")
    query = text.strip()
    for pattern in _compiled(chosen):
        found = pattern.search(query)
        if found:
            return " ".join(found.group().split())
    return None


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    return tomllib.loads(files("pipeline.text").joinpath("deixis.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=32)
def _compiled(language: str) -> tuple[regex.Pattern[str], ...]:
    names, patterns = _table()["names"], _table()["patterns"].get(language, ())
    whole = (_NAME.sub(lambda name: str(names[name[1]]), pattern) for pattern in patterns)
    return tuple(regex.compile(pattern, regex.IGNORECASE) for pattern in whole)
