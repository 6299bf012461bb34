"""How many calls at once and how many per minute: the user's limits, the server's headers, the server's refusals."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from goldbench.pipeline.llm.headers import Allowance

_WINDOW_S = 60.0
_DEFAULT_RESET_S = 1.0
"""Seconds until a limit is taken to be full again where the server does not say."""


class Width:
    """Adaptive concurrency between 1 and a cap.

    A round is as many calls as were allowed when it began. After a round in which a share f of the calls met an
    overloaded server the width becomes ``width * (1 - f / 2)``, and it grows by a sixteenth of the cap when at most
    half did. One 429 in five therefore costs little, and a server that refuses everything soon gets one call at a time.

    Source: the proportional decrease of DCTCP (Alizadeh et al., SIGCOMM 2010, eq. 2) without its moving average.
    """

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self._width = float(cap)
        self._left, self._overloaded, self._size = cap, 0, cap

    @property
    def now(self) -> int:
        """The number of calls that may be in flight, 1 or more."""
        return max(1, int(self._width))

    def hear(self, *, overloaded: bool) -> None:
        """Take in how one call ended."""
        self._left -= 1
        self._overloaded += overloaded
        if self._left > 0:
            return
        share = self._overloaded / self._size
        grown = self._width * (1 - share / 2) + (max(1.0, self.cap / 16) if share <= 0.5 else 0.0)
        self._width = min(float(self.cap), max(1.0, grown))
        self._left = self._size = self.now
        self._overloaded = 0


@dataclass(slots=True)
class Window:
    """At most ``limit`` units in any 60 s."""

    limit: int
    _spent: deque[tuple[float, int]] = field(default_factory=deque)
    _sum: int = 0

    def wait_s(self, units: int, now: float) -> float:
        """Return the seconds until ``units`` fit; a call larger than the limit waits for an empty window."""
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
        """Take in the headers of one answer.

        Args:
            left: The units left when the server answered, None where it does not say.
            reset_s: The seconds until they are full again, None where it does not say.
            call: The number of the call that was answered; an answer older than the newest is ignored.
            latest: The number of the last call sent.
            each: The units that one call takes.
            now: The monotonic time in seconds.
        """
        if left is None or call < self._newest:
            return
        self._newest = call
        self.left = left - (latest - call) * each
        self.until = now + (_DEFAULT_RESET_S if reset_s is None else min(reset_s, self.longest_s))

    def wait_s(self, units: int, now: float) -> float:
        """Return the seconds until ``units`` are there again."""
        return 0.0 if self.left is None or self.left >= units else max(0.0, self.until - now)

    def spend(self, units: int, now: float) -> None:
        """Count units that leave now. After a reset one call goes ahead, and its answer says how many may follow."""
        if self.left is None:
            return
        if self.left < units:
            self.until = now + _DEFAULT_RESET_S
        self.left = max(0, self.left - units)


class Rates:
    """The rate limits of one server."""

    def __init__(
        self, requests_per_minute: int | None, tokens_per_minute: int | None, *, longest_s: float = 300.0
    ) -> None:
        """Take the limits.

        Args:
            requests_per_minute: The account's limit, None where the user knows none.
            tokens_per_minute: As `requests_per_minute`, in tokens.
            longest_s: The longest wait in seconds that the server's headers are believed.
        """
        self._requests = Window(requests_per_minute) if requests_per_minute else None
        self._tokens = Window(tokens_per_minute) if tokens_per_minute else None
        self._announced_requests, self._announced_tokens = Announced(longest_s), Announced(longest_s)
        self._sent = 0

    def wait_s(self, tokens: int, now: float) -> float:
        """Return how many seconds a call of this many tokens has to wait; 0 lets it go."""
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
        """Take in the headers of one answer.

        Args:
            allowance: What they say is left, None where they say nothing.
            call: The number that `spend` gave to the call.
            tokens: The tokens set aside for the call.
            now: As in `spend`.
        """
        if allowance is None:
            return
        left, latest = allowance, self._sent
        self._announced_requests.hear(left.requests, left.requests_reset_s, call=call, latest=latest, each=1, now=now)
        self._announced_tokens.hear(left.tokens, left.tokens_reset_s, call=call, latest=latest, each=tokens, now=now)
