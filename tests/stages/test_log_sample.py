"""Head, torso and tail of a log, and a sample of them that stays when the log grows."""

from __future__ import annotations

import random
from math import fsum

import pytest

from goldbench.stages.log_sample import SHARES, Band, bands_of, draw_sample

THIRDS = {
    f"{band} {number}": asked
    for band, asked, queries in (("head", 100, 3), ("torso", 10, 30), ("tail", 1, 300))
    for number in range(queries)
}


def zipf(count: int) -> dict[str, int]:
    return {f"query {rank}": max(1, 20_000 // rank) for rank in range(1, count + 1)}


def test_each_band_holds_a_third_of_the_searches() -> None:
    bands = bands_of(THIRDS)
    assert all(query.startswith(band) for query, band in bands.items())
    assert bands.keys() == THIRDS.keys()


def test_queries_asked_equally_often_share_a_band_and_those_asked_once_are_the_tail() -> None:
    assert set(bands_of(dict.fromkeys("abcdef", 1)).values()) == {Band.TAIL}
    assert set(bands_of(dict.fromkeys("abcdef", 5)).values()) == {Band.HEAD}
    assert bands_of({"a": 1000, "b": 2, "c": 1}) == {"a": Band.HEAD, "b": Band.TAIL, "c": Band.TAIL}
    assert bands_of({}) == {}


def test_the_sample_has_the_shares_that_were_asked_for() -> None:
    sample = draw_sample(THIRDS, 10)
    assert {band: count.drawn for band, count in sample.bands.items()} == {"head": 3, "torso": 4, "tail": 3}
    assert [one.frequency for one in sample.queries] == sorted((one.frequency for one in sample.queries), reverse=True)
    assert fsum(SHARES.values()) == pytest.approx(1)


def test_what_a_band_lacks_comes_from_the_others_and_nothing_is_drawn_twice() -> None:
    sample = draw_sample(THIRDS, 100)
    assert sample.bands[Band.HEAD].drawn == 3
    assert sum(count.drawn for count in sample.bands.values()) == len({query.text for query in sample.queries}) == 100
    assert len(draw_sample(THIRDS, 10_000).queries) == len(THIRDS)
    assert draw_sample({}, 5).queries == draw_sample(THIRDS, 0).queries == ()


def test_the_traffic_of_a_sample_adds_up_to_the_log() -> None:
    sample = draw_sample(zipf(5_000), 200)
    assert fsum(one.traffic for one in sample.queries) == pytest.approx(sum(zipf(5_000).values()))
    for band in Band:
        drawn = [query for query in sample.queries if query.band is band]
        assert fsum(one.traffic for one in drawn) == pytest.approx(sample.bands[band].searches)
        assert len({round(one.traffic / one.frequency, 9) for one in drawn}) == 1


def test_the_draw_hangs_on_the_seed_and_not_on_the_order_of_the_log() -> None:
    log = zipf(2_000)
    shuffled = list(log.items())
    random.Random(3).shuffle(shuffled)
    assert draw_sample(dict(shuffled), 50, seed=7) == draw_sample(log, 50, seed=7)
    assert draw_sample(log, 50, seed=8) != draw_sample(log, 50, seed=7)


def test_a_log_that_grows_a_little_keeps_most_of_its_sample() -> None:
    before = zipf(2_000)
    after = {query: count + count // 50 for query, count in before.items()} | {f"new {n}": 1 for n in range(20)}
    old, new = ({one.text for one in draw_sample(log, 100).queries} for log in (before, after))
    assert len(old & new) >= 90
