"""Pairs that people judged otherwise than the judge, to be asked about again with an edited rubric."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from goldbench.grade.slots import Answers
from goldbench.records.judgment import Judgment
from goldbench.records.relevance import RELEVANT, settled

Pair = tuple[str, str]
People = Mapping[str, Mapping[str, int]]
"""The grades that people settled, by query and chunk."""


def judgments_by_pair(judgments: Iterable[Judgment]) -> dict[Pair, list[Judgment]]:
    """Return the judgments of each pair that was asked about, without judge checks and shared grades."""
    pairs: dict[Pair, list[Judgment]] = {}
    for judgment in judgments:
        if judgment.canary is None and judgment.shared_from is None:
            pairs.setdefault((judgment.query_id, judgment.chunk_id), []).append(judgment)
    return pairs


def agreement(judgments: Iterable[Judgment], people: People) -> dict[Pair, bool]:
    """Return for each pair that people judged, too, whether both call it relevant or both do not."""
    return {
        (query_id, chunk_id): (settled([item.relevance for item in of_pair]) >= RELEVANT)
        == (people[query_id][chunk_id] >= RELEVANT)
        for (query_id, chunk_id), of_pair in judgments_by_pair(judgments).items()
        if chunk_id in people.get(query_id, {})
    }


def with_earlier(answers: Answers, earlier: Iterable[Judgment], pairs: Collection[Pair]) -> Answers:
    """Return answers in which a pair that got no usable reply keeps its earlier judgments."""
    known = judgments_by_pair(earlier)
    slots = []
    for item in answers.slots:
        pair = item.slot.query.query_id, item.slot.chunk_id
        if not item.judgments and item.slot.planted is None and not item.slot.check and pair in pairs:
            item = replace(item, judgments=tuple(known[pair]))  # noqa: PLW2901  the same pair
        slots.append(item)
    return Answers(slots, answers.failures, answers.limit)
