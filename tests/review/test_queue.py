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
from goldbench.review.likely_errors import CheckedPair, error_size, suspects
from goldbench.review.queue import Item, Queue, QueueSettings


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


def _by_pair(said: list[Judgment]) -> dict[tuple[str, str], list[Judgment]]:
    found: dict[tuple[str, str], list[Judgment]] = {}
    for one in said:
        found.setdefault((one.query_id, one.chunk_id), []).append(one)
    return found


ITEMS = Queue(POOL, SAID, settings=QueueSettings()).items
SUSPECTS = suspects(POOL, _by_pair(SAID))
SAMPLE = [item for item in ITEMS if item.lane is Lane.CALIBRATION]


def test_every_pair_is_in_the_queue_once() -> None:
    assert Counter(item.pair for item in ITEMS) == Counter((one.query_id, one.chunk_id) for one in POOL)


def test_the_queue_depends_on_no_order_of_what_it_is_made_of() -> None:
    shuffled, told = list(POOL), list(SAID)
    random.Random(3).shuffle(shuffled)
    random.Random(4).shuffle(told)
    assert Queue(shuffled, told, settings=QueueSettings()).items == ITEMS
    assert Queue(POOL, SAID, settings=QueueSettings(seed=1)).items != ITEMS


def test_lane_a_is_dealt_to_the_judges_grades_over_many_queries() -> None:
    assert Counter(item.stratum for item in SAMPLE) == {"2-3": 80, "1": 60, "0": 60}
    assert len({item.query_id for item in SAMPLE}) >= 50


def test_inclusion_is_the_share_of_its_stratum_that_was_drawn() -> None:
    estimated = Counter()
    for item in SAMPLE:
        estimated[item.stratum] += 1 / item.inclusion
    assert sum(estimated.values()) == pytest.approx(len(POOL))


def test_every_pair_is_drawn_as_often_as_its_inclusion_says() -> None:
    pool = _pool(12, 5)
    said = _said(pool)
    drawn: Counter[tuple[str, str]] = Counter()
    for seed in range(400):
        drawing = QueueSettings(calibration=20, seed=seed, lanes=frozenset("A"), overlap=0)
        found = Queue(pool, said, settings=drawing).items
        drawn.update(item.pair for item in found)
        chance = {item.stratum: item.inclusion for item in found}
    grades = {item.pair: item.stratum for item in Queue(pool, said, settings=QueueSettings(calibration=60)).items}
    for pair, times in drawn.items():
        expected = chance[grades[pair]]
        assert abs(times / 400 - expected) < 5 * (expected * (1 - expected) / 400) ** 0.5 + 1e-9


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
    scores = SUSPECTS.by_fixed_weights()
    lane = [scores[item.pair] for item in ITEMS if item.lane is Lane.ERRORS]
    bands = [lane[i : i + 30] for i in range(0, len(lane), 30)]
    assert all(min(one) >= max(following) for one, following in pairwise(bands))


def test_the_score_adds_up_what_speaks_for_an_error() -> None:
    pool = [
        PooledPair(query_id="q", chunk_id="source", origin=Origin.SOURCE),
        PooledPair(query_id="q", chunk_id="other"),
        PooledPair(query_id="q", chunk_id="ranked", ranks={"x": 1}),
    ]
    said = [
        Judgment(query_id="q", chunk_id="source", relevance=Relevance(1), assessor="a", capped=True),
        Judgment(query_id="q", chunk_id="other", relevance=Relevance(3), assessor="a"),
        Judgment(query_id="q", chunk_id="other", relevance=Relevance(2), assessor="b"),
        Judgment(query_id="q", chunk_id="ranked", relevance=Relevance(0), assessor="a"),
    ]
    scores = suspects(pool, _by_pair(said), covers={("q", "other"): 0.9}).by_fixed_weights()
    assert scores["q", "source"] == pytest.approx(0.8 + 0.3)
    assert scores["q", "other"] == pytest.approx(1 / 3 + 0.5 + 0.4)
    assert scores["q", "ranked"] == pytest.approx(0.3)


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
    assert suspects(pool, _by_pair(said)).by_fixed_weights() == {
        ("q", "clicked"): pytest.approx(1.0),
        ("q", "ranked"): pytest.approx(0.3),
        ("q", "refused"): pytest.approx(0.5),
        ("q", "praised"): pytest.approx(0.5),
    }


