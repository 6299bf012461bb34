"""Maximal marginal relevance against an example worked by hand, and against LangChain's."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.retrieval.bm25 import BM25
from goldbench.retrieval.dense import Dense
from goldbench.retrieval.mmr import MMR, marginal_order
from goldbench.retrieval.stopwatch import Stopwatch
from goldbench.retrieval.system_settings import Analyzer, BM25Settings, MMRSettings, Vectors
from goldbench.retrieval.tokens import tokenizer

RELEVANCE = [0.9, 0.8, 0.7, 0.1]
LIKENESS = np.array([[1, 0.95, 0.2, 0.0], [0.95, 1, 0.1, 0.0], [0.2, 0.1, 1, 0.3], [0.0, 0.0, 0.3, 1]])


def test_the_order_of_an_example_worked_by_hand() -> None:
    # First 0: 0.45 is the most. Then 1: 0.40 - 0.475 = -0.075; 2: 0.35 - 0.1 = 0.25; 3: 0.05. So 2.
    # Then 1: 0.40 - 0.475 = -0.075 still; 3: 0.05 - 0.15 = -0.1. So 1, and 3 is left.
    assert marginal_order(RELEVANCE, LIKENESS, 0.5) == [0, 2, 1, 3]
    # 0.2 of relevance: 0 with 0.18. Then 1: 0.16 - 0.76; 2: 0.14 - 0.16 = -0.02; 3: 0.02. So 3.
    # Then 1: -0.6; 2: 0.14 - 0.24 = -0.1. So 2.
    assert marginal_order(RELEVANCE, LIKENESS, 0.2) == [0, 3, 2, 1]
    assert marginal_order(RELEVANCE, LIKENESS, 1.0) == [0, 1, 2, 3]


@given(st.integers(1, 9), st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]), st.integers(0, 30))
def test_the_order_is_langchains(count: int, lambda_: float, seed: int) -> None:
    vectorstores = pytest.importorskip("langchain_core.vectorstores.utils", reason="langchain-core is not installed")
    chance = np.random.default_rng(seed)
    rows = chance.standard_normal((count + 1, 6))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    query, passages = rows[0], rows[1:][np.argsort(-(rows[1:] @ rows[0]))]
    expected = vectorstores.maximal_marginal_relevance(query, list(passages), lambda_mult=lambda_, k=count)
    if lambda_ > 0:  # without relevance LangChain still begins with the most relevant, as the first of equals
        assert marginal_order((passages @ query).tolist(), passages @ passages.T, lambda_) == expected


class Encoder:
    """Vectors by text: "1 0" is (1, 0)."""

    def passages(self, texts: Mapping[str, str]) -> np.ndarray:
        return np.array([[float(number) for number in text.split()] for text in texts.values()])

    queries = passages


def dense() -> Dense:
    return Dense(Vectors(), encoder=Encoder(), stopwatch=Stopwatch())


def test_cosines_of_a_dense_system_are_taken_as_they_are() -> None:
    passages = {"a": "4 1", "b": "4 1.2", "c": "1 -1", "d": "-1 0"}
    below = dense()
    system = MMR(MMRSettings(of="dense", **{"lambda": 0.5}), of=below, by=below, cosine=True)
    system.index(passages)
    unit = {d: np.array([float(x) for x in text.split()]) for d, text in passages.items()}
    rows = np.array([row / np.linalg.norm(row) for row in unit.values()])
    order = marginal_order((rows @ [1, 0]).tolist(), rows @ rows.T, 0.5)
    found = system.search({"q": "1 0"}, k=4)["q"]
    assert list(found) == [list(passages)[place] for place in order] == ["a", "c", "b", "d"]
    assert list(found.values()) == [4.0, 3.0, 2.0, 1.0]


def test_likeness_may_come_from_another_system_or_from_tf_idf() -> None:
    texts = {"a": "pump pump valve", "b": "pump valve pump", "c": "pump of an owl", "d": "hose"}
    below = BM25(BM25Settings(), tokens=tokenizer(Analyzer.UNICODE))
    system = MMR(MMRSettings(of="bm25", depth=3), of=below)
    system.index(texts)
    assert list(below.search({"q": "pump"}, k=3)["q"]) == ["b", "a", "c"]
    assert next(iter(system.search({"q": "pump"}, k=3)["q"])) == "b"
    assert list(varied(texts, 0.1)) == ["b", "c", "a"]
    assert list(varied(texts, 1.0)) == ["b", "a", "c"]
    assert list(varied(texts, 0.1, k=1)) == ["b"]


def varied(texts: Mapping[str, str], lambda_: float, *, k: int = 9) -> dict[str, float]:
    below = BM25(BM25Settings(), tokens=tokenizer(Analyzer.UNICODE))
    system = MMR(MMRSettings(of="bm25", depth=3, **{"lambda": lambda_}), of=below)
    system.index(texts)
    return system.search({"q": "pump"}, k=k)["q"]


class Scored:
    """Gives these scores to every query."""

    def __init__(self, scores: Mapping[str, float]) -> None:
        self.scores = dict(scores)

    def index(self, passages: Mapping[str, str]) -> None:
        assert passages.keys() == self.scores.keys()

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        return dict.fromkeys(queries, self.scores)


@pytest.mark.parametrize(("times", "plus"), [(1, 0), (1000, 0), (0.001, 50)])
def test_scores_that_are_no_cosines_count_whatever_their_scale(times: float, plus: float) -> None:
    texts = {"a": "pump valve", "b": "pump valve", "c": "owl"}
    scores = {"a": 1.0 * times + plus, "b": 0.9 * times + plus, "c": 0.5 * times + plus}
    system = MMR(MMRSettings(of="s", **{"lambda": 0.5}), of=Scored(scores))
    system.index(texts)
    # Brought to 0 to 1 they are 1, 0.8 and 0: b gains 0.4 - 0.5, c 0 - 0.
    assert list(system.search({"q": "x"}, k=3)["q"]) == ["a", "c", "b"]


def test_results_beyond_the_depth_stay_below_in_their_order() -> None:
    below = dense()
    passages = {f"d{n}": f"{10 - n} {n}" for n in range(8)}
    system = MMR(MMRSettings(of="dense", depth=3, **{"lambda": 0.0}), of=below, by=below, cosine=True)
    system.index(passages)
    assert list(system.search({"q": "1 0"}, k=8)["q"]) == ["d0", "d2", "d1", "d3", "d4", "d5", "d6", "d7"]


@pytest.mark.parametrize("texts", [{}, {"a": "pump"}, {"a": "", "b": "!"}])
def test_little_to_choose_from_is_no_error(texts: dict[str, str]) -> None:
    assert len(varied(texts, 0.5)) == ("a" in texts and bool(texts["a"]))
