"""Pools: whoever found a chunk, it is judged once, in an order that shows nobody's rank."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from goldbench.records.judgment import Origin, PooledPair
from goldbench.stages.pool import Reach, pool_query, reach

IDS = st.sampled_from([f"c{number}" for number in range(12)])
RANKING = st.lists(IDS, unique=True, max_size=8)


def alone(chunk_id: str) -> tuple[str, ...]:
    return (chunk_id,)


def by_id(pool: list[PooledPair]) -> dict[str, PooledPair]:
    assert len({row.chunk_id for row in pool}) == len(pool)
    return {row.chunk_id: row for row in pool}


@given(a=RANKING, b=RANKING, source=IDS)
def test_the_pool_is_the_union_of_the_rankings_and_the_source_each_with_its_ranks(
    a: list[str], b: list[str], source: str
) -> None:
    pool = by_id(pool_query("q", rankings={"a": a, "b": b}, sources=[source], cluster_of=alone))
    assert set(pool) == {*a, *b, source}
    for chunk_id, row in pool.items():
        wanted = {name: found.index(chunk_id) + 1 for name, found in (("a", a), ("b", b)) if chunk_id in found}
        assert row.ranks == wanted
        assert (row.origin is Origin.SOURCE) == (chunk_id == source)


@given(found=st.permutations([f"c{number}" for number in range(10)]))
def test_the_order_of_judging_does_not_show_the_ranks(found: list[str]) -> None:
    order = [row.chunk_id for row in pool_query("q", rankings={"a": found}, sources=["c0"], cluster_of=alone)]
    assert order == [
        row.chunk_id for row in pool_query("q", rankings={"a": sorted(found)}, sources=["c0"], cluster_of=alone)
    ]


def test_one_of_near_duplicates_is_judged_and_the_source_stands_for_its_cluster() -> None:
    cluster = ("x", "source", "y")
    pool = by_id(
        pool_query(
            "q",
            rankings={"a": ["x", "other"]},
            sources=["source"],
            cluster_of=lambda chunk_id: cluster if chunk_id in cluster else (chunk_id,),
        )
    )
    assert {chunk_id: row.shared_from for chunk_id, row in pool.items()} == {
        "source": None, "x": "source", "y": "source", "other": None
    }  # fmt: skip
    assert pool["y"].origin is Origin.NEAR_DUPLICATE
    assert pool["x"].origin is None


def test_what_users_clicked_is_pooled_and_judged_first_and_a_source_stays_a_source() -> None:
    cluster = ("clicked", "copy")
    rows = pool_query(
        "q",
        rankings={"a": ["b", "c", "d", "copy", "e"]},
        sources=["source"],
        cluster_of=lambda chunk_id: cluster if chunk_id in cluster else (chunk_id,),
        feedback=["clicked", "source", "clicked"],
    )
    pool = by_id(rows)
    assert next(row.chunk_id for row in rows if row.shared_from is None) == "clicked"
    assert pool["clicked"].origin is Origin.FEEDBACK
    assert pool["source"].origin is Origin.SOURCE
    assert (pool["copy"].shared_from, pool["copy"].ranks) == ("clicked", {"a": 4})
    plain = [row.chunk_id for row in pool_query("q", rankings={"a": ["b", "c"]}, sources=["s"], cluster_of=alone)]
    later = pool_query("q", rankings={"a": ["b", "c"]}, sources=["s"], cluster_of=alone, feedback=["x"])
    assert [row.chunk_id for row in later] == ["x", *plain]


def test_a_source_is_reached_within_20_and_unreachable_beyond_100() -> None:
    ranking = [f"c{number}" for number in range(1, 151)]
    assert reach({"a": ranking, "b": []}, ["c20"]) == Reach(("a",), False)
    assert reach({"a": ranking, "b": []}, ["c21"]) == Reach((), False)
    assert reach({"a": ranking, "b": []}, ["c101"]) == Reach((), True)
