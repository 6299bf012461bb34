"""Users' queries of a log, fit for a gold set: without those that hold personal data, drawn from head, torso and tail.

The rules for personal data are ``personal_data.RULES``. They are rules and no guarantee: look through the queries of a
set before you give it away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from goldbench.errors import InputError
from goldbench.formats.query_logs import Log, LoggedQuery
from goldbench.stages.log_sample import Band, BandCount, UsersQuery, draw_sample
from goldbench.text.personal_data import PersonNames, personal_data


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


def draw_users_queries(log: Log, count: int, *, names: Iterable[str] = (), seed: int = 0) -> UsersQueries:
    """Return queries of a log: those with personal data left out, the rest drawn by the shares of its bands.

    Args:
        log: The log.
        count: Queries to draw, 1 or more; all are given if there are fewer.
        names: Names of people; queries that hold one are left out.

    Raises:
        InputError: Every query of the log holds personal data.
    """
    known = PersonNames.of(names)
    fitting: dict[str, LoggedQuery] = {}
    personal: Counter[str] = Counter()
    left_out = 0
    for key, logged in log.queries.items():
        rule = personal_data(logged.text, known)
        if rule is None:
            fitting[key] = logged
        else:
            personal[rule] += 1
            left_out += logged.count
    if not fitting:
        raise InputError(log.name, "every query holds personal data, so none is left")
    sample = draw_sample({key: logged.count for key, logged in fitting.items()}, count, seed=seed)
    drawn = (replace(query, text=fitting[query.text].text) for query in sample.queries)
    return UsersQueries(
        queries=tuple(drawn),
        searches=log.lines,
        distinct=len(log.queries),
        personal=dict(sorted(personal.items())),
        personal_searches=left_out,
        skipped=dict(sorted(log.passed_over.items())),
        bands=sample.bands,
    )