@settings(max_examples=40)
@given(share=st.integers(0, 100), passages=st.integers(1, 12))
def test_exactly_the_share_is_for_two_people(share: int, passages: int) -> None:
    pool = _pool(5, passages)
    items = Queue(pool, [], settings=QueueSettings(overlap=share / 100)).items
    assert sum(item.wanted == 2 for item in items) == 5 * passages * share // 100


def test_a_pool_without_grades_is_one_stratum() -> None:
    items = Queue(_pool(40, 10), [], settings=QueueSettings(calibration=100, lanes=frozenset("A"))).items
    assert {(item.stratum, item.inclusion) for item in items} == {("ungraded", 0.25)}


def test_a_near_duplicate_that_shares_a_grade_is_not_shown() -> None:
    pool = [*_pool(1, 2), PooledPair(query_id="q0", chunk_id="copy", shared_from="c0-1")]
    assert "copy" not in {item.chunk_id for item in Queue(pool, [], settings=QueueSettings()).items}


def test_judgments_of_planted_pairs_count_for_nothing() -> None:
    planted = [one.model_copy(update={"relevance": Relevance(3), "canary": Canary.QUERY_WORDS}) for one in SAID[:200]]
    assert Queue(POOL, [*SAID, *planted], settings=QueueSettings()).items == ITEMS


def test_an_error_is_the_wrong_side_of_relevant_first_and_then_how_far_off() -> None:
    sizes = [error_size(Relevance(judge), Relevance(people)) for judge, people in [(3, 0), (2, 1), (0, 1), (3, 3)]]
    assert sizes == pytest.approx([1.0, 7 / 9, 1 / 9, 0.0])
    assert error_size(None, Relevance(2)) == error_size(Relevance(0), Relevance(2))


STERN = {0: 0.3, 1: 0.45, 2: 0.15, 3: 0.05}
"""The error rates by grade of a judge whose errors are where the fixed weights look last."""


def _share_in_first_fifth(order: tuple[Item, ...], wrong: dict[tuple[str, str], bool]) -> float:
    lane = [item.pair for item in order if item.lane is Lane.ERRORS]
    return sum(map(wrong.__getitem__, lane[: len(lane) // 5])) / sum(map(wrong.__getitem__, lane))


def test_sixty_judged_pairs_mend_an_order_that_is_worse_than_chance() -> None:
    said = [one for one in SAID if one.assessor == "a"]
    queue, grades = Queue(POOL, said, settings=QueueSettings()), suspects(POOL, _by_pair(said)).grades
    drawn = [item for item in queue.items if item.lane is Lane.CALIBRATION]
    before, after = [], []
    for seed in range(5):
        draw = random.Random(seed)
        wrong = {pair: draw.random() < STERN[grade] for pair, grade in sorted(grades.items())}
        people = {pair: Relevance(2 if (grades[pair] >= 2) != wrong[pair] else 0) for pair in wrong}
        sample = [CheckedPair(item.pair, people[item.pair], item.inclusion or 1) for item in drawn[:60]]
        before.append(_share_in_first_fifth(queue.items, wrong))
        after.append(_share_in_first_fifth(queue.renewed(sample), wrong))
    assert sum(before) / 5 < 0.18
    assert sum(after) / 5 > 0.25


def test_a_renewed_queue_changes_the_order_of_lane_b_alone() -> None:
    queue = Queue(POOL, SAID, settings=QueueSettings())
    renewed = queue.renewed([CheckedPair(item.pair, Relevance(3), item.inclusion or 1) for item in SAMPLE[:60]])
    assert {item.pair: item for item in renewed} == {item.pair: item for item in ITEMS}
    assert len(renewed) == len(ITEMS)
    for lane in (Lane.CALIBRATION, Lane.COMPLETE):
        assert [item for item in renewed if item.lane is lane] == [item for item in ITEMS if item.lane is lane]
    assert renewed != ITEMS
    assert queue.renewed([]) == ITEMS


@settings(max_examples=30, deadline=None)
@given(grades=st.lists(st.integers(0, 3), min_size=1, max_size=200), inclusion=st.floats(0.001, 1))
def test_whatever_people_say_every_pair_has_a_score(grades: list[int], inclusion: float) -> None:
    drawn = zip(SAMPLE, grades, strict=False)
    sample = [CheckedPair(item.pair, Relevance(grade), inclusion) for item, grade in drawn]
    scores = SUSPECTS.by_error_rates([*sample, CheckedPair(("nobody", "nowhere"), Relevance(3))])
    assert len(scores) == len(POOL)
    assert all(0 < score <= 1.3 for score in scores.values())
