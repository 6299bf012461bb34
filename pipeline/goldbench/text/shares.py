"""Shares made into exact numbers, and the numbers of kinds handed out to passages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from goldbench.text.draws import number_of

S = TypeVar("S", bound=str)


def quotas(shares: Mapping[S, float] | Mapping[S, Fraction], count: int) -> dict[S, int]:
    """Return how many of ``count`` queries each name gets: whole numbers that add up, nearest to the shares.

    The method of largest remainders; of equal remainders the name with the larger share comes first, then the lesser
    name. Names with a share of 0 are left out.

    Args:
        shares: Share of each name, as a kind of question; 0 or more, they need not add up to 1.
        count: How many queries there are, 0 or more.
    """
    wanted = {kind: share for kind, share in shares.items() if share > 0}
    total = math.fsum(wanted.values())
    exact = {kind: count * share / total for kind, share in wanted.items()}
    numbers = {kind: math.floor(value + 1e-9) for kind, value in exact.items()}
    by_rest = sorted(wanted, key=lambda kind: (numbers[kind] - exact[kind], -wanted[kind], str(kind)))
    for kind in by_rest[: count - sum(numbers.values())]:
        numbers[kind] += 1
    return numbers


def allotted(chunk_ids: Sequence[str], missing: Mapping[S, int], *, seed: int) -> list[S]:
    """Return the kind to ask for about each chunk, in the proportions of what is missing.

    The chunks are put in an order that their ids and the seed decide, and each kind takes a stretch of it. So another
    chunk among them changes at most one of the others per kind: the one at the end of the kind's stretch.

    Args:
        chunk_ids: Ids of the chunks.
        missing: How many queries of each kind are missing, at least one in all.
        seed: Seed of the run.
    """
    room = quotas(missing, len(chunk_ids))
    in_order = sorted(chunk_ids, key=lambda chunk_id: (number_of(seed, "quota", chunk_id), chunk_id))
    kinds = (kind for kind in sorted(room, key=str) for _ in range(room[kind]))
    kind_of = dict(zip(in_order, kinds, strict=True))
    return [kind_of[chunk_id] for chunk_id in chunk_ids]
