"""Random draws keyed by their purpose, so that a draw never depends on earlier draws."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from hashlib import blake2b

_SEPARATOR = "\x1f"


def number_of(*parts: object) -> int:
    """Return 64 bits that depend on the parts alone, the same on every machine; the stages draw with these."""
    return _hashed("\0".join(map(str, parts)))


def key_of(*parts: object) -> int:
    """Return 64 bits that depend on the parts alone, the same on every machine; simulated queries use these."""
    return _hashed("".join(f"{part}{_SEPARATOR}" for part in parts))


def _hashed(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


class Draws:
    """The random numbers of one query; every number is a function of the key and of its own name."""

    def __init__(self, *key: object) -> None:
        self._key = "".join(f"{part}{_SEPARATOR}" for part in key)

    def uniform(self, purpose: str, name: str = "") -> float:
        """Return a number above 0 and below 1."""
        return ((_hashed(f"{self._key}{purpose}{_SEPARATOR}{name}") >> 11) + 0.5) / 2**53

    def race(self, purpose: str, weights: Mapping[str, float], count: int) -> list[str]:
        """Return ``count`` different names (all if there are fewer), drawn by weight, in the order of the draws.

        Each name runs a race of exponential time with its weight as rate, so a name that joins or leaves, or a weight
        that changes a little, seldom changes which other names win.

        Args:
            purpose: Name of the draw; draws of different names are independent.
            weights: Names and their weights, 0 or more; names with a weight of 0 never win.
            count: Most names to draw.

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
        """Return a Poisson number with this mean.

        Source: inversion of the distribution function by sequential search (Devroye 1986, X.3.3).
        """
        left = self.uniform(purpose)
        probability = math.exp(-mean)
        number = 0
        while left > probability and number < 10 * mean + 20:
            left -= probability
            number += 1
            probability *= mean / number
        return number
