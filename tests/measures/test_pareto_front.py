"""The Pareto front against a search of all pairs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from goldbench.report.charts import pareto_front

FEW = st.integers(0, 5).map(float)


@given(st.lists(st.tuples(FEW, FEW), max_size=12))
def test_no_other_point_beats_one_on_the_front(points: list[tuple[float, float]]) -> None:
    def beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
        return one != other and one[0] <= other[0] and one[1] >= other[1]

    front = pareto_front([price for price, _ in points], [quality for _, quality in points])
    assert sorted(front) == [at for at, one in enumerate(points) if not any(beats(point, one) for point in points)]
    assert [points[at][0] for at in front] == sorted(points[at][0] for at in front)
