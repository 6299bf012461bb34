"""Rates: how many requests and tokens a minute, as the user set them and as the server's headers say."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from pipeline.llm.faults import Allowance

_WINDOW_S = 60.0
_UNSAID_RESET_S = 1.0


@dataclass(slots=True)
class Window:
    """At most ``limit`` units in any 60 s."""

    limit: int
    _spent: deque[tuple[float, int]] = field(default_factory=deque)
    _sum: int = 0

    def wait_s(self, units: int, now: float) -> float:
        """Return how long until so many units fit; a call larger than the limit waits for an empty window."""
        while self._spent and self._spent[0][0] <= now - _WINDOW_S:
            self._sum -= self._spent.popleft()[1]
        excess = self._sum + min(units, self.limit) - self.limit
        if excess <= 0:
            return 0.0
        for at, spent in self._spent:
            excess -= spent
            if excess <= 0:
                return at + _WINDOW_S - now
        return 0.0

    def spend(self, units: int, now: float) -> None:
        """Count units that leave now."""
        self._spent.append((now, units))
        self._sum += units


@dataclass(slots=True)
class Announced:
    """What the server's headers leave: a number that calls use up, until the time at which it is full again."""

    longest_s: float
    """The longest wait that is believed; after it one call finds out whether more may follow."""
    left: int | None = None
    until: float = 0.0
    _newest: int = 0

    def hear(self, left: int | None, reset_s: float | None, *, call: int, latest: int, each: int, now: float) -> None:
        """Take in what the answer to call number ``call`` said; ``latest`` is the last one sent, ``each`` its size."""
        if left is None or call < self._newest:
            return
        self._newest = call
        self.left = left - (latest - call) * each
        self.until = now + (_UNSAID_RESET_S if reset_s is None else min(reset_s, self.longest_s))

    def wait_s(self, units: int, now: float) -> float:
        """Return how long until so many units are there again."""
        return 0.0 if self.left is None or self.left >= units else max(0.0, self.until - now)

    def spend(self, units: int, now: float) -> None:
        """Count units that leave now. After a reset one call goes ahead, and its answer says how many may follow."""
        if self.left is None:
            return
        if self.left < units:
            self.until = now + _UNSAID_RESET_S
        self.left = max(0, self.left - units)


class Rates:
    """The rate limits of one server."""

    def __init__(
        self, requests_per_minute: int | None, tokens_per_minute: int | None, *, longest_s: float = 300.0
    ) -> None:
        """Take the account's limits as the user knows them, and the longest wait that a server is believed."""
        self._requests = Window(requests_per_minute) if requests_per_minute else None
        self._tokens = Window(tokens_per_minute) if tokens_per_minute else None
        self._announced_requests, self._announced_tokens = Announced(longest_s), Announced(longest_s)
        self._sent = 0

    def wait_s(self, tokens: int, now: float) -> float:
        """Return how many seconds a call of so many tokens has to wait; 0 lets it go."""
        return max(
            self._requests.wait_s(1, now) if self._requests else 0.0,
            self._tokens.wait_s(tokens, now) if self._tokens else 0.0,
            self._announced_requests.wait_s(1, now),
            self._announced_tokens.wait_s(tokens, now),
        )

    def spend(self, tokens: int, now: float) -> int:
        """Count a call that leaves now and return its number."""
        if self._requests:
            self._requests.spend(1, now)
        if self._tokens:
            self._tokens.spend(tokens, now)
        self._announced_requests.spend(1, now)
        self._announced_tokens.spend(tokens, now)
        self._sent += 1
        return self._sent

    def hear(self, allowance: Allowance | None, *, call: int, tokens: int, now: float) -> None:
        """Take in what the headers of the answer to call number ``call`` said."""
        if allowance is None:
            return
        said = allowance
        self._announced_requests.hear(
            said.requests, said.requests_reset_s, call=call, latest=self._sent, each=1, now=now
        )
        self._announced_tokens.hear(
            said.tokens, said.tokens_reset_s, call=call, latest=self._sent, each=tokens, now=now
        )
