"""What every call to a server passes: how many at once, how fast, how long, and whether at all."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from goldbench.errors import Message, ModelUnavailable
from goldbench.llm.budget import Budget, Reservation
from goldbench.llm.exchange import Cause
from goldbench.llm.prices import Accounts
from goldbench.llm.server_settings import PATIENCE_S, ModelSettings
from goldbench.ports import Speed, Usage
from goldbench.text.display import dollars

_log = logging.getLogger(__name__)

HEAD_START_S = 10.0
"""How long a call to a server that has answered nothing yet goes alone, in seconds, so that one call learns for all
what the server takes. A server refuses before it writes; beyond this time it is writing, and the others follow."""

NOT_JSON = "the server answers with something that is not JSON (is the base URL right, with its /v1?)"

COMING_UP = frozenset({"http-502", "http-503", "http-504", "http-529", "rate-limit"})
"""What a server that starts, loads its model or has too much to do answers; any other error is waited for less long."""

REFUSALS_BEFORE_END = 5
"""Close the gate after this many different calls were refused and none was answered."""

_OLDEST_SHOWN = 3
_WINDOW_S = 60.0
_CALLS_BEFORE_DOWN = 3
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 5.0


@dataclass(slots=True, eq=False)
class Ticket:
    """A call in flight: its name without content, its reservation, and when it was sent."""

    label: str
    reservation: Reservation
    since: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of the calls, for a progress line. ``oldest`` holds the oldest calls in flight and their seconds."""

    in_flight: int
    done: int
    failed: int
    tokens: int
    usd: float
    waits_s: float
    """The seconds until the next call may go; 0 unless a rate limit or a server that is gone holds it back."""
    server_gone: bool
    oldest: tuple[tuple[str, float], ...]
    answered: Speed | None = None

    def speed(self) -> Speed | None:
        """Return how fast calls are answered, None before the first answer."""
        return self.answered

    def line(self) -> str:
        """Return the state as one line."""
        parts = [f"in flight {self.in_flight}", f"done {self.done}", f"{self.tokens:,} tokens"]
        if self.usd:
            parts.append(dollars(self.usd))
        if self.failed:
            parts.append(f"failed {self.failed}")
        if self.waits_s > 0:
            parts.append(f"{'server is gone, next try' if self.server_gone else 'rate limit'} in {self.waits_s:.1f} s")
        return ", ".join(parts)

    def stall(self, after_s: float) -> str | None:
        """Return a line that names the oldest calls once one has been in flight for ``after_s`` seconds, else None."""
        old = [f"{label} {seconds:.3g} s" for label, seconds in self.oldest if seconds >= after_s]
        return f"no answer yet: {', '.join(old)} ({self.in_flight} in flight)" if old else None


