"""The worth of a pool on the card: absent without people, a warning where the judge is wrong throughout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from goldbench.card.described_set import DescribedSet, read_described
from goldbench.card.pool_figure import pool_figure
from goldbench.records.relevance import Relevance
from goldbench.records.set_card import State
from tests.card.sets import graded


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> DescribedSet:
    return read_described(graded(tmp_path_factory.mktemp("pool") / "set"))


def _systems(material: DescribedSet) -> dict[str, dict[str, list[str]]]:
    """Return three systems: the source first, then second, then third."""
    pairs: dict[str, list[str]] = {}
    for one in material.pool:
        pairs.setdefault(one.query_id, []).append(one.chunk_id)
    return {
        f"s{turn}": {query_id: found[-turn:] + found[:-turn] for query_id, found in pairs.items()} for turn in range(3)
    }


def _reviewed(material: DescribedSet, sample: Mapping[str, Sequence[float]]) -> DescribedSet:
    return replace(material, metadata={"review": {"random_sample": sample}})


def test_without_sixty_pairs_by_people_nothing_is_known(material: DescribedSet) -> None:
    found = pool_figure(_reviewed(material, {"3": [59, 0, 59.0, 0.0]}), _systems(material))
    assert found.state is State.ABSENT
    assert "59 pairs" in found.meaning


def test_a_judge_who_is_always_wrong_does_harm(material: DescribedSet) -> None:
    wrong = [
        one.model_copy(update={"relevance": Relevance(3)}) if one.canary is None else one for one in material.judgments
    ]
    bad = replace(_reviewed(material, {"3": [200, 0, 200.0, 0.0], "0": [60, 0, 60.0, 0.0]}), judgments=wrong)
    found = pool_figure(bad, _systems(material))
    assert found.state is State.WARN
    assert isinstance(found.value, float)
    assert found.value < 0
    assert "expected to do harm" in found.meaning


def test_pairs_count_for_as_many_as_they_are_worth(material: DescribedSet) -> None:
    wrong = [one.model_copy(update={"relevance": Relevance(3)}) for one in material.judgments if one.canary is None]

    def false(sample: list[float]) -> float:
        reviewed = replace(_reviewed(material, {"3": sample}), judgments=wrong)
        found = pool_figure(reviewed, _systems(material)).values
        return float(str(next(value for name, value in found.items() if name.endswith("false"))))

    assert false([90, 30, 90.0, 1 / 3]) == pytest.approx(1 - (30 + 4 * 0.6) / 94, abs=1e-4)
    assert false([90, 30, 90.0, 0.9]) == pytest.approx(1 - (81 + 4 * 0.6) / 94, abs=1e-4), "the weighted share decides"
    assert false([90, 30, 4.0, 0.9]) == pytest.approx(1 - (3.6 + 4 * 0.6) / 8, abs=1e-4), "the usual one as well"


@pytest.mark.parametrize(
    "said",
    [
        "",
        [],
        {"3": "many"},
        {"3": [1]},
        {"x": [90, 1]},
        {"3": [60, 90]},
        None,
        {"3": [90, 30, 91.0, 0.3]},
        {"3": [90, 30, 80.0, 1.1]},
        {"3": [90, 30, float("nan"), 0.3]},
        {"3": [float("inf"), 3]},
        {"3": [10**400, 3]},
        {"3": [0, 0]},
    ],
)
def test_foreign_metadata_is_no_sample(material: DescribedSet, said: object) -> None:
    found = pool_figure(replace(material, metadata={"review": {"random_sample": said}}), _systems(material))
    assert found.state is State.ABSENT
