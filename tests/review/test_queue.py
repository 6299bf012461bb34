"""The queue: who is drawn, with which probability, in which order."""

from __future__ import annotations

import random
from collections import Counter
from itertools import groupby, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldbench.records.judgment import Canary, Judgment, Origin, PooledPair
from goldbench.records.relevance import Relevance
from goldbench.records.review_event import Lane
from goldbench.review.queue import QueueSettings, likely_errors, make_queue


def _pool(queries: int, passages: int) -> list[PooledPair]:
    return [
        PooledPair(
            query_id=f"q{q}", chunk_id=f"c{q}-{c}", ranks={"bm25": c + 1}, origin=Origin.SOURCE if c == 0 else None
        )
        for q in range(queries)
        for c in range(passages)
    ]


def _said(pool: list[PooledPair], seed: int = 1) -> list[Judgment]:
    draw = random.Random(seed)
    return [
        Judgment(
            query_id=one.query_id,
            chunk_id=one.chunk_id,
            relevance=Relevance(draw.choices(range(4), [6, 3, 1, 1])[0]),
            assessor=name,
        )
        for one in pool
        for name in ("a", "b")
    ]


POOL = _pool(100, 30)
SAID = _said(POOL)


def _by_pair(judgments: list[Judgment]) -> dict[tuple[str, str], list[Judgment]]:
    found: dict[tuple[str, str], list[Judgment]] = {}
    for one in judgments:
        found.setdefault((one.query_id, one.chunk_id), []).append(one)
    return found


ITEMS = make_queue(POOL, SAID, settings=QueueSettings())
SCORES = likely_errors(POOL, _by_pair(SAID))
SAMPLE = [item for item in ITEMS if item.lane is Lane.CALIBRATION]


def test_every_pair_is_in_the_queue_once() -> None:
    assert Counter(item.pair for item in ITEMS) == Counter((one.query_id, one.chunk_id) for one in POOL)


def test_the_queue_depends_on_no_order_of_what_it_is_made_of() -> None:
    shuffled, told = list(POOL), list(SAID)
    random.Random(3).shuffle(shuffled)
    random.Random(4).shuffle(told)
    assert make_queue(shuffled, told, settings=QueueSettings()) == ITEMS
    assert make_queue(POOL, SAID, settings=QueueSettings(seed=1)) != ITEMS


def test_lane_a_is_dealt_to_the_judges_grades_over_many_queries() -> None:
    assert Counter(item.stratum for item in SAMPLE) == {"2-3": 80, "1": 60, "0": 60}
    assert len({item.query_id for item in SAMPLE}) >= 50


def test_inclusion_is_the_share_of_its_stratum_that_was_drawn() -> None:
    estimated = Counter()
    for item in SAMPLE:
        estimated[item.stratum] += 1 / item.inclusion
    assert sum(estimated.values()) == pytest.approx(len(POOL))


def test_the_first_sixty_are_of_lane_a_and_then_one_in_three() -> None:
    lanes = [item.lane for item in ITEMS]
    assert set(lanes[:60]) == {Lane.CALIBRATION}
    last = max(i for i, lane in enumerate(lanes) if lane is Lane.CALIBRATION)
    share = lanes[62:last].count(Lane.CALIBRATION) / (last - 62)
    assert share == pytest.approx(1 / 3, abs=0.06)


def test_passages_of_a_query_come_together_and_in_no_order_of_ranks() -> None:
    complete = [item for item in ITEMS if item.lane is Lane.COMPLETE]
    groups = [list(group) for _, group in groupby(complete, key=lambda item: item.query_id)]
    assert len(groups) == 20
    assert all(len(group) > 20 for group in groups)
    ranks = [[int(item.chunk_id.partition("-")[2]) for item in group] for group in groups]
    assert all(order != sorted(order) for order in ranks)


def test_the_likeliest_errors_come_first() -> None:
    lane = [SCORES[item.pair] for item in ITEMS if item.lane is Lane.ERRORS]
    bands = [lane[i : i + 30] for i in range(0, len(lane), 30)]
    assert all(min(one) >= max(following) for one, following in pairwise(bands))


def test_what_users_clicked_comes_first_where_nobody_judged_and_sooner_where_the_judge_says_no() -> None:
    pool = [
        PooledPair(query_id="q", chunk_id="clicked", origin=Origin.FEEDBACK),
        PooledPair(query_id="q", chunk_id="ranked", ranks={"x": 1}),
        PooledPair(query_id="q", chunk_id="refused", origin=Origin.FEEDBACK),
        PooledPair(query_id="q", chunk_id="praised", origin=Origin.FEEDBACK),
    ]
    said = [
        Judgment(query_id="q", chunk_id="refused", relevance=Relevance(0), assessor="a"),
        Judgment(query_id="q", chunk_id="praised", relevance=Relevance(2), assessor="a"),
    ]
    assert likely_errors(pool, _by_pair(said)) == {
        ("q", "clicked"): pytest.approx(1.0),
        ("q", "ranked"): pytest.approx(0.3),
        ("q", "refused"): pytest.approx(0.5),
        ("q", "praised"): pytest.approx(0.5),
    }


@settings(max_examples=40)
@given(share=st.integers(0, 100), passages=st.integers(1, 12))
def test_exactly_the_share_is_for_two_people(share: int, passages: int) -> None:
    pool = _pool(5, passages)
    items = make_queue(pool, [], settings=QueueSettings(overlap=share / 100))
    assert sum(item.wanted == 2 for item in items) == 5 * passages * share // 100


def test_a_pool_without_grades_is_one_stratum() -> None:
    items = make_queue(_pool(40, 10), [], settings=QueueSettings(calibration=100, lanes=frozenset("A")))
    assert {(item.stratum, item.inclusion) for item in items} == {("ungraded", 0.25)}


def test_a_near_duplicate_that_shares_a_grade_is_not_shown() -> None:
    pool = [*_pool(1, 2), PooledPair(query_id="q0", chunk_id="copy", shared_from="c0-1")]
    assert "copy" not in {item.chunk_id for item in make_queue(pool, [], settings=QueueSettings())}


def test_judgments_of_planted_pairs_count_for_nothing() -> None:
    planted = [one.model_copy(update={"relevance": Relevance(3), "canary": Canary.QUERY_WORDS}) for one in SAID[:200]]
    assert make_queue(POOL, [*SAID, *planted], settings=QueueSettings()) == ITEMS
