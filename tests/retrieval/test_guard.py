"""What every answer of a retriever is held to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from goldbench.errors import CallFailed, MissingExtra, RetrieverFailed
from goldbench.retrieval.guard import GuardedRetriever


class Answers:
    """Answers what it was told to, or raises it."""

    def __init__(self, answer: Any, *, on_index: BaseException | None = None) -> None:
        self.answer, self.on_index = answer, on_index

    def index(self, passages: Mapping[str, str]) -> None:
        if self.on_index is not None:
            raise self.on_index

    def search(self, queries: Mapping[str, str], *, k: int) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def searched(answer: Any, **more: Any) -> dict[str, dict[str, float]]:
    guarded = GuardedRetriever(Answers(answer, **more), name="x")
    guarded.index({"a": "", "b": "", "c": ""})
    return guarded.search({"q": "secret text"}, k=2)


def test_an_answer_is_put_in_order_with_plain_numbers() -> None:
    found = searched({"q": {"a": np.float32(1), "b": 1}})
    assert list(found["q"].items()) == [("b", 1.0), ("a", 1.0)]
    assert {type(score) for score in found["q"].values()} == {float}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"q": {"a": 1.0, "z": 2.0}}, "answered 1 of 2 ids that are not passages, the first 'z'"),
        ({"q": {"a": 1.0, "b": 2.0, "c": 3.0}}, "answered 3 results where 2 were asked for"),
        ({"q": {"a": math.nan}}, "not a finite number"),
        ({"q": {"a": math.inf}}, "not a finite number"),
        ({"q": {"a": "1"}}, "not a finite number"),
        ({"q": {"a": None}}, "not a finite number"),
        ({"q": ["a"]}, "answered a list"),
        ({}, "did not answer each query once"),
        ({"q": {}, "r": {}}, "did not answer each query once"),
        (None, "did not answer each query once"),
        (ValueError("secret text"), r"raised ValueError \(test_guard.py, line \d+\) while searching"),
        (CallFailed("timeout", "no answer"), "^system x: no answer$"),
        (RetrieverFailed("is down", system="part"), "^system x: part: is down$"),
        (MemoryError(), "not enough memory while searching"),
    ],
)
def test_everything_else_is_one_line(answer: Any, message: str) -> None:
    with pytest.raises(RetrieverFailed, match=message) as caught:
        searched(answer)
    assert "secret" not in str(caught.value)
    assert caught.value.system == "x"


def test_a_missing_package_stays_what_it_is() -> None:
    with pytest.raises(MissingExtra):
        searched({}, on_index=MissingExtra("faiss", "dense"))


def test_an_interrupt_is_not_caught() -> None:
    with pytest.raises(KeyboardInterrupt):
        searched(KeyboardInterrupt())


def test_what_could_not_be_indexed_knows_no_passage() -> None:
    guarded = GuardedRetriever(Answers({"q": {"a": 1.0}}, on_index=OSError("disk")), name="x")
    with pytest.raises(RetrieverFailed, match="raised OSError"):
        guarded.index({"a": ""})
    with pytest.raises(RetrieverFailed, match="not passages"):
        guarded.search({"q": ""}, k=2)
