"""How many calls at once: additive increase, and a decrease in proportion to how many the server turned away."""

from __future__ import annotations


class Width:
    """Adaptive concurrency between 1 and a cap.

    A round is as many calls as were allowed when it began. After a round in which a share f of the calls met an
    overloaded server the width becomes ``width * (1 - f / 2)``, and it grows by a sixteenth of the cap when at most
    half did. One 429 in five therefore costs little, a server that turns everything away is left alone quickly.

    Source: the proportional decrease of DCTCP (Alizadeh et al., SIGCOMM 2010, eq. 2) without its moving average.
    """

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self._width = float(cap)
        self._left, self._turned_away, self._size = cap, 0, cap

    @property
    def now(self) -> int:
        """The number of calls that may be in flight."""
        return max(1, int(self._width))

    def hear(self, *, overloaded: bool) -> None:
        """Take in how one call ended."""
        self._left -= 1
        self._turned_away += overloaded
        if self._left > 0:
            return
        share = self._turned_away / self._size
        grown = self._width * (1 - share / 2) + (max(1.0, self.cap / 16) if share <= 0.5 else 0.0)
        self._width = min(float(self.cap), max(1.0, grown))
        self._left = self._size = self.now
        self._turned_away = 0