class Gate:
    """Admits calls first come, first served. All state lives on one event loop, so no check can be overtaken.

    The layers of a path share its settings, its budget and its accounts through the gate.
    """

    def __init__(self, settings: ModelSettings, *, budget: Budget) -> None:
        self.settings = settings
        self.budget = budget
        self.accounts = Accounts()
        self.health = Health(settings.unreachable_s, settings.never_reached_s)
        self.timeout_s = settings.timeout_seconds or settings.first_timeout_s
        self.answered = 0
        self._width = Width(settings.calls_at_once, comfortable_s=PATIENCE_S if settings.concurrency is None else None)
        self._requests = RateLimit(settings.requests_per_minute)
        self._tokens = RateLimit(settings.tokens_per_minute)
        # With a cap on requests no request may be wasted: the first call goes alone until it is answered.
        self._head_start_s = HEAD_START_S if settings.max_requests is None else math.inf
        self._alone_until = 0.0
        self._is_proven = False
        self._closed: str | None = None
        self._in_flight: dict[Ticket, None] = {}
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()
        self._waits_until = 0.0
        self._failed = 0
        self._answer_s = 0.0
        self._answer_tokens = 0
        self._refused: set[str] = set()
        self._last_fault = ""
        budget.call_when_freed(self._changed.set)

    async def enter(self, label: str, most: Callable[[], Usage]) -> Ticket:
        """Wait for a slot and take it.

        Args:
            label: The call's name, without content.
            most: Returns the most that the call may cost as it would be sent now.

        Raises:
            LimitReached: A cap forbids the call; nothing was sent.
            ModelUnavailable: The server is gone for good, or has refused every call.
        """
        async with self._turn:
            while True:
                cost = most()  # anew after each wait: the server's dialect may have been learnt meanwhile
                delay_s = self._delay_s(cost)
                if delay_s <= 0:
                    break
                await self._wait(delay_s)
            self._waits_until = 0.0
            return self._admit(label, cost)

    async def _wait(self, delay_s: float) -> None:
        """Wait until the delay or the deadline has passed, or a call comes back."""
        left = self.budget.remaining_s()
        self._waits_until = 0.0 if delay_s == math.inf else time.monotonic() + delay_s
        seconds = min(delay_s, math.inf if left is None else max(0.0, left))
        self._changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if seconds == math.inf else seconds + 0.001):
                await self._changed.wait()

    def _delay_s(self, most: Usage) -> float:
        """Return 0 when the call may go now, else the seconds until the next check (inf: when a call comes back)."""
        now = time.monotonic()
        if self._closed is not None:
            raise ModelUnavailable(self._closed)
        left = self.budget.remaining_s()
        gone_s = self.health.gone_for_s(now)
        if gone_s is not None and (gone_s >= self.health.patience_s or (left is not None and left <= 0)):
            raise ModelUnavailable(f"{self.settings.shown_url()}: {_gone(self._last_fault, gone_s)}")
        fits = self.budget.check(most)
        in_flight = len(self._in_flight)
        if not fits or in_flight >= self._width.now or (self.health.is_down and in_flight):
            return math.inf
        if gone_s is not None and self.health.next_try > now:
            return min(self.health.next_try - now, self.health.patience_s - gone_s)
        if in_flight and not self._is_proven and self._alone_until > now:
            return self._alone_until - now
        return max(self._requests.wait_s(1, now), self._tokens.wait_s(most.tokens, now))

    def _admit(self, label: str, most: Usage) -> Ticket:
        now = time.monotonic()
        if not self._in_flight:
            self._alone_until = now + self._head_start_s
        self._requests.spend(1, now)
        self._tokens.spend(most.tokens, now)
        ticket = Ticket(label, self.budget.reserve(most), now)
        self._in_flight[ticket] = None
        return ticket

    def leave(self, ticket: Ticket, cost: Usage | None) -> None:
        """Give the slot back.

        Args:
            ticket: The call.
            cost: What it cost, None if nothing was sent.
        """
        del self._in_flight[ticket]
        if cost is None:  # lets the calls that wait go ahead, here and at every gate of the budget
            self.budget.release(ticket.reservation)
        else:
            self.budget.settle(ticket.reservation, cost)

    def report_answer(self, ticket: Ticket, output_tokens: int) -> None:
        """Record that the server answered, and how many tokens it wrote."""
        seconds = time.monotonic() - ticket.since
        self.answered += 1
        self._answer_s += seconds
        self._answer_tokens += output_tokens
        self._is_proven = True
        self._width.record(overloaded=False, seconds=seconds)
        self.health.record_success()

    def report_failure(self, ticket: Ticket, cause: Cause, kind: str) -> None:
        """Record that an exchange gave no answer."""
        self._failed += 1
        self._last_fault = kind or self._last_fault
        self._width.record(overloaded=cause is Cause.OVERLOADED, timed_out=kind == "timeout")
        if cause is Cause.UNREACHABLE or cause is Cause.BROKEN or kind == "http-503":
            # A reply that is not JSON may be another server's page: it does not count as having reached the server.
            self.health.record_failure(
                ticket.label,
                time.monotonic(),
                has_connected=cause is not Cause.UNREACHABLE,
                has_spoken=kind in COMING_UP,
            )
        elif cause is not Cause.LEARNED:  # an error that taught something says nothing of whether the server works
            self.health.record_success()

    def report_refusal(self, label: str, reason: str) -> None:
        """Record a permanent refusal; close the gate when the server refused all of several calls."""
        self._refused.add(label)
        if not self.answered and len(self._refused) >= REFUSALS_BEFORE_END:
            self.close(Message("{}; each of the first {} calls ended like this", reason, len(self._refused)))

    def close(self, reason: str) -> None:
        """Refuse every waiting and later call with ``ModelUnavailable`` and this reason."""
        self._closed = self._closed or reason
        self._changed.set()

    def lengthen_timeout(self, after_s: float) -> None:
        """Give later calls twice the time that one has run out of, unless the user fixed it."""
        if self.settings.timeout_seconds is None:
            self.timeout_s = max(self.timeout_s, 2 * after_s)

    def resize(self, calls: int) -> None:
        """Let so many calls be in flight from now on; more that are in flight go on."""
        self._width = Width(calls)
        self._changed.set()

    def mark_ready(self) -> None:
        """Record that the server's dialect is known, so that no call has to go ahead alone."""
        self._is_proven = True

    def snapshot(self) -> Snapshot:
        """Return the state of the calls."""
        now = time.monotonic()
        oldest = itertools.islice(self._in_flight, _OLDEST_SHOWN)
        is_measured = self.answered and self._answer_s > 0
        return Snapshot(
            in_flight=len(self._in_flight),
            done=self.answered,
            failed=self._failed,
            tokens=self.budget.tokens,
            usd=self.budget.usd,
            waits_s=max(0.0, self._waits_until - now),
            server_gone=self.health.is_down,
            oldest=tuple((ticket.label, now - ticket.since) for ticket in oldest),
            answered=Speed(self.answered, self._answer_s, self._answer_tokens) if is_measured else None,
        )


