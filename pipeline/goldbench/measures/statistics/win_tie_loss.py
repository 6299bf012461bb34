"""Wins, ties and losses of one system against another, query by query: the only definition of a tie of two scores."""

from __future__ import annotations

from typing import NamedTuple

from goldbench.measures.result import ROUNDING
from goldbench.measures.statistics.floats import Floats

TIE = 0.01
"""Two scores of a query that differ by less than this are a tie."""

LEAST_WIN = TIE - ROUNDING
"""The smallest difference that a win has: rounding does not make a tie of a difference of ``TIE``."""


class WinTieLoss(NamedTuple):
    """Numbers of queries that the first system wins, ties and loses."""

    wins: int
    ties: int
    losses: int


def win_tie_loss(differences: Floats) -> WinTieLoss:
    """Return how many differences, first minus second, are wins, ties and losses.

    Args:
        differences: One per query, finite.
    """
    wins, losses = int((differences >= LEAST_WIN).sum()), int((differences <= -LEAST_WIN).sum())
    return WinTieLoss(wins, len(differences) - wins - losses, losses)
