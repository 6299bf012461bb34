"""How the simulation cuts text: words by spaces and stems, or by the corpus's own lexicon in scripts without spaces."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import py3langid
import regex

from pipeline.offline.lexicon import Lexicon, clusters
from pipeline.text.scripts import SPACELESS, script_of
from pipeline.text.stopwords import stop_words
from pipeline.text.words import stems

_SPACELESS_SET = "[" + "".join(rf"\p{{Script={name}}}" for name in sorted(SPACELESS)) + "]"
_WORD_SET = rf"[[\p{{L}}\p{{M}}\p{{N}}]--{_SPACELESS_SET}]"
_PIECE = regex.compile(
    rf"(?P<run>(?:{_SPACELESS_SET}\p{{M}}*)+)|(?P<word>{_WORD_SET}+(?:['’.\-_]{_WORD_SET}+)*)", regex.V1
)
_LETTER = regex.compile(r"\p{L}")
LONGEST_WORD = 40
"""Longer words are hashes, URLs and base64: nobody asks with them."""
LANGUAGE_SAMPLE = 200


class Token(NamedTuple):
    """One word: where it stands, its lower-cased form, and the stem that its other forms share."""

    start: int
    end: int
    form: str
    stem: str


class Analysis:
    """Cuts any text into tokens, with what a sample of the corpus tells about its languages and words.

    The language of a script is the one most of the sample's texts in it are in: one text alone is too short to tell.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._languages = _languages(texts[:LANGUAGE_SAMPLE])
        self._lexicon = Lexicon(run for text in texts for run in _runs(text))
        self._stems: dict[str, str] = {}

    def tokens(self, text: str) -> list[Token]:
        """Return the words of a text that a query could be made of or that tell what it is about, in order."""
        language = self._languages.get(script_of(text) or "")
        found: list[Token] = []
        for piece in _PIECE.finditer(text):
            if piece.lastgroup == "run":
                found.extend(self._cut(piece.start(), piece.group()))
            elif piece.end() - piece.start() <= LONGEST_WORD:
                form = piece.group().casefold()
                found.append(Token(piece.start(), piece.end(), form, self._stem(form, language)))
        return found

    def language_of(self, text: str) -> str | None:
        """Return the language that texts of this script are in here, None where that is not known."""
        return self._languages.get(script_of(text) or "")

    def _cut(self, offset: int, run: str) -> Iterable[Token]:
        for start, end in self._lexicon.cut(run):
            form = run[start:end].casefold()
            yield Token(offset + start, offset + end, form, form)

    def _stem(self, form: str, language: str | None) -> str:
        if form not in self._stems:
            self._stems[form] = stems([form], language)[0]
        return self._stems[form]


def is_content(token: Token, stop: frozenset[str]) -> bool:
    """Whether the token carries meaning: no function word, no number, no single letter."""
    return token.form not in stop and len(clusters(token.form)) > 1 and _LETTER.search(token.form) is not None


def _runs(text: str) -> list[str]:
    return [piece.group() for piece in _PIECE.finditer(text) if piece.lastgroup == "run"]


def _languages(texts: Iterable[str]) -> dict[str, str]:
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        script = script_of(text)
        if script is not None:
            votes[script][str(py3langid.classify(text)[0])] += 1
    return {script: max(counts, key=lambda name: (counts[name], name)) for script, counts in votes.items()}
