"""A set divided into parts: which queries stay together, and to which part each group goes.

Reads: for each query the keys that it shares with others, and its place in a seeded order. Writes: a part for each.
Fails: never; where the groups do not add up to the numbers asked for, the nearest numbers are given.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

_WINDOW = 64
"""How many queries short of its number a part is filled in order; the rest is chosen so that the number is met."""


@dataclass(frozen=True, slots=True)
class Group:
    """Queries that stay together, as positions; ``size`` counts those that the shares are about."""

    members: tuple[int, ...]
    size: int


def linked(keys: Sequence[Iterable[Hashable]]) -> list[list[int]]:
    """Return the groups of items that share a key, directly or through others; every group in ascending order.

    Args:
        keys: The keys of each item.
    """
    parent = list(range(len(keys)))

    def root(item: int) -> int:
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    holder: dict[Hashable, int] = {}
    for item, named in enumerate(keys):
        for key in named:
            one, other = root(holder.setdefault(key, item)), root(item)
            parent[max(one, other)] = min(one, other)
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for item in range(len(keys)):
        groups[root(item)].append(item)
    return list(groups.values())


def exact_numbers(total: int, shares: Sequence[Fraction]) -> list[int]:
    """Return how many of ``total`` items each share gets, by largest remainder; the first of equal remainders wins."""
    exact = [total * share for share in shares]
    counts = [int(one) for one in exact]
    order = sorted(range(len(shares)), key=lambda place: (counts[place] - exact[place], place))
    for place in order[: total - sum(counts)]:
        counts[place] += 1
    return counts


def allot(groups: Sequence[Group], numbers: Sequence[int]) -> list[int]:
    """Return the part of each group, so that each part gets its number of queries, or as near to it as groups allow.

    The groups come in a seeded order, and the first part takes the first ones. So a group that joins or grows moves
    few others.

    Args:
        groups: The groups, in their seeded order.
        numbers: How many queries each part gets; the last part takes what is left.
    """
    parts = [len(numbers) - 1] * len(groups)
    left = list(range(len(groups)))
    for part, number in enumerate(numbers[:-1]):
        taken = {left[place] for place in _taken([groups[one].size for one in left], number)}
        for one in taken:
            parts[one] = part
        left = [one for one in left if one not in taken]
    return parts


def _taken(sizes: Sequence[int], number: int) -> set[int]:
    """Return positions of sizes that add up to the number, or as near to it as they can, the first ones if possible."""
    taken: set[int] = set()
    missing, place = number, 0
    while place < len(sizes) and missing - sizes[place] >= _WINDOW:
        taken.add(place)
        missing -= sizes[place]
        place += 1
        while place < len(sizes) and sizes[place] > missing:
            place += 1
    chosen, within = [], 0
    for position in range(place, len(sizes)):
        if within > 2 * missing + _WINDOW:
            break
        if sizes[position] <= 2 * missing:
            chosen.append(position)
            within += sizes[position] if sizes[position] <= missing else 0
    return taken | {chosen[one] for one in _nearest([sizes[position] for position in chosen], missing)}


def _nearest(sizes: Sequence[int], number: int) -> set[int]:
    """Return positions whose sizes add up to the reachable sum nearest to the number; of several ways the first.

    Bit n of a sum is set if the sizes from a position to the end can add up to n. Sums are kept for one position of
    each block and made again block by block, so memory grows with the root of the number of sizes.
    """
    limit = (1 << (2 * number + 1)) - 1 if number else 1
    block = math.isqrt(len(sizes)) + 1
    starts = range(0, len(sizes), block)
    sums = 1
    after: dict[int, int] = {}
    for start in reversed(starts):
        after[start] = sums
        sums = _sums(sizes[start : start + block], sums, limit)[0]
    reachable = (one for distance in range(number + 1) for one in (number - distance, number + distance))
    wanted = next(one for one in reachable if sums >> one & 1)
    found: set[int] = set()
    for start in starts:
        within = _sums(sizes[start : start + block], after[start], limit)
        for position, rest in enumerate(within[1:], start):
            size = sizes[position]
            if size and size <= wanted and rest >> (wanted - size) & 1:
                found.add(position)
                wanted -= size
    return found


def _sums(sizes: Sequence[int], after: int, limit: int) -> list[int]:
    """Return what the sizes from each position on can add up to, and last what those after them can.

    Args:
        sizes: The sizes.
        after: What the sizes after them can add up to.
        limit: The bits that are kept.
    """
    sums = [after]
    for size in reversed(sizes):
        sums.append((sums[-1] | sums[-1] << size) & limit)
    return sums[::-1]
