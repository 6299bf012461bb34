"""Fusion against examples worked by hand, and what holds of every fused list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.retrieval.fusion import Fusion, normalised, reciprocal_ranks, weighted_scores
from goldbench.retrieval.system_settings import RRFSettings, WeightedSettings
from goldbench.systems.builder import FinishedRun

SCORES = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-1e6, 1e6), max_size=8)


def test_reciprocal_ranks_equal_the_example_worked_by_hand() -> None:
    found = reciprocal_ranks([["a", "b", "c"], ["c", "a"]], k=60)
    assert found == pytest.approx({"a": 1 / 61 + 1 / 62, "b": 1 / 62, "c": 1 / 63 + 1 / 61})
    assert list(Fusion(RRFSettings(of=("x", "y")), of=_both()).search({"q": ""}, k=9)["q"]) == ["a", "c", "b"]


def test_weights_and_k_enter_the_sum() -> None:
    found = reciprocal_ranks([["a"], ["b", "a"]], k=0, weights=[2, 0.5])
    assert found == {"a": 2 / 1 + 0.5 / 2, "b": 0.5}


def test_weighted_scores_equal_the_example_worked_by_hand() -> None:
    found = weighted_scores([{"a": 4, "b": 2, "c": 0}, {"c": 10, "d": 5}], weights=[1, 0.5])
    assert found == {"a": 1.0, "b": 0.5, "c": 0.5, "d": 0.0}


def test_equal_scores_and_a_score_alone_are_normalised_without_dividing_by_nothing() -> None:
    assert normalised({"a": 3.0}) == {"a": 1.0}
    assert normalised({"a": 0.1, "b": 0.1}) == {"a": 1.0, "b": 1.0}
    assert normalised({}) == {}


@given(st.lists(SCORES, min_size=1, max_size=4), st.integers(1, 10))
def test_a_fused_list_is_ordered_without_duplicates_and_no_longer_than_asked(
    runs: list[dict[str, float]], k: int
) -> None:
    names = tuple(f"s{number}" for number in range(len(runs)))
    for settings in (RRFSettings(of=names), WeightedSettings(of=names)):
        fused = Fusion(settings, of=[FinishedRun({"q": run}) for run in runs]).search({"q": "", "r": ""}, k=k)
        found = list(fused["q"].items())
        assert found == sorted(found, key=lambda pair: (pair[1], pair[0]), reverse=True)
        assert len(found) == min(k, len({doc_id for run in runs for doc_id in run}))
        assert fused["r"] == {}


def test_results_beyond_the_depth_are_not_fused() -> None:
    settings = RRFSettings(of=("x", "y"), depth=1)
    assert list(Fusion(settings, of=_both()).search({"q": ""}, k=1)["q"]) == ["c"]
    assert list(Fusion(settings, of=_both()).search({"q": ""}, k=3)["q"]) == ["a", "c", "b"]


def _both() -> list[FinishedRun]:
    return [FinishedRun({"q": {"a": 3.0, "b": 2.0, "c": 1.0}}), FinishedRun({"q": {"c": 9.0, "a": 8.0}})]
