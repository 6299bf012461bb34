"""Headings and FAQ questions as queries: words a person wrote about a text, where the text does not repeat them."""

from __future__ import annotations

import numpy as np
import regex

from pipeline.offline.analysis import Analysis
from pipeline.offline.constraints_kept import fitted_sentence, one_line, without_numbering
from pipeline.offline.corpus_sample import Pool
from pipeline.offline.recipes import Draft, Passage
from pipeline.offline.stretches import heaviest_piece
from pipeline.text.draws import key_of
from pipeline.text.words import terms
from schemas.corpus import Chunk
from schemas.query import Constraints, Recipe

BUCKETS = 2**20
HIGHEST_OVERLAP = 0.6
"""Largest share of a heading's content words that may stand in the text below it."""
COMMON = 0.1
"""A word that occurs in this share of the chunks does not make a heading specific."""
_FILE_NAME = regex.compile(r"[_/\\]|\.\w{1,5}$")
_QUESTION = regex.compile(r"[?？؟;]\s*$")


class Headings:
    """Which headings are the only ones of their words in the corpus, and which chunk stands first below each.

    Kept in tables of fixed size: two headings that fall into one bucket spoil each other, which loses a few and lets
    none pass that should not.
    """

    def __init__(self) -> None:
        self._owner = np.zeros(BUCKETS, dtype=np.uint64)
        self._several = np.zeros(BUCKETS, dtype=bool)
        self._first = np.zeros(BUCKETS, dtype=np.uint32)

    def add(self, chunk: Chunk) -> None:
        """Consider the heading of one chunk."""
        name, owner = _name(chunk), _owner(chunk)
        if not name:
            return
        bucket = key_of(_normalised(name)) % BUCKETS
        if self._owner[bucket] == 0:
            self._owner[bucket] = owner
        elif self._owner[bucket] != owner:
            self._several[bucket] = True
        place = min(chunk.span.start, 2**32 - 2) + 1
        bucket = owner % BUCKETS
        if self._first[bucket] == 0 or place < self._first[bucket]:
            self._first[bucket] = place

    def leads(self, chunk: Chunk) -> bool:
        """Whether the chunk's heading is the only one of its words and the chunk the first below it."""
        bucket, owner = key_of(_normalised(_name(chunk))) % BUCKETS, _owner(chunk)
        alone = bool(self._owner[bucket] == owner) and not self._several[bucket]
        return alone and int(self._first[owner % BUCKETS]) == chunk.span.start + 1


def heading_draft(
    chunk: Chunk, passage: Passage, *, headings: Headings, analysis: Analysis, pool: Pool, constraints: Constraints
) -> Draft | None:
    """Return the chunk's heading as a query, None where it is no good one.

    It must say something specific (two content words, at least one of them not common in the corpus, and no file
    name), occur once in the corpus, and not be repeated in the text, as a whole or by most of its words. A question
    may share its words with the answer: that is how people ask.
    """
    name = without_numbering(one_line(_name(chunk)))
    text = fitted_sentence(name, constraints)
    if text is None or _FILE_NAME.search(name) or not headings.leads(chunk) or _occurs(name, passage.text):
        return None
    stems = {token.stem for token in analysis.content(name)}
    shared = stems & set(passage.counts())
    if len(stems) < 2 or all(pool.share(stem) > COMMON for stem in stems):
        return None
    if not _QUESTION.search(name) and not 0 < len(shared) <= HIGHEST_OVERLAP * len(stems):
        return None
    evidence = heaviest_piece(passage.text, passage.tokens, {stem: pool.idf(stem) for stem in shared})
    return Draft(text, Recipe.HEADING, evidence)


def _name(chunk: Chunk) -> str:
    return chunk.headings[-1] if chunk.headings else chunk.title


def _owner(chunk: Chunk) -> int:
    return key_of(chunk.span.doc_id, *(chunk.headings or (chunk.title,))) or 1


def _normalised(name: str) -> str:
    return " ".join(terms(name))


def _occurs(name: str, text: str) -> bool:
    return f" {_normalised(name)} " in f" {_normalised(text)} "
