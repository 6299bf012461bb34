"""Which passages a small model can serve; the others go to the simulation, which serves any.

A collection of abstracts goes to the simulation as a whole: people ask it for a subject, not about single sentences.
"""

from __future__ import annotations

import re

from goldbench.pipeline.ports import Stored
from goldbench.pipeline.stages.ask.english import ENGLISH
from goldbench.schemas.corpus import Chunk

_ABSTRACT = re.compile(
    r"\b(?:is|are|was|were) (?:\w+ )?(?:described|discussed|presented|given|derived|investigated|examined|reviewed"
    r"|considered|studied|outlined|shown|proposed|analyzed|analysed|compared|reported|obtained|suggested|developed)\b"
    r"|\b(?:this|the|present) (?:paper|study|article|report|investigation|author|authors|results|method|algorithm)\b"
    r"|\b(?:an algorithm|a method|a technique|results)\b",
    re.IGNORECASE,
)
ABSTRACT_SIGNS = 2
"""Different phrases of scientific abstracts from which a passage counts as one."""
MOST_ABSTRACTS = 0.1
"""Share of the passages, 0 to 1, from which a collection is one of abstracts.

Of seven collections of encyclopedia articles 0 to 1 % read so, of six collections of abstracts 21 to 68 %
(``python -m tests.benchmarks.query_overlap``).
"""
_SAMPLE = 1000
_FEWEST_CAPITALS = 0.005


def why_not(chunk: Chunk, language: str | None) -> str | None:
    """Return why a small model does not serve a passage, None if it does.

    Args:
        chunk: The passage.
        language: Its language, ISO 639-1, or None.
    """
    if (language or "").split("-")[0] != ENGLISH:
        return "its language is not English"
    return "its sentences do not begin with capitals" if _is_lowercase(chunk.text) else None


def are_abstracts(chunks: Stored[Chunk]) -> bool:
    """Return whether a collection consists of abstracts, judged by passages spread over it."""
    step = max(1, len(chunks) // _SAMPLE)
    places = range(0, len(chunks), step)
    found = sum(is_abstract(chunks.at(place).text) for place in places)
    return len(places) > 0 and found >= MOST_ABSTRACTS * len(places)


def is_abstract(text: str) -> bool:
    """Return whether a text reads like a scientific abstract."""
    return len({found.group().lower() for found in _ABSTRACT.finditer(text)}) >= ABSTRACT_SIGNS


def _is_lowercase(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    return sum(map(str.isupper, letters)) < _FEWEST_CAPITALS * len(letters)
