"""Passages that give the same answer in a sentence about the same subject: labelled relevant, and marked as derived.

Reads: queries with their answers, chunks. Writes: the chunks that hold an answer, by query.
Fails: never; a query without a written answer has none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from goldbench.records.corpus import Chunk
from goldbench.records.query import Query, QueryKind
from goldbench.text.boundaries import sentence_spans
from goldbench.text.words import content_terms, index_terms, terms

LEAST_TERMS = 2
"""A query with fewer terms that carry meaning, beside those of its answer, says too little about its subject."""

LONGEST = 20
"""Words of the longest answer that is looked for; a longer one is not found word by word in another sentence."""

_OF_THEIR_MOMENT = frozenset({QueryKind.TEMPORAL, QueryKind.CONVERSATIONAL, QueryKind.NOISY})
"""Kinds whose words alone do not tell what is asked: the moment, the earlier turns, the right spelling."""


@dataclass(frozen=True, slots=True)
class _Sought:
    """What a sentence must hold to answer a query: the words of its answer in a row, and the terms of its subject."""

    query_id: str
    answer: tuple[str, ...]
    subject: frozenset[str]
    language: str | None


def same_answers(queries: Sequence[Query], chunks: Iterable[Chunk]) -> dict[str, list[str]]:
    """Return the chunks in which one sentence gives a query's answer word by word and names all that it asks about.

    The sentence, with the titles above it, must hold every term of the query and of its subject that carries meaning.
    The source of a query is among its chunks. Every chunk is read once, whatever the number of queries: its words are
    looked up in a table of the answers.

    Args:
        queries: The queries. Those without an answer, that need several passages or that mean a moment have no chunks.
        chunks: All chunks.
    """
    table: dict[tuple[str, ...], list[_Sought]] = {}
    for sought in filter(None, map(_sought, queries)):
        table.setdefault(sought.answer, []).append(sought)
    lengths: dict[str, set[int]] = {}
    for answer in table:
        lengths.setdefault(answer[0], set()).add(len(answer))
    same: dict[str, list[str]] = {}
    for chunk in chunks if table else ():
        for answer in table.keys() & _runs(terms(chunk.text), lengths):
            for sought in table[answer]:
                if _answers(chunk, sought):
                    same.setdefault(sought.query_id, []).append(chunk.chunk_id)
    return same


def _runs(words: Sequence[str], lengths: Mapping[str, Collection[int]]) -> set[tuple[str, ...]]:
    """Return the runs of words that begin as an answer does and have the length of one."""
    return {
        tuple(words[at : at + length]) for at, word in enumerate(words) if word in lengths for length in lengths[word]
    }


def _sought(query: Query) -> _Sought | None:
    answer = tuple(terms(query.answer or ""))
    if not 1 <= len(answer) <= LONGEST or query.needs or query.kind in _OF_THEIR_MOMENT:
        return None
    answer_terms = set(content_terms(query.answer or "", query.language))
    query_terms = set(content_terms(query.text, query.language)) - answer_terms
    if len(query_terms) < LEAST_TERMS or not answer_terms:
        return None
    subject = set(content_terms(query.subject or "", query.language)) - answer_terms
    return _Sought(query.query_id, answer, frozenset(query_terms | subject), query.language)


def _answers(chunk: Chunk, sought: _Sought) -> bool:
    above = index_terms(" ".join((chunk.title, *chunk.headings)), sought.language)
    for start, end in sentence_spans(chunk.text):
        sentence = chunk.text[start:end]
        holds = sought.answer in _runs(terms(sentence), {sought.answer[0]: (len(sought.answer),)})
        if holds and sought.subject <= above | index_terms(sentence, sought.language):
            return True
    return False
