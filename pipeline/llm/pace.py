"""How many calls at once, how many per minute, and how long each may take: limits of the user and of the server."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import median

from goldbench.pipeline.llm.headers import Allowance
from goldbench.pipeline.ports import Speed

_WINDOW_S = 60.0
_DEFAULT_RESET_S = 1.0
"""Seconds until a limit is taken to be full again where the server does not say."""

_FIRST_WIDTH = 4
"""Calls in flight at first if the user sets no number."""
_RATES_KEPT = 20
"""The number of recent answers whose speed says how long a call may take."""
_MARGIN = 2.0
"""A call may take this many times the seconds that its longest answer would take at the measured speed."""


class Width:
    """Adaptive concurrency between 1 and a cap.

    A round is as many calls as were allowed when it began. After a round in which a share f of the calls met an
    overloaded server the width becomes ``width * (1 - f / 2)``, and it grows by a sixteenth of the cap when at most
    half did. One 429 in five therefore costs little, and a server that refuses everything soon gets one call at a time.

    With ``comfortable_s`` the width begins at 4. It doubles while answers take no longer than these seconds on average,
    and shrinks in proportion once they take more than twice as long: a slow server is not given calls that would only
    wait there (by Little's law their number is the rate of answers times the seconds that each takes).

    Source: the proportional decrease of DCTCP (Alizadeh et al., SIGCOMM 2010, eq. 2) without its moving average.
    """

    def __init__(self, cap: int, *, comfortable_s: float | None = None) -> None:
        self.cap, self._comfortable_s = cap, comfortable_s
        self._width = float(cap if comfortable_s is None else min(cap, _FIRST_WIDTH))
        self._left = self._size = self.now
        self._overloaded, self._seconds = 0, list[float]()

    @property
    def now(self) -> int:
        """The number of calls that may be in flight, 1 or more."""
        return max(1, int(self._width))

    def hear(self, *, overloaded: bool, seconds: float | None = None) -> None:
        """Take in how one call ended.

        Args:
            overloaded: Whether the server wanted fewer calls, or gave no answer in time.
            seconds: How long its answer took, None without an answer.
        """
        self._left -= 1
        self._overloaded += overloaded
        if seconds is not None:
            self._seconds.append(seconds)
        if self._left > 0:
            return
        share = self._overloaded / self._size
        if self._comfortable_s is not None and not share:
            grown = self._width * self._growth(self._comfortable_s)
        else:
            grown = self._width * (1 - share / 2) + (max(1.0, self.cap / 16) if share <= 0.5 else 0.0)
        self._width = min(float(self.cap), max(1.0, grown))
        self._left = self._size = self.now
        self._overloaded, self._seconds = 0, []

    def _growth(self, comfortable_s: float) -> float:
        """Return the factor by which the width changes after a round without an overload."""
        mean = sum(self._seconds) / len(self._seconds) if self._seconds else 0.0
        if mean <= comfortable_s:
            return 2.0
        return comfortable_s / mean if mean > 2 * comfortable_s else 1.0


@dataclass(slots=True)
class Tempo:
    """The speed of the answers so far, and how long a call may take.

    ``fixed_s`` is the user's limit. Without one a call may take ``limit_s`` seconds, or longer if its longest answer
    would take longer at the measured speed; a call that ran out of time doubles ``limit_s`` for those after it.
    """

    fixed_s: float | None
    limit_s: float
    calls: int = 0
    seconds: float = 0.0
    output_tokens: int = 0
    _rates: deque[float] = field(default_factory=lambda: deque(maxlen=_RATES_KEPT))

    def longest_s(self, max_tokens: int) -> float:
        """Return the seconds that a call may take whose answer has at most this many tokens."""
        if self.fixed_s is not None:
            return self.fixed_s
        return max(self.limit_s, _MARGIN * max_tokens / median(self._rates)) if self._rates else self.limit_s

    def answered(self, seconds: float, tokens: int) -> None:
        """Take in the seconds and the tokens of one answer."""
        self.calls += 1
        self.seconds += seconds
        self.output_tokens += tokens
        if tokens and seconds > 0:
            self._rates.append(tokens / seconds)

    def speed(self) -> Speed | None:
        """Return the speed of the answers so far, None before the first."""
        return Speed(self.calls, self.seconds, self.output_tokens) if self.calls and self.seconds > 0 else None

    def expired(self, given_s: float) -> None:
        """Take in that a call ended without an answer after these seconds, although the server had accepted it."""
        self.limit_s = max(self.limit_s, 2 * given_s)


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
