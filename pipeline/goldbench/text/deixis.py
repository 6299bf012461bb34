"""Words that point at a page the reader of a query cannot see: «this section», «the author», a leading «it».

The patterns, in ``deixis.toml``, are narrow, because «the author of Emma», «the table of contents», «how long does it
take to …» and «the following year» are good queries: a missed match costs one odd query, a false match costs good ones.
"""

from __future__ import annotations

from functools import lru_cache

import regex

from goldbench.text import table
from goldbench.text.scripts import script_of

_BY_SCRIPT = {
    "Latin": "en", "Han": "zh", "Hiragana": "ja", "Katakana": "ja", "Hangul": "ko", "Cyrillic": "ru", "Arabic": "ar",
    "Devanagari": "hi", "Thai": "th",
}  # fmt: skip
_NAME = regex.compile("<([A-Z]+)>")


def deixis(text: str, language: str | None) -> str | None:
    """Return the first words of a query that point at something outside it, None if there are none.

    Args:
        text: A query.
        language: ISO 639-1; if it is None or has no patterns, the commonest language of the script is used.
    """
    known = (language or "").split("-")[0]
    chosen = known if known in table("deixis")["patterns"] else _BY_SCRIPT.get(script_of(text) or "", "")
    query = text.strip()
    for pattern in _compiled(chosen):
        match = pattern.search(query)
        if match:
            return " ".join(match.group().split())
    return None


@lru_cache(maxsize=32)
def _compiled(language: str) -> tuple[regex.Pattern[str], ...]:
    names = table("deixis")["names"]
    patterns = table("deixis")["patterns"].get(language, ())
    whole = (_NAME.sub(lambda name: str(names[name[1]]), pattern) for pattern in patterns)
    return tuple(regex.compile(pattern, regex.IGNORECASE) for pattern in whole)
