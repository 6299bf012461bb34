"""English sentences of a small grammar, for tests of word order."""

from __future__ import annotations

import random
from collections.abc import Sequence

_NOUNS = ("pump", "valve", "filter", "sensor", "garden", "tank", "pipe", "motor", "cable", "farmer", "winter", "letter")
_VERBS = ("opens", "closes", "cleans", "breaks", "needs", "shows", "fills", "moves", "keeps", "finds", "stops")
_ADJECTIVES = ("old", "new", "cold", "small", "green", "broken", "quiet", "heavy", "yellow", "empty")
_FORMS = (
    "The {a} {n} of the {n} {v} a {n} in the {n}.",
    "If the {n} is {a}, it {v} the {n} with a {n}.",
    "There are {a} parts in the {n} that the {n} {v}.",
    "What does the {n} of a {a} {n} show?",
    "How is the {n} in the {a} {n} to be opened by the {n}?",
)


def sentences(count: int, *, seed: int) -> list[str]:
    """Return sentences of about nine words."""
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        form = chance.choice(_FORMS)
        for mark, among in (("{a}", _ADJECTIVES), ("{n}", _NOUNS), ("{v}", _VERBS)):
            while mark in form:
                form = form.replace(mark, chance.choice(among), 1)
        found.append(form)
    return found


def shuffled(texts: Sequence[str]) -> list[str]:
    """Return the words of each text in random order."""
    chance = random.Random(0)
    return [" ".join(chance.sample(words, len(words))) for words in (text.split() for text in texts)]
