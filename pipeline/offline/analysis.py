"""How the simulation cuts text: words by spaces and stems, or by the corpus's own lexicon in scripts without spaces."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import regex

from pipeline.offline.lexicon import Lexicon, clusters
from pipeline.text.language import detect_language
from pipeline.text.scripts import SPACELESS, script_of
from pipeline.text.words import stems, stop_words

_SPACELESS_SET = "[" + "".join(rf"\p{{Script={name}}}" for name in sorted(SPACELESS)) + "]"
_WORD_SET = rf"[[\p{{L}}\p{{M}}\p{{N}}]--{_SPACELESS_SET}]"
_PIECE = regex.compile(
    r"(?:https?://|www\.)\S+|[\w.+-]+@[\w-]+\.\w+"  # addresses: passed over
    rf"|(?P<run>(?:{_SPACELESS_SET}\p{{M}}*)+)"
    rf"|(?P<word>{_WORD_SET}+(?:['’.\-\u200c\u200d]{_WORD_SET}+)*)",
    regex.V1,
)
_LETTER = regex.compile(r"\p{L}")
LONGEST_WORD = 40
"""Longer words are hashes and base64: nobody asks with them."""
LONGEST_TEXT = 20_000
"""Characters of a chunk that are looked at: a table row taken as a chunk may be of any size."""
LANGUAGE_SAMPLE = 200


class Token(NamedTuple):
    """One word: where it stands, its lower-cased form, and the stem that its other forms share."""

    start: int
    end: int
    form: str
    stem: str


class Analysis:
    """Cuts any text into tokens, with what a sample of the corpus tells about its languages and words.

    The language of a script is the one most of the sample's texts in it are in: one chunk alone is often too short.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._languages = _languages(texts[:LANGUAGE_SAMPLE])
        self._lexicon = Lexicon(run for text in texts for run in _runs(text))
        self._stems: dict[tuple[str, str | None], str] = {}

    def tokens(self, text: str) -> list[Token]:
        """Return the words of the text, in order; the text must not be longer than ``LONGEST_TEXT``."""
        language = self.language_of(text)
        found: list[Token] = []
        for piece in _PIECE.finditer(text):
            if piece.lastgroup == "run":
                found.extend(self._cut(piece.start(), piece.group()))
            elif piece.lastgroup == "word" and piece.end() - piece.start() <= LONGEST_WORD:
                form = piece.group().lower()
                found.append(Token(piece.start(), piece.end(), form, self._stem(form, language)))
        return found

    def content(self, text: str) -> list[Token]:
        """Return the words that carry meaning: no function words, numbers or single letters."""
        return self.sorted_tokens(text)[0]

    def sorted_tokens(self, text: str) -> tuple[list[Token], list[Token]]:
        """Return the words that carry meaning and the function words, each in order; numbers are neither."""
        stop = stop_words(self.language_of(text))
        content: list[Token] = []
        function: list[Token] = []
        for token in self.tokens(text):
            if token.form in stop:
                function.append(token)
            elif _carries_meaning(token.form):
                content.append(token)
        return content, function

    def language_of(self, text: str) -> str | None:
        """Return the language that most texts in this script have here, None where that is not known."""
        return self._languages.get(script_of(text) or "")

    def _cut(self, offset: int, run: str) -> Iterable[Token]:
        for start, end in self._lexicon.cut(run):
            form = run[start:end]
            yield Token(offset + start, offset + end, form, form)

    def _stem(self, form: str, language: str | None) -> str:
        key = (form, language)
        if key not in self._stems:
            self._stems[key] = stems([form], language)[0]
        return self._stems[key]


def _carries_meaning(form: str) -> bool:
    return len(clusters(form)) > 1 and _LETTER.search(form) is not None


def _runs(text: str) -> list[str]:
    return [piece.group() for piece in _PIECE.finditer(text) if piece.lastgroup == "run"]


def _languages(texts: Iterable[str]) -> dict[str, str]:
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        script, language = script_of(text), detect_language(text)
        if script is not None and language is not None:
            votes[script][language] += 1
    return {script: max(counts, key=lambda name: (counts[name], name)) for script, counts in votes.items()}