def _gone(fault: str, seconds: float) -> str:
    """Return what a server did instead of answering, and what to do about it."""
    then = "then run again; every answer so far is kept"
    if fault == "not-json":
        return f"{NOT_JSON} and has for {seconds:.0f} s; correct it, {then}"
    does = {
        "too-long": "answers without end",
        "connection": "breaks off connections, or answers with something that is not HTTP",
    }.get(fault, f"answers HTTP {fault.removeprefix('http-')}" if fault.startswith("http-") else "")
    if not does:
        return f"the server has given no answer for {seconds:.0f} s: start it or correct base_url, {then}"
    return f"the server {does} and has for {seconds:.0f} s: look at it or correct base_url, {then}"


class Width:
    """Adaptive concurrency between 1 and a cap.

    A round is as many calls as were allowed when it began. After a round in which a share f of the calls met an
    overloaded server the width becomes ``width * (1 - f / 2)``, and it grows by a sixteenth of the cap when at most
    half did. One 429 in five therefore costs little, and a server that refuses everything soon gets one call at a time.

    With ``comfortable_s`` the width begins at 1. It doubles while answers take no longer than these seconds on average,
    or than one and a half times those of the fastest round, and shrinks in proportion once they take more than twice as
    long: a slow server is not given calls that would only wait there (by Little's law their number is the rate of
    answers times the seconds that each takes). Halved after a round with a time-out.

    Source: the proportional decrease of DCTCP (Alizadeh et al., SIGCOMM 2010, eq. 2) without its moving average.
    """

    def __init__(self, cap: int, *, comfortable_s: float | None = None) -> None:
        self.cap = cap
        self._comfortable_s = comfortable_s
        self._width = float(cap if comfortable_s is None else 1)
        self._fastest_s = math.inf
        self._begin_round()

    def _begin_round(self) -> None:
        self._size = self.now
        self._left = self.now
        self._overloaded = 0
        self._has_timed_out = False
        self._seconds: list[float] = []

    @property
    def now(self) -> int:
        """The number of calls that may be in flight, 1 or more."""
        return max(1, int(self._width))

    def record(self, *, overloaded: bool, timed_out: bool = False, seconds: float | None = None) -> None:
        """Record how one call ended.

        Args:
            overloaded: Whether the server wanted fewer calls, or gave no answer in time.
            timed_out: Whether it gave no answer in time.
            seconds: How long its answer took, None without an answer.
        """
        self._left -= 1
        self._overloaded += overloaded
        self._has_timed_out |= timed_out
        if seconds is not None:
            self._seconds.append(seconds)
        if self._left > 0:
            return
        share = self._overloaded / self._size
        width = self._width * (1 - share / 2)
        if self._comfortable_s is not None and self._has_timed_out:
            width = self._width / 2
        elif self._comfortable_s is not None and not share:
            width *= self._growth(self._comfortable_s)
        elif share <= 0.5:
            width += max(1.0, self.cap / 16)
        self._width = min(float(self.cap), max(1.0, width))
        self._begin_round()

    def _growth(self, comfortable_s: float) -> float:
        """Return the factor by which the width changes after a round without an overload."""
        if not self._seconds:
            return 2.0
        mean = sum(self._seconds) / len(self._seconds)
        self._fastest_s = min(self._fastest_s, mean)
        comfortable_s = max(comfortable_s, 1.5 * self._fastest_s)
        if mean <= comfortable_s:
            return 2.0
        return comfortable_s / mean if mean > 2 * comfortable_s else 1.0


