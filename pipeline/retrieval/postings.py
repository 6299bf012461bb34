"""An inverted index in four arrays, built block by block, so that a million passages fit in a few gigabytes."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer[Any]]

_BLOCK = 1 << 22
"""Terms, repetitions counted, that are sorted at a time."""


class _Block(NamedTuple):
    """Which terms stand in which documents how often, sorted by term and document."""

    terms: Ints
    documents: Ints
    counts: Ints


@dataclass(frozen=True, slots=True)
class Postings:
    """For the term of number t: the documents ``documents[starts[t]:starts[t + 1]]``, ascending, and their ``counts``.

    ``lengths`` are the terms of each document.
    """

    vocabulary: dict[str, int]
    starts: Ints
    documents: Ints
    counts: Ints
    lengths: Ints


def postings(texts: Iterable[list[str]]) -> Postings:
    """Return the index of texts that are cut into terms; a document is called by its place."""
    vocabulary: defaultdict[str, int] = defaultdict()
    vocabulary.default_factory = vocabulary.__len__
    lengths = array("i")
    blocks = list(_blocks(texts, vocabulary, lengths))
    frequencies = np.zeros(len(vocabulary), dtype=np.int64)
    for block in blocks:
        frequencies += np.bincount(block.terms, minlength=len(vocabulary))
    starts = np.zeros(len(vocabulary) + 1, dtype=np.int64)
    np.cumsum(frequencies, out=starts[1:])
    documents = np.empty(starts[-1], dtype=np.int32)
    counts = np.empty(starts[-1], dtype=np.int32)
    free = starts[:-1].copy()
    for at, block in enumerate(blocks):
        held = np.bincount(block.terms, minlength=len(vocabulary))
        first = np.cumsum(held) - held
        places = np.arange(len(block.terms)) + np.repeat(free - first, held)
        documents[places], counts[places] = block.documents, block.counts
        free += held
        blocks[at] = _Block(*(np.empty(0, dtype=np.int32),) * 3)  # so that both never lie in memory whole
    return Postings(dict(vocabulary), starts, documents, counts, np.frombuffer(lengths, dtype=np.int32))


def _blocks(texts: Iterable[list[str]], vocabulary: defaultdict[str, int], lengths: array[int]) -> Iterator[_Block]:
    terms = array("i")
    first = 0
    for text in texts:
        terms.extend(map(vocabulary.__getitem__, text))
        lengths.append(len(text))
        if len(terms) >= _BLOCK:
            yield _counted(terms, lengths, first)
            terms, first = array("i"), len(lengths)
    if terms:
        yield _counted(terms, lengths, first)


def _counted(terms: array[int], lengths: array[int], first: int) -> _Block:
    sizes = np.array(lengths[first:], dtype=np.int64)
    places = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    keys = np.frombuffer(terms, dtype=np.int32).astype(np.int64)
    keys *= len(sizes)
    keys += places
    keys.sort()
    new = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(new, append=len(keys))
    keys = keys[new]
    found, places = np.divmod(keys, len(sizes))
    return _Block(found.astype(np.int32), (places + first).astype(np.int32), counts.astype(np.int32))
