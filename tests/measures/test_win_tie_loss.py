"""A tie has one definition: less than 0.01 apart, and rounding alone makes none."""

from __future__ import annotations

import numpy as np

from goldbench.measures.statistics.significance import TIE, win_tie_loss


def test_differences_of_a_hundredth_are_wins_and_losses_whatever_rounding_does() -> None:
    differences = np.array([TIE, 0.31 - 0.30, 0.0099, 0.0, -0.0099, 0.30 - 0.31, -1.0])
    assert win_tie_loss(differences) == (2, 3, 2)
