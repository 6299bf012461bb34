"""Whether the server is there; while it is not, one call at a time finds out when it is back."""

from __future__ import annotations

from dataclasses import dataclass, field

from goldbench.pipeline.llm.exchange_end import Cause

_CALLS_BEFORE_OPEN = 3
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 5.0


@dataclass(slots=True)
class Circuit:
    """The server's health, from how calls end.

    One connection that is not made opens the circuit; so do broken or unavailable calls of three different requests
    with nothing good between them. While it is open one call goes out at a time, after a pause that doubles, and its
    failure is not counted against the call. A server that accepts a call and gives no answer in time is slow, not gone.
    """

    unreachable_s: float
    never_reached_s: float
    is_open: bool = False
    next_try: float = 0.0
    _reached: bool = False
    _down_since: float | None = None
    _pause_s: float = _FIRST_PAUSE_S
    _failing: set[str] = field(default_factory=set)

    def hear(self, cause: Cause | None, label: str, *, ailing: bool, spoke: bool = False, now: float) -> None:
        """Take in how a call ended.

        Args:
            cause: Why it failed, None for an answer.
            label: The call's name.
            ailing: Whether it ended in HTTP 503.
            spoke: Whether the server answered in HTTP as it does while it loads a model.
            now: The monotonic time in seconds.
        """
        self._reached = self._reached or spoke
        if cause is Cause.UNREACHABLE:
            self._fail(now, opens=True)
        elif cause is Cause.BROKEN or ailing:
            self._failing.add(label)
            self._fail(now, opens=len(self._failing) >= _CALLS_BEFORE_OPEN)
        elif cause is not Cause.LEARNED:  # an error that taught something says nothing of whether the server works
            self._reached, self.is_open, self._down_since = True, False, None
            self._pause_s = _FIRST_PAUSE_S
            self._failing.clear()

    def _fail(self, now: float, *, opens: bool) -> None:
        if self._down_since is None:
            self._down_since = now
        if self.is_open or opens:
            if self.is_open:
                self._pause_s = min(_LONGEST_PAUSE_S, 2 * self._pause_s)
            self.is_open = True
            self.next_try = now + self._pause_s

    def gone_for_s(self, now: float, *, at_most_s: float | None = None) -> float | None:
        """Return for how long the server has been gone once that is too long to go on, else None.

        Args:
            now: As in `hear`.
            at_most_s: The seconds that it may be gone, None for the limit of the settings.
        """
        if not self.is_open or self._down_since is None:
            return None
        gone = now - self._down_since
        return gone if gone >= (self._patience_s() if at_most_s is None else at_most_s) else None

    def gives_up_in_s(self, now: float) -> float:
        """Return the seconds until an open circuit gives up."""
        return max(0.0, (self._down_since or now) + self._patience_s() - now)

    def _patience_s(self) -> float:
        return self.unreachable_s if self._reached else self.never_reached_s
