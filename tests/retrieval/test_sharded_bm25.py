"""BM25 in parts on several nodes gives what one index gives, bit for bit; a lost node changes nothing."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.cluster.remote_object import Lost
from goldbench.errors import RetrieverFailed
from goldbench.retrieval.bm25 import BM25
from goldbench.retrieval.sharded_bm25 import ShardedBM25
from goldbench.retrieval.system_settings import Analyzer, BM25Settings
from goldbench.retrieval.tokens import tokenizer

WORDS = ["pump", "pumps", "valve", "the", "of", "filter", "filters", "sand", "a", "night", "wäscht", "日本"]
TEXT = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


class Here:
    """What a node would hold, in this process; it is lost before the calls whose numbers are drawn."""

    def __init__(self, nodes: Nodes, held: Any) -> None:
        self.nodes, self.held, self.alive = nodes, held, True

    def begin(self, method: str, *arguments: object) -> Answer:
        return Answer(lambda: self.call(method, *arguments))

    def call(self, method: str, *arguments: object, seconds: float | None = None) -> Any:
        self.nodes.calls += 1
        if self.nodes.calls in self.nodes.fatal or not self.alive:
            self.alive = False
            raise Lost("node 3 is gone")
        return copy.deepcopy(getattr(self.held, method)(*arguments))

    def kill(self) -> None:
        self.alive = False


class Answer:
    def __init__(self, work: Callable[[], Any]) -> None:
        self.result = work


class Nodes:
    def __init__(self, processors: int, fatal: set[int] | None = None) -> None:
        self.processors, self.fatal, self.calls = processors, fatal or set(), 0

    def place(self, maker: Callable[..., object], *arguments: object) -> Here:
        return Here(self, maker(*arguments))


def whole(settings: BM25Settings) -> BM25:
    return BM25(settings, tokens=tokenizer(settings.analyzer, language=settings.language))


def ordered(run: dict[str, dict[str, float]]) -> list[tuple[str, list[tuple[str, float]]]]:
    return [(query_id, list(found.items())) for query_id, found in run.items()]


@given(
    st.lists(TEXT, max_size=40),
    st.lists(TEXT, max_size=5),
    st.integers(1, 7),
    st.integers(1, 12),
    st.sampled_from([("unicode", None), ("unicode", "en"), ("ngrams", None), ("standard", "de")]),
    st.sets(st.integers(1, 30), max_size=4),
)
def test_parts_find_what_the_whole_finds(
    texts: list[str], asked: list[str], nodes: int, k: int, cut: tuple[str, str | None], fatal: set[int]
) -> None:
    settings = BM25Settings(analyzer=Analyzer(cut[0]), language=cut[1], k1=0.9, b=0.4)
    passages = {f"p{(number * 7) % 41:02}": text for number, text in enumerate(texts)}
    queries = {f"q{number}": text for number, text in enumerate(asked)}
    one, parts = whole(settings), ShardedBM25(settings, nodes=Nodes(nodes, fatal), worth_a_part=1)  # type: ignore[arg-type]
    one.index(passages)
    parts.index(passages)
    assert ordered(parts.search(queries, k=k)) == ordered(one.search(queries, k=k))


def test_many_passages_in_five_parts_are_scored_as_one_index_scores_them() -> None:
    draw = random.Random(4)
    vocabulary = [f"word{number}" for number in range(3_000)]
    weights = [1 / (number + 1) for number in range(3_000)]
    passages = {
        f"p{number}": " ".join(draw.choices(vocabulary, weights, k=draw.randrange(80))) for number in range(6_000)
    }
    queries = {
        f"q{number}": " ".join(draw.choices(vocabulary, weights, k=draw.randrange(8))) for number in range(1_200)
    }
    settings = BM25Settings()
    one, parts = whole(settings), ShardedBM25(settings, nodes=Nodes(5), worth_a_part=100)  # type: ignore[arg-type]
    one.index(passages)
    parts.index(passages)
    assert ordered(parts.search(queries, k=50)) == ordered(one.search(queries, k=50))


def test_passages_that_are_indexed_later_replace_the_first_ones() -> None:
    parts = ShardedBM25(BM25Settings(), nodes=Nodes(2), worth_a_part=1)  # type: ignore[arg-type]
    parts.index({"a": "pump", "b": "valve"})
    parts.index({"c": "pump"})
    assert list(parts.search({"q": "pump valve"}, k=5)["q"]) == ["c"]


def test_nodes_that_are_lost_again_and_again_are_named() -> None:
    parts = ShardedBM25(BM25Settings(), nodes=Nodes(1, set(range(1, 100))), worth_a_part=1)  # type: ignore[arg-type]
    with pytest.raises(RetrieverFailed, match=r"lost 5 times with its node \(node 3 is gone\)"):
        parts.index({"a": "pump"})
