"""Vector search against numpy's own arithmetic, exact and through a graph."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.errors import MissingExtra, RetrieverFailed
from goldbench.retrieval.system_settings import IndexKind, Vectors
from goldbench.retrieval.vectors import VectorIndex


def draw(rows: int, size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, size)).astype(np.float32)


def flat(ids: list[str], rows: np.ndarray) -> VectorIndex:
    index = VectorIndex(Vectors())
    index.index(ids, rows)
    return index


def plainly(ids: list[str], rows: np.ndarray, query: np.ndarray, k: int) -> list[str]:
    wide, asked = rows.astype(np.float64), query.astype(np.float64)
    cosines = {
        doc_id: float(row @ asked / np.linalg.norm(row) / np.linalg.norm(asked))
        for doc_id, row in zip(ids, wide, strict=True)
    }
    return sorted(cosines, key=lambda doc_id: (cosines[doc_id], doc_id), reverse=True)[:k]


def test_flat_search_gives_the_greatest_cosines() -> None:
    ids, rows, queries = [f"d{n}" for n in range(500)], draw(500, 24), draw(30, 24, seed=1)
    match = flat(ids, rows).search([f"q{n}" for n in range(30)], queries, k=20)
    for position, (query_id, ranking) in enumerate(match.items()):
        assert list(ranking) == plainly(ids, rows, queries[position], 20), query_id
        best = next(iter(ranking))
        row = rows[ids.index(best)].astype(np.float64)
        cosine = row @ queries[position] / np.linalg.norm(row) / np.linalg.norm(queries[position].astype(np.float64))
        assert ranking[best] == pytest.approx(cosine, abs=1e-6)


def test_equal_vectors_are_ordered_by_id_descending_across_the_cut() -> None:
    ids = [f"d{n:03}" for n in range(200)]
    rows = np.tile(draw(1, 7), (200, 1))
    ranking = flat(ids, rows).search(["q"], draw(1, 7, seed=3), k=5)["q"]
    assert list(ranking) == ["d199", "d198", "d197", "d196", "d195"]
    assert len(set(ranking.values())) == 1


@given(st.integers(1, 40), st.integers(1, 50), st.integers(1, 6), st.integers(0, 5))
def test_never_more_than_k_never_one_twice_and_in_order(rows: int, k: int, size: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    few = chance.integers(-2, 3, (rows, size)).astype(np.float32)
    few[~few.any(axis=1)] = 1
    ids = [f"d{n}" for n in chance.permutation(rows)]
    ranking = flat(ids, few).search(["q"], np.ones((1, size)), k=k)["q"]
    assert len(ranking) == min(k, rows)
    assert list(ranking) == sorted(ranking, key=lambda doc_id: (ranking[doc_id], doc_id), reverse=True)


def test_lengths_of_vectors_do_not_count_however_extreme() -> None:
    rows = np.array([[1e-300, 0], [3e300, 3e300], [0, 5]])
    ranking = flat(["a", "b", "c"], rows).search(["q"], np.array([[1e20, 0]]), k=3)["q"]
    assert ranking == pytest.approx({"a": 1.0, "b": 0.5**0.5, "c": 0.0}, abs=1e-6)


def bad(rows: int, size: int, place: int, value: float) -> np.ndarray:
    array = draw(rows, size)
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (draw(2, 4), "3 passages, but vectors of shape 2 x 4"),
        (draw(3, 4)[:, :0], "shape 3 x 0"),
        (draw(3, 4)[0], "shape 4"),
        (bad(3, 4, 1, 0.0), "passage 'b' is all 0"),
        (bad(3, 4, 2, np.nan), "passage 'c' holds a number that is not finite"),
        (bad(3, 4, 0, np.inf), "passage 'a' holds a number that is not finite"),
    ],
)
def test_vectors_that_cannot_be_compared_are_refused_in_one_line(rows: np.ndarray, problem: str) -> None:
    with pytest.raises(RetrieverFailed, match=problem) as caught:
        flat(["a", "b", "c"], rows)
    assert "\n" not in str(caught.value)


def test_queries_of_another_size_and_ids_that_stand_twice_are_refused() -> None:
    index = flat(["a", "b"], draw(2, 4))
    with pytest.raises(RetrieverFailed, match="query vectors have 5 dimensions, the passages' 4"):
        index.search(["q"], draw(1, 5), k=1)
    with pytest.raises(RetrieverFailed, match="same passage id"):
        flat(["a", "a"], draw(2, 4))


def test_no_passage_is_nothing_found() -> None:
    assert flat([], np.empty((0, 0))).search(["q"], draw(1, 3), k=4) == {"q": {}}


def test_hnsw_without_faiss_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtra, match=r"faiss-cpu is not installed: run pip install -e '\.\[dense\]' in the"):
        VectorIndex(Vectors(index=IndexKind.HNSW))


def graph(rows: np.ndarray, **settings: Any) -> VectorIndex:
    pytest.importorskip("faiss", reason="faiss is not installed (extra dense)")
    index = VectorIndex(Vectors(index=IndexKind.HNSW, **settings))
    index.index([f"d{n}" for n in range(len(rows))], rows)
    return index


def recall(found: dict[str, dict[str, float]], exact: dict[str, dict[str, float]]) -> float:
    return sum(len(found[q].keys() & exact[q].keys()) for q in exact) / sum(map(len, exact.values()))


def test_hnsw_is_built_the_same_way_every_time_and_heeds_ef_search() -> None:
    rows, queries, names = draw(1000, 32), draw(50, 32, seed=1), [f"q{n}" for n in range(50)]
    exact = flat([f"d{n}" for n in range(1000)], rows).search(names, queries, k=10)
    once = graph(rows, efSearch=10, efConstruction=40).search(names, queries, k=10)
    assert once == graph(rows, efSearch=10, efConstruction=40).search(names, queries, k=10)
    wide = graph(rows, efSearch=256, efConstruction=40).search(names, queries, k=10)
    assert recall(once, exact) < recall(wide, exact)
    assert all(len(ranking) == 10 for ranking in wide.values())
    assert all(exact[q][doc] == score for q in names for doc, score in wide[q].items() if doc in exact[q])