@dataclass(slots=True)
class RateLimit:
    """At most ``limit`` requests or tokens in any 60 s, None for any number."""

    limit: int | None
    _spent: deque[tuple[float, int]] = field(default_factory=deque)

    def wait_s(self, units: int, now: float) -> float:
        """Return the seconds until ``units`` may leave; more than the limit wait for an empty minute."""
        if self.limit is None:
            return 0.0
        while self._spent and self._spent[0][0] <= now - _WINDOW_S:
            self._spent.popleft()
        excess = sum(spent for _, spent in self._spent) + min(units, self.limit) - self.limit
        wait_s = 0.0
        for at, spent in self._spent:
            if excess <= 0:
                break
            excess -= spent
            wait_s = at + _WINDOW_S - now
        return wait_s

    def spend(self, units: int, now: float) -> None:
        """Count units that leave now."""
        if self.limit is not None:
            self._spent.append((now, units))


@dataclass(slots=True)
class Health:
    """Whether the server is down, from how calls end.

    One connection that is not made means down; so do broken or unavailable calls of three different requests with
    nothing good between them. While it is down one call goes out at a time, after a pause that doubles, and its
    failure is not counted against the call. A server that accepts a call and gives no answer in time is slow, not gone.
    """

    unreachable_s: float
    never_reached_s: float
    is_down: bool = False
    next_try: float = 0.0
    _is_reached: bool = False
    _down_since: float | None = None
    _pause_s: float = _FIRST_PAUSE_S
    _failing: set[str] = field(default_factory=set)

    @property
    def patience_s(self) -> float:
        """How long the server may be gone: a server that has never answered is given up sooner."""
        return self.unreachable_s if self._is_reached else self.never_reached_s

    def record_success(self) -> None:
        """Record a reply, or a refusal, which a server that works sends as well."""
        self._is_reached = True
        self.is_down = False
        self._down_since = None
        self._pause_s = _FIRST_PAUSE_S
        self._failing.clear()

    def record_failure(self, label: str, now: float, *, has_connected: bool = True, has_spoken: bool = False) -> None:
        """Record a call that the server did not answer as a working one does.

        Args:
            label: The call's name.
            now: The seconds of a monotonic clock.
            has_connected: Whether a connection was made.
            has_spoken: Whether the server answered in HTTP as it does while it loads a model.
        """
        self._is_reached = self._is_reached or has_spoken
        if self._down_since is None:
            self._down_since = now
        if has_connected:
            self._failing.add(label)
        if self.is_down:
            self._pause_s = min(_LONGEST_PAUSE_S, 2 * self._pause_s)
        elif not has_connected or len(self._failing) >= _CALLS_BEFORE_DOWN:
            self.is_down = True
            _log.info("the server is gone; one call at a time from now on")
        if self.is_down:
            self.next_try = now + self._pause_s

    def gone_for_s(self, now: float) -> float | None:
        """Return for how long a server that is down has been gone, None if it is not down."""
        return now - self._down_since if self.is_down and self._down_since is not None else None
