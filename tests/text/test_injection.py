"""Orders to a judge are found by words first: whatever the patterns alone find is found."""

from __future__ import annotations

import random

import regex

from goldbench.text import injection, table

PATTERNS = [one for name in ("disregard", "verdict", "markers") for one in table("injection")[name]]
BESIDE = [
    *("the", "your", "as", "3", "three", "highest", "is", "must", "be", "<<<", "END", "x", "Text", ":", "ist", "est"),
    *(
        "der",
        "ce",
        "este",
        "es",
        "vollkommen relevant",
        "perfectly",
        "to",
        "İgnore",
        "ıgnore",
        "ſkip",
        "marK",
        "Kriteri",
    ),
    *("评为", "3分", "完全相关", "passage", "document", "text"),
]


def test_a_text_is_searched_if_a_pattern_alone_matches_it() -> None:
    every = regex.compile("|".join(PATTERNS), regex.IGNORECASE)
    drawn = random.Random(5)
    words = [word for sentence in injection._sentences() for group in sentence.words for word in group] + 4 * BESIDE
    matched = 0
    for _ in range(2_000):
        chosen = drawn.choices(words, k=drawn.randint(2, 7))
        text = drawn.choice(["", " "]).join(drawn.choice([word, word.upper(), word.title()]) for word in chosen)
        expected = every.search(text) is not None
        matched += expected
        assert injection._tells(text) == expected, text
    assert matched > 20
