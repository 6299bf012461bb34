"""A sample of the queries of a log, drawn from its head, torso and tail.

Reads: how often each query was asked, a seed. Writes: the queries drawn, and what they stand
for in the log.
Fails: never; where a band holds fewer queries than its share, the others give the rest.

The *head* are the queries asked most often that together make up the first third of all searches, the *torso* those of
the second third, the *tail* the rest and every query that was asked only once. Queries asked equally often stay in one
band. That rare queries are those asked once follows Downey, Dumais and Horvitz (2007), "Heads and Tails: studies of web
search with common and rare queries"; the thirds are goldbench's own choice.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from goldbench.text.draws import Draws
from goldbench.text.shares import quotas


class Band(StrEnum):
    """The part of a log's traffic that a query belongs to."""

    HEAD = "head"
    TORSO = "torso"
    TAIL = "tail"


SHARES: Mapping[Band, float] = {Band.HEAD: 0.3, Band.TORSO: 0.4, Band.TAIL: 0.3}
"""The share of each band in a sample."""


@dataclass(frozen=True, slots=True)
class UsersQuery:
    """A query of the sample: how often it was asked, its band, and the searches of the log that it stands for.

    ``traffic`` shares the searches of its band among the queries drawn from it, by their frequency; over a whole sample
    it adds up to the searches of all bands that were drawn from.
    """

    text: str
    frequency: int
    band: Band
    traffic: float


@dataclass(frozen=True, slots=True)
class BandCount:
    """A band: its distinct queries, its searches, and how many queries were drawn from it."""

    queries: int
    searches: int
    drawn: int


@dataclass(frozen=True, slots=True)
class LogSample:
    """The queries drawn, the most frequent first, and the count of every band."""

    queries: tuple[UsersQuery, ...]
    bands: dict[Band, BandCount]


def bands_of(frequencies: Mapping[str, int]) -> dict[str, Band]:
    """Return the band of each query.

    Args:
        frequencies: How often each query was asked, 1 or more.
    """
    total = sum(frequencies.values())
    bands: dict[str, Band] = {}
    before = 0
    ordered = sorted(frequencies, key=lambda query: (-frequencies[query], query))
    for frequency, equal in itertools.groupby(ordered, key=frequencies.__getitem__):
        queries = list(equal)
        if frequency == 1 or 3 * before >= 2 * total:
            band = Band.TAIL
        else:
            band = Band.HEAD if 3 * before < total else Band.TORSO
        bands.update(dict.fromkeys(queries, band))
        before += frequency * len(queries)
    return bands


def draw_sample(frequencies: Mapping[str, int], count: int, *, seed: int = 0) -> LogSample:
    """Return queries of a log, drawn by the shares of head, torso and tail.

    Within a band every query is as likely as any other. Each has a place of its own in the draw, made of the seed and
    its text, so a log that grows a little gives nearly the same sample.

    Args:
        frequencies: How often each query was asked, 1 or more, by its folded text.
        count: Queries to draw, 0 or more; all are given if the log holds fewer.
        seed: Another seed draws other queries.
    """
    bands: dict[Band, list[str]] = {band: [] for band in Band}
    for query, band in bands_of(frequencies).items():
        bands[band].append(query)
    wanted = _counts({band: len(queries) for band, queries in bands.items()}, count)
    draws = Draws("log sample", seed)
    drawn: list[UsersQuery] = []
    counted: dict[Band, BandCount] = {}
    for band, queries in bands.items():
        chosen = draws.race("query", dict.fromkeys(queries, 1.0), wanted[band])
        searches = sum(frequencies[query] for query in queries)
        held = sum(frequencies[query] for query in chosen)
        drawn += [UsersQuery(query, frequencies[query], band, searches * frequencies[query] / held) for query in chosen]
        counted[band] = BandCount(len(queries), searches, len(chosen))
    return LogSample(tuple(sorted(drawn, key=lambda query: (-query.frequency, query.text))), counted)


def _counts(held: Mapping[Band, int], count: int) -> dict[Band, int]:
    """Return how many queries to draw from each band; what a band lacks goes to the others by their shares."""
    left = min(count, sum(held.values()))
    counts = dict.fromkeys(held, 0)
    while left:
        open_shares = {band: share for band, share in SHARES.items() if counts[band] < held[band]}
        for band, part in quotas(open_shares, left).items():
            added = min(part, held[band] - counts[band])
            counts[band] += added
            left -= added
    return counts
