"""Made-up text that behaves like text: Zipf's law over a growing vocabulary, sentences, paragraphs, headings.

``documents(megabytes, seed=…)`` streams it: the same bytes for the same arguments, never held in memory as a whole.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, islice

from goldbench.records.corpus import Document

ONSETS = ["", "b", "br", "c", "ch", "d", "dr", "f", "fl", "g", "gr", "h", "k", "l", "m", "n", "p", "pl", "qu", "r", "s"]
ONSETS += ["sh", "sl", "st", "str", "t", "th", "tr", "v", "w"]
NUCLEI = ["a", "e", "i", "o", "u", "ai", "ea", "ee", "io", "oa", "ou"]
CODAS = ["", "", "", "b", "ck", "d", "l", "m", "n", "nd", "ng", "nt", "p", "r", "rd", "s", "st", "t", "x"]
VOCABULARY = 60_000
EXPONENT = 1.07
"""Of Zipf's law, as measured in English."""
SHORTEST = 80
"""Characters of a paragraph; a shorter one is a heading."""
NEAR_COPY = 0.02
"""Share of paragraphs that repeat an earlier paragraph of their document or a form paragraph, one word changed."""


@lru_cache(maxsize=1)
def vocabulary() -> tuple[list[str], list[float]]:
    """Return the words, the most frequent (and shortest) first, and their cumulative weights."""
    chance = random.Random(1)
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        syllables = 1 + min(3, int(len(words) ** 0.25 / 5 + chance.random() * 1.6))
        word = "".join(chance.choice(ONSETS) + chance.choice(NUCLEI) + chance.choice(CODAS) for _ in range(syllables))
        words.setdefault(word)
    return list(words), list(accumulate(1 / (rank + 2.7) ** EXPONENT for rank in range(VOCABULARY)))


def documents(megabytes: float, *, seed: int = 1, kilobytes: tuple[int, int] = (5, 50)) -> Iterator[Document]:
    """Yield documents of 5 to 50 kB until there are so many megabytes of text.

    Args:
        megabytes: In all, 1 MB = 10**6 characters; the text is ASCII.
        seed: Chooses the text; a larger corpus of one seed begins with the smaller one.
        kilobytes: The least and the most of one document.
    """
    written, number, wanted = 0, 0, int(megabytes * 1e6)
    while written < wanted:
        chance = random.Random(f"{seed}/{number}")
        text = document_text(chance, min(chance.randint(*kilobytes) * 1000, max(wanted - written, 200)))
        yield Document(
            doc_id=f"synthetic-{number:07}", title=text[2:40].split("\n")[0], text=text, source=f"{number}.md"
        )
        written += len(text)
        number += 1


def paragraphs(count: int) -> Iterator[str]:
    """Yield the first paragraphs of a stream of documents, one line each."""
    every = (part for document in documents(1e9, seed=3) for part in document.text.split("\n\n"))
    return islice((" ".join(part.split()) for part in every if len(part) >= SHORTEST), count)


def document_text(chance: random.Random, characters: int) -> str:
    """Return a Markdown text of about so many characters: headings, paragraphs of sentences, a few near-copies."""
    forms = random.Random(7)
    paragraphs = [_paragraph(forms)]  # the same boilerplate in every document
    parts, size = [f"# {_title(chance)}"], 0
    while size < characters:
        if chance.random() < 0.12:
            parts.append(f"{'#' * chance.randint(2, 3)} {_title(chance)}")
        if chance.random() < NEAR_COPY:
            words = chance.choice(paragraphs).split(" ")
            words[chance.randrange(len(words))] = _words(chance, 1)[0]
            paragraph = " ".join(words)
        else:
            paragraph = _paragraph(chance)
            paragraphs.append(paragraph)
        parts.append(paragraph)
        size += len(paragraph) + 2
    return "\n\n".join(parts)


def _words(chance: random.Random, count: int) -> list[str]:
    words, weights = vocabulary()
    return chance.choices(words, cum_weights=weights, k=count)


def _title(chance: random.Random) -> str:
    return " ".join(_words(chance, chance.randint(2, 6))).capitalize()


def _paragraph(chance: random.Random) -> str:
    sentences = []
    for _ in range(chance.randint(2, 9)):
        words = _words(chance, max(4, round(chance.gauss(18, 7))))
        if len(words) > 12:
            words[len(words) // 2] += ","
        sentences.append(" ".join(words).capitalize() + ".")
    return " ".join(sentences)
