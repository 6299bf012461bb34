"""Random draws keyed by what they are for, so that a draw never depends on the draws before it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from hashlib import blake2b

_SEPARATOR = b"\x1f"


def key_of(*parts: object) -> int:
    """Return 64 bits that depend on the parts only: the same on every machine, in every process and order."""
    digest = blake2b(digest_size=8)
    for part in parts:
        digest.update(str(part).encode("utf-8", "surrogatepass"))
        digest.update(_SEPARATOR)
    return int.from_bytes(digest.digest(), "big")


class Draws:
    """The random numbers of one query; every number is a function of the key and of its own name."""

    def __init__(self, *key: object) -> None:
        self._base = blake2b(digest_size=8)
        for part in key:
            self._base.update(str(part).encode("utf-8", "surrogatepass"))
            self._base.update(_SEPARATOR)

    def uniform(self, purpose: str, name: str = "") -> float:
        """Return a number above 0 and below 1."""
        digest = self._base.copy()
        digest.update(purpose.encode())
        digest.update(_SEPARATOR)
        digest.update(name.encode("utf-8", "surrogatepass"))
        return ((int.from_bytes(digest.digest(), "big") >> 11) + 0.5) / 2**53

    def race(self, purpose: str, weights: Mapping[str, float], count: int) -> list[str]:
        """Return ``count`` different names (all of them where there are fewer), drawn by weight, first drawn first.

        Each name runs a race of exponential time with its weight as rate, so a name that joins or leaves, or a
        weight that moves a little, seldom changes who else wins.

        Args:
            purpose: What is drawn; other purposes draw independently.
            weights: Names and their weights; names with a weight of 0 never win.
            count: How many to draw.

        Source: Efraimidis and Spirakis (2006), weighted random sampling without replacement, with hashed keys.
        """
        times = [
            (-math.log(self.uniform(purpose, name)) / weight, name) for name, weight in weights.items() if weight > 0
        ]
        return [name for _, name in sorted(times)[:count]]

    def shuffled(self, purpose: str, names: Iterable[str]) -> list[str]:
        """Return the names in random order."""
        weights = dict.fromkeys(names, 1.0)
        return self.race(purpose, weights, len(weights))

    def poisson(self, purpose: str, mean: float) -> int:
        """Return a Poisson number of this mean.

        Source: inversion of the distribution function by sequential search (Devroye 1986, X.3.3).
        """
        left = self.uniform(purpose)
        probability, number = math.exp(-mean), 0
        while left > probability and number < 10 * mean + 20:
            left -= probability
            number += 1
            probability *= mean / number
        return number
