"""The words of several texts as numbers, which processes pass on to each other faster than the words."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class NumberedWords:
    """The words of some texts.

    Args:
        words: The different words.
        numbers: The words of all texts, in order, each the position of a word in ``words``.
        sizes: How many words each text has.
    """

    words: Sequence[str]
    numbers: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int32]

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]]) -> Self:
        """Return the words of texts, which are given as words."""
        known: defaultdict[str, int] = defaultdict()
        known.default_factory = known.__len__
        numbers, sizes = array("i"), array("i")
        for text in texts:
            numbers.extend(map(known.__getitem__, text))
            sizes.append(len(text))
        return cls(list(known), np.frombuffer(numbers, np.int32), np.frombuffer(sizes, np.int32))

    @classmethod
    def joined(cls, parts: Sequence[NumberedWords]) -> Self:
        """Return the words of the texts of all parts, in order."""
        known: defaultdict[str, int] = defaultdict()
        known.default_factory = known.__len__
        numbers, sizes = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
        for part in parts:
            numbers.append(np.fromiter(map(known.__getitem__, part.words), np.int32, len(part.words))[part.numbers])
            sizes.append(part.sizes)
        return cls(list(known), np.concatenate(numbers), np.concatenate(sizes))
