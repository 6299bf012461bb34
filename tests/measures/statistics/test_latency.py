"""From seconds to percentiles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.measures.statistics.latency import parts_of, percentile

SECONDS = st.lists(st.floats(0, 1e3), min_size=1, max_size=50)


@given(SECONDS, st.floats(0, 1))
def test_a_percentile_is_numpys(values: list[float], share: float) -> None:
    assert percentile(values, share) == pytest.approx(np.quantile(values, share), rel=1e-9, abs=1e-9)


def test_what_a_model_took_stands_apart_from_searching() -> None:
    found = parts_of([0.010, 0.030], [{"embed": 0.004}, {"embed": 0.020, "rerank": 0.002}])
    assert {part: one and one.p50_ms for part, one in found.items()} == {
        "whole": 20,
        "search": 7,
        "embed": 12,
        "rerank": 1,
        "expand": None,
    }
