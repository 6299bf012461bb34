"""Amounts in words."""

from __future__ import annotations


def amount(count: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun: ``1 query``, ``1,200 queries``; ``many`` is ``one`` with an s unless given."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def queries(count: int) -> str:
    """Return a count of queries."""
    return amount(count, "query", "queries")


def dollars(usd: float) -> str:
    """Return a sum of US dollars, with as many places as show its first two digits: ``$12.3400``, ``$0.000012``."""
    places = 4
    while 0 < usd < 10 ** (1 - places) and places < 12:
        places += 1
    return f"${usd:,.{places}f}"
