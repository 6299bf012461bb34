"""Which passages a small model can serve; the others go to the simulation, which serves any."""

from __future__ import annotations

import re

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
"""Phrases of scientific abstracts from which a passage counts as one."""


def why_not(chunk: Chunk, language: str | None) -> str | None:
    """Return why a small model does not serve a passage, None if it does.

    Abstracts are left to the simulation: people ask for their subject as a whole, and a question about one sentence
    ranked systems against people's rankings (tau .07 to .20 on Cranfield, where simulated queries reach .60).

    Args:
        chunk: The passage.
        language: Its language, ISO 639-1, or None.
    """
    if (language or "").split("-")[0] != ENGLISH:
        return "its language is not English"
    if _without_capitals(chunk.text):
        return "its sentences do not begin with capitals"
    if len({found.group().lower() for found in _ABSTRACT.finditer(chunk.text)}) >= ABSTRACT_SIGNS:
        return "it is an abstract"
    return None


def _without_capitals(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    return sum(character.isupper() for character in letters) < 0.005 * len(letters)
