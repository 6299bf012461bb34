"""Headings and FAQ questions as queries: words that a person wrote about a text and that the text does not repeat.

They are held out of every passage of the document that has them, as part of its title or as a line: of 205 headings of
150 Markdown files, BM25 found such a sibling first for 101 where only the source lost the heading, and then for 42.
"""

from __future__ import annotations

import numpy as np
import regex

from goldbench.offline.analysis import Analysis
from goldbench.offline.constraints_kept import fitted_sentence, one_line, without_numbering
from goldbench.offline.corpus_sample import Pool
from goldbench.offline.recipes import Draft, Passage
from goldbench.offline.stretches import heaviest_piece
from goldbench.ports import Brief
from goldbench.records.corpus import Chunk
from goldbench.records.query import Recipe
from goldbench.text.draws import key_of
from goldbench.text.title_path import title_path, titled
from goldbench.text.words import terms

BUCKETS = 2**20
"""Size of the tables of headings."""
HIGHEST_OVERLAP = 0.6
"""Highest share of a heading's content words that may stand in the text below it, 0 to 1."""
COMMON = 0.1
"""Share of chunks, 0 to 1, above which a word is too common to make a heading specific."""
_FILE_NAME = regex.compile(r"[_/\\]|\.\w{1,5}$")
_QUESTION = regex.compile(r"[?？؟;]\s*$")


class Headings:
    """The headings that occur once in the corpus, and the first chunk below each.

    The tables have a fixed size: two headings in one bucket exclude each other, which loses a few headings and never
    accepts a wrong one.
    """

    def __init__(self) -> None:
        self._owner = np.zeros(BUCKETS, dtype=np.uint64)
        self._several = np.zeros(BUCKETS, dtype=bool)
        self._first = np.zeros(BUCKETS, dtype=np.uint32)

    def add(self, chunk: Chunk) -> None:
        """Add the heading of a chunk."""
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
        """Return whether the chunk's heading occurs once and the chunk is the first below it."""
        bucket, owner = key_of(_normalised(_name(chunk))) % BUCKETS, _owner(chunk)
        alone = bool(self._owner[bucket] == owner) and not self._several[bucket]
        return alone and int(self._first[owner % BUCKETS]) == chunk.span.start + 1

    def draft(self, brief: Brief, passage: Passage, *, analysis: Analysis, pool: Pool) -> Draft | None:
        """Return the heading of a chunk as a query, None if it is not a good one.

        It must say something specific (two content words, at least one of them rare in the corpus, not a file name),
        occur once in the corpus, and not be repeated in the text, neither as a whole nor by most of its words. A
        question may share its words with the answer, as people's questions do.

        Args:
            brief: The chunk and the user's constraints.
            passage: The chunk's text, cut into words.
            analysis: Cuts the heading into words.
            pool: The sampled chunks.
        """
        name = without_numbering(one_line(_name(brief.chunk)))
        text = fitted_sentence(name, brief.constraints)
        held_out = tuple(part for part in (brief.chunk.title, *brief.chunk.headings) if _occurs(name, part))
        if text is None or _FILE_NAME.search(name) or not self.leads(brief.chunk):
            return None
        if _occurs(name, titled(title_path(brief.chunk, held_out), passage.text)):
            return None
        stems = {token.stem for token in analysis.content(name)}
        shared = stems & set(passage.counts())
        if len(stems) < 2 or all(pool.share(stem) > COMMON for stem in stems):
            return None
        if not _QUESTION.search(name) and not 0 < len(shared) <= HIGHEST_OVERLAP * len(stems):
            return None
        evidence = heaviest_piece(passage.text, passage.tokens, {stem: pool.idf(stem) for stem in shared})
        return Draft(text, Recipe.HEADING, evidence, masked_titles=held_out)


def _name(chunk: Chunk) -> str:
    return chunk.headings[-1] if chunk.headings else chunk.title


def _owner(chunk: Chunk) -> int:
    return key_of(chunk.span.doc_id, *(chunk.headings or (chunk.title,))) or 1


def _normalised(name: str) -> str:
    return " ".join(terms(name))


def _occurs(name: str, text: str) -> bool:
    return f" {_normalised(name)} " in f" {_normalised(text)} "
