"""Words of a text for the simulation: by spaces, or by the corpus's own lexicon in scripts without spaces."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import regex

from goldbench.offline.lexicon import Lexicon, clusters
from goldbench.text.language import detect_language
from goldbench.text.scripts import SPACELESS, may_be_spaceless, script_of
from goldbench.text.words import is_plain, stems, stop_words

_SPACELESS_SET = "[" + "".join(rf"\p{{Script={name}}}" for name in sorted(SPACELESS)) + "]"
_WORD_SET = rf"[[\p{{L}}\p{{M}}\p{{N}}]--{_SPACELESS_SET}]"
_PIECE = regex.compile(
    r"(?:https?://|www\.)\S+|[\w.+-]+@[\w-]+\.\w+"  # addresses, which are not words
    rf"|(?P<run>(?:{_SPACELESS_SET}\p{{M}}*)+)"
    rf"|(?P<word>{_WORD_SET}+(?:['’.\-\u200c\u200d]{_WORD_SET}+)*)",
    regex.V1,
)
_ADDRESS_MARKS = ("@", "://", "www.")
_PLAIN_WORD = re.compile("[^\\W_]+(?:['’.\\-\u200c\u200d][^\\W_]+)*")
"""The words of ``_PIECE`` in plain text without addresses, several times faster."""
_LETTER = regex.compile(r"\p{L}")
LONGEST_WORD = 40
"""Most characters of a word; longer ones are hashes and base64, which nobody asks with."""
LONGEST_TEXT = 20_000
"""Characters of a chunk that are read; a table row taken as a chunk may be of any size."""
LANGUAGE_SAMPLE = 200
"""Texts whose language is detected."""
COMMON = 0.1
"""Share of the texts in a script from which on a language counts as one of the corpus: single chunks are misjudged."""


class Token(NamedTuple):
    """One word: its place in the text, its lower-cased form, and the stem it shares with other forms."""

    start: int
    end: int
    form: str
    stem: str


class Analysis:
    """Cuts any text into tokens, by the languages and words of a sample of the corpus.

    A script has the language of most of the sample's texts in it, because one chunk is often too short to tell.

    Args:
        texts: The sample, in an order that depends on the corpus alone.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        votes = _languages_by_script(texts[:LANGUAGE_SAMPLE])
        self._languages = {
            script: max(counts, key=lambda name: (counts[name], name)) for script, counts in votes.items()
        }
        self._common = {
            language
            for counts in votes.values()
            for language, count in counts.items()
            if count >= COMMON * counts.total()
        }
        self._lexicon = Lexicon(run for text in texts for run in _runs(text))
        self._stems: dict[str | None, dict[str, str]] = defaultdict(dict)

    def tokens(self, text: str) -> list[Token]:
        """Return the words of a text of at most ``LONGEST_TEXT`` characters, in order."""
        language = self.language_of(text)
        if _is_simple(text):
            return [
                Token(*word.span(), form := word[0].lower(), self._stem(form, language))
                for word in _PLAIN_WORD.finditer(text)
                if word.end() - word.start() <= LONGEST_WORD
            ]
        tokens: list[Token] = []
        for piece in _PIECE.finditer(text):
            if piece.lastgroup == "run":
                tokens.extend(self._cut(piece.start(), piece.group()))
            elif piece.lastgroup == "word" and piece.end() - piece.start() <= LONGEST_WORD:
                form = piece.group().lower()
                tokens.append(Token(piece.start(), piece.end(), form, self._stem(form, language)))
        return tokens

    def content(self, text: str) -> list[Token]:
        """Return the words that carry meaning: no function words, numbers or single letters."""
        return self.sorted_tokens(text)[0]

    def sorted_tokens(self, text: str) -> tuple[list[Token], list[Token]]:
        """Return the words that carry meaning, and the function words, each in order; numbers are in neither list."""
        stop = stop_words(self.own_language_of(text))
        content: list[Token] = []
        function: list[Token] = []
        for token in self.tokens(text):
            if token.form in stop:
                function.append(token)
            elif _carries_meaning(token.form):
                content.append(token)
        return content, function

    def language_of(self, text: str) -> str | None:
        """Return the language of most texts in this script, None if it is not known."""
        return self._languages.get(script_of(text) or "")

    def own_language_of(self, text: str) -> str | None:
        """Return the language of a text if it is common in the corpus, else that of most texts in this script."""
        language = detect_language(text)
        return language if language in self._common else self.language_of(text)

    def _cut(self, offset: int, run: str) -> Iterable[Token]:
        for start, end in self._lexicon.cut(run):
            form = run[start:end]
            yield Token(offset + start, offset + end, form, form)

    def _stem(self, form: str, language: str | None) -> str:
        known = self._stems[language]
        if form not in known:
            known[form] = stems([form], language)[0]
        return known[form]


def _is_simple(text: str) -> bool:
    """Return whether the words of a text are those of ``_PLAIN_WORD``."""
    return is_plain(text) and not any(mark in text for mark in _ADDRESS_MARKS)


@lru_cache(maxsize=2**16)
def _carries_meaning(form: str) -> bool:
    return len(clusters(form)) > 1 and _LETTER.search(form) is not None


def _runs(text: str) -> list[str]:
    if not may_be_spaceless(text):
        return []
    return [piece.group() for piece in _PIECE.finditer(text) if piece.lastgroup == "run"]


def _languages_by_script(texts: Iterable[str]) -> dict[str, Counter[str]]:
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        script = script_of(text)
        language = detect_language(text)
        if script is not None and language is not None:
            votes[script][language] += 1
    return votes
