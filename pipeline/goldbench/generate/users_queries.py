"""Users' queries of a log, fit for a gold set: without those that hold personal data, drawn from head, torso and tail.

The rules for personal data are ``personal_data.RULES``. They are rules and no guarantee: look through the queries of a
set before you give it away.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import fsum

from goldbench.errors import InputError, UsageError
from goldbench.formats.query_logs import Asked, Log
from goldbench.stages.log_sample import Band, BandCount, UsersQuery, draw_sample
from goldbench.text.display import shown
from goldbench.text.personal_data import Names, personal_data

_SHARE = re.compile(r"(head|torso|tail)\s*=\s*(\d{1,9}(?:\.\d{1,9})?)")


@dataclass(frozen=True, slots=True)
class UsersQueries:
    """The queries drawn from a log, the most frequent first, and what the log held.

    ``searches`` and ``distinct`` count the whole log. ``personal`` counts the queries left out by rule,
    ``personal_searches`` how often they were asked; ``skipped`` counts the lines that are no query by reason.
    """

    queries: tuple[UsersQuery, ...]
    searches: int
    distinct: int
    personal: Mapping[str, int]
    personal_searches: int
    skipped: Mapping[str, int]
    bands: Mapping[Band, BandCount]


def draw_users_queries(
    log: Log, count: int, *, names: Iterable[str] = (), shares: Mapping[Band, float] | None = None, seed: int = 0
) -> UsersQueries:
    """Return queries of a log: those with personal data left out, the rest drawn by the shares of its bands.

    Args:
        log: The log.
        count: Queries to draw, 1 or more; all are given if there are fewer.
        names: Names of people; queries that hold one are left out.

    Raises:
        InputError: Every query of the log holds personal data.
    """
    known = Names.of(names)
    kept: dict[str, Asked] = {}
    personal: Counter[str] = Counter()
    left_out = 0
    for key, asked in log.queries.items():
        rule = personal_data(asked.text, known)
        if rule is None:
            kept[key] = asked
        else:
            personal[rule] += 1
            left_out += asked.count
    if not kept:
        raise InputError(log.name, "every query holds personal data, so none is left")
    sample = draw_sample({key: asked.count for key, asked in kept.items()}, count, shares=shares, seed=seed)
    drawn = (replace(query, text=kept[query.text].text) for query in sample.queries)
    return UsersQueries(
        queries=tuple(drawn),
        searches=log.lines,
        distinct=len(log.queries),
        personal=dict(sorted(personal.items())),
        personal_searches=left_out,
        skipped=dict(sorted(log.passed_over.items())),
        bands=sample.bands,
    )


def parse_band_shares(text: str) -> dict[Band, float]:
    """Return the shares of ``head=0.3,torso=0.4,tail=0.3``; a band that is not named has a share of 0.

    Raises:
        UsageError: It is not such a list, a band is named twice, or the shares do not add up to 1.
    """
    band_shares: dict[Band, float] = {}
    for piece in text.split(","):
        match = _SHARE.fullmatch(piece.strip().lower())
        if match is None:
            raise UsageError(
                f"{shown(piece)!r} is not a share; give as head=0.3,torso=0.4,tail=0.3", parameter="shares"
            )
        band = Band(match[1])
        if band in band_shares:
            raise UsageError(f"{band} is named twice; give each band once", parameter="shares")
        band_shares[band] = float(match[2])
    total = fsum(band_shares.values())
    if abs(total - 1) > 1e-6:
        raise UsageError(f"the shares add up to {total:g}; give shares that add up to 1", parameter="shares")
    return band_shares
