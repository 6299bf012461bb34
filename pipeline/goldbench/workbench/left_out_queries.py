"""Queries that are not in a set: rejected by a check, left out by grading or review, retired with their documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from goldbench.goldset.folder import GoldFolder
from goldbench.records.query import Candidate
from goldbench.workbench.rule_words import rule_in_words


class LeftOutBy(StrEnum):
    """What left a query out."""

    CHECK = "check"
    GRADING = "grading"
    REVIEW = "review"
    REFRESH = "refresh"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A query that is not in the set, with the passage that it was written from, the rule, and why it broke it.

    ``key`` has a space, which no id of a query has. ``candidate`` is None if no query was proposed.
    """

    key: str
    by: LeftOutBy
    chunk_id: str
    rule: str
    reason: str
    candidate: Candidate | None

    @property
    def words(self) -> str:
        """The rule in words."""
        return rule_in_words(self.rule)


class LeftOutQueries:
    """All of them, by key, and by the passage that they were written from.

    Args:
        home: The folder of the set.

    Raises:
        InputError: A file is damaged.
    """

    def __init__(self, home: GoldFolder) -> None:
        self.by_key = {one.key: one for one in _left_out(home) if one.candidate is not None}
        self.by_chunk: defaultdict[str, list[LeftOut]] = defaultdict(list)
        for one in self.by_key.values():
            self.by_chunk[one.chunk_id].append(one)


def _left_out(home: GoldFolder) -> Iterator[LeftOut]:
    for number, one in enumerate(home.rejections.read_any(), start=1):
        candidate = one.candidate
        yield LeftOut(f"rejected {number}", LeftOutBy.CHECK, one.chunk_id, one.filter, one.reason, candidate)
    for by, records in ((LeftOutBy.GRADING, home.ungraded), (LeftOutBy.REVIEW, home.rejected)):
        for dropped in records.read_any():
            query = dropped.query
            key = f"{by} {query.query_id}"
            yield LeftOut(key, by, query.chunk_id, dropped.filter, dropped.reason, query)
    for retired in home.retired.read_any():
        key = f"{LeftOutBy.REFRESH} {retired.query.query_id}"
        yield LeftOut(key, LeftOutBy.REFRESH, retired.query.chunk_id, "retired", retired.reason, retired.query)
