"""What every call to a server passes: how many at once, how fast, how long, and whether at all."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from goldbench.errors import Message, ModelUnavailable
from goldbench.llm.budget import Budget, Reservation
from goldbench.llm.exchange import ExchangeFault
from goldbench.llm.prices import Accounts
from goldbench.llm.server_settings import PATIENCE_S, ModelSettings
from goldbench.ports import Usage
from goldbench.text.display import dollars

_log = logging.getLogger(__name__)

NOT_JSON = "the server answers with something that is not JSON (is the base URL right, with its /v1?)"

COMING_UP = frozenset({"http-502", "http-503", "http-504", "http-529", "rate-limit"})
"""What a server that starts, loads its model or has too much to do answers; any other error is waited for less long."""

_LONGEST_TIMEOUTS = 8
"""The longest time of a call, in first times: 960 s."""
QUESTIONS_BEFORE_GONE = 3
"""Different calls that a server which has answered must fail before it counts as gone: one alone may be at fault."""
REFUSALS_BEFORE_END = 5
"""Close the gate after this many different calls were refused and none was answered."""

_OLDEST_SHOWN = 3


@dataclass(slots=True, eq=False)
class Ticket:
    """A call in flight: its name without content, its reservation, and when it was sent."""

    label: str
    reservation: Reservation
    since: float


@dataclass(frozen=True, slots=True)
class Speed:
    """How many calls were answered, the seconds they took together, and the tokens that they wrote."""

    calls: int
    seconds: float
    tokens: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of the calls, for a progress line.

    ``oldest`` holds the oldest calls in flight and their seconds; ``speed`` is None before the first answer.
    """

    in_flight: int
    done: int
    failed: int
    tokens: int
    usd: float
    server_gone: bool
    oldest: tuple[tuple[str, float], ...]
    speed: Speed | None = None

    def line(self) -> str:
        """Return the state as one line."""
        parts = [f"in flight {self.in_flight}", f"done {self.done}", f"{self.tokens:,} tokens"]
        if self.usd:
            parts.append(dollars(self.usd))
        if self.failed:
            parts.append(f"failed {self.failed}")
        if self.server_gone:
            parts.append("server is gone, trying again")
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
        self.timeout_s = settings.timeout_seconds or settings.first_timeout_s
        self.timeouts = 0
        self.answered = 0
        self._width = Width(settings.calls_at_once)
        self._closed: str | None = None
        self._in_flight: dict[Ticket, None] = {}
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()
        self._failed = 0
        self._answer_s = 0.0
        self._answer_tokens = 0
        self._refused: set[str] = set()
        self._patience_s = settings.never_reached_s
        self._failing_since: float | None = None
        self._failing: set[str] = set()
        """Names of the calls that failed since the last answer."""
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
            cost = most()
            while not self._may_go(cost):
                self._changed.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), self.budget.remaining_s())
                cost = most()  # anew: the server's dialect may have been learnt meanwhile
            ticket = Ticket(label, self.budget.reserve(cost), time.monotonic())
            self._in_flight[ticket] = None
            return ticket

    def _may_go(self, most: Usage) -> bool:
        """Return whether a call may start now; if not, wait until a call in flight ends.

        Raises:
            ModelUnavailable: The server is given up.
        """
        if self._closed is not None:
            raise ModelUnavailable(self._closed)
        gone_s = 0.0 if self._failing_since is None else time.monotonic() - self._failing_since
        has_worked = self.answered and self._last_fault != "connect"
        is_server = not has_worked or len(self._failing) >= QUESTIONS_BEFORE_GONE
        if is_server and gone_s >= self._patience_s:
            raise ModelUnavailable(f"{self.settings.shown_url()}: {_gone(self._last_fault, gone_s)}")
        return self.budget.check(most) and len(self._in_flight) < self._width.now

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
        self._width.record(seconds=seconds)
        if self.settings.timeout_seconds is None and 2 * seconds < self.settings.first_timeout_s:
            self.timeout_s = self.settings.first_timeout_s
        self._record_contact()

    def report_failure(self, label: str, cause: ExchangeFault, kind: str) -> None:
        """Record that an exchange gave no answer.

        A server that accepts a call and gives no answer in time is slow, not gone.
        """
        self._failed += 1
        if cause is ExchangeFault.LEARNED:  # says nothing of whether the server works
            return
        is_overloaded = cause in {ExchangeFault.OVERLOADED, ExchangeFault.UNREACHABLE}
        self._width.record(is_overloaded=is_overloaded, has_timed_out=kind == "timeout")
        self._last_fault = kind or self._last_fault
        if cause not in {ExchangeFault.UNREACHABLE, ExchangeFault.BROKEN} and kind != "http-503":
            self._record_contact()  # a refusal, which a server that works sends as well
            return
        if kind in COMING_UP:  # else it may be another server's page
            self._patience_s = self.settings.unreachable_s
        self._failing.add(label)
        if self._failing_since is None:
            _log.info("%s: %s; the server is given up after %.0f s without an answer", label, kind, self._patience_s)
            self._failing_since = time.monotonic()

    def _record_contact(self) -> None:
        self._patience_s = self.settings.unreachable_s
        self._failing_since = None
        self._failing.clear()

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
        """Give later calls twice the time that one has run out of, at most 960 s, unless the user fixed it."""
        self.timeouts += 1
        if self.settings.timeout_seconds is None:
            self.timeout_s = min(max(self.timeout_s, 2 * after_s), _LONGEST_TIMEOUTS * self.settings.first_timeout_s)

    def resize(self, calls: int) -> None:
        """Let so many calls be in flight from now on; more that are in flight go on."""
        self._width = Width(calls, start=calls)
        self._changed.set()

    @property
    def is_gone(self) -> bool:
        """Whether no connection was made lately."""
        return self._failing_since is not None and self._last_fault == "connect"

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
            server_gone=self.is_gone,
            oldest=tuple((ticket.label, now - ticket.since) for ticket in oldest),
            speed=Speed(self.answered, self._answer_s, self._answer_tokens) if is_measured else None,
        )


def _gone(fault: str, seconds: float) -> str:
    """Return what a server did instead of answering, and what to do about it."""
    then = "then run again; every answer so far is kept"
    if fault == "not-json":
        return f"{NOT_JSON} and has for {seconds:.0f} s; correct it, {then}"
    does = {
        "too-long": "answers without end",
        "compressed": "compresses its answers, which nobody asked for,",
        "connection": "breaks off connections, or answers with something that is not HTTP",
    }.get(fault, f"answers HTTP {fault.removeprefix('http-')}" if fault.startswith("http-") else "")
    if not does:
        return f"the server has given no answer for {seconds:.0f} s: start it or correct base_url, {then}"
    return f"the server {does} and has for {seconds:.0f} s: look at it or correct base_url, {then}"


class Width:
    """Adaptive concurrency between 1 and a cap.

    A round is as many calls as were allowed when it began. The width begins at 1, so that the first call learns for all
    what the server takes. It doubles while answers take no longer than `PATIENCE_S` on average, or than one and a half
    times those of the fastest round, and shrinks in proportion once they take more than twice as long: a slow server is
    not given calls that would only wait there (by Little's law their number is the rate of answers times the seconds
    that each takes). It is halved after a round with a time-out.

    After a round in which a share f of the calls met an overloaded server it becomes ``width * (1 - f / 2)``, and from
    then on it grows by a sixteenth of the cap when at most half did. One 429 in five therefore costs little, and a
    server that refuses everything soon gets one call at a time.

    Source: the proportional decrease of DCTCP (Alizadeh et al., SIGCOMM 2010, eq. 2) without its moving average.
    """

    def __init__(self, cap: int, *, start: int = 1) -> None:
        self.cap = cap
        self._width = float(start)
        self._fastest_s = math.inf
        self._was_overloaded = False
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

    def record(self, *, is_overloaded: bool = False, has_timed_out: bool = False, seconds: float | None = None) -> None:
        """Record how one call ended.

        Args:
            is_overloaded: Whether the server wanted fewer calls, gave no answer in time, or took no connection.
            has_timed_out: Whether it gave no answer in time.
            seconds: How long its answer took, None without an answer.
        """
        self._left -= 1
        self._overloaded += is_overloaded
        self._was_overloaded |= is_overloaded
        self._has_timed_out |= has_timed_out
        if seconds is not None:
            self._seconds.append(seconds)
        if self._left > 0:
            return
        share = self._overloaded / self._size
        growth = self._growth()
        if self._has_timed_out:
            width = self._width / 2
        elif share or (self._was_overloaded and growth > 1):
            width = self._width * (1 - share / 2) + (max(1.0, self.cap / 16) if share <= 0.5 else 0.0)
        else:
            width = self._width * growth
        self._width = min(float(self.cap), max(1.0, width))
        self._begin_round()

    def _growth(self) -> float:
        """Return the factor by which the width changes after a round without an overload."""
        if not self._seconds:
            return 1.0
        mean = sum(self._seconds) / len(self._seconds)
        self._fastest_s = min(self._fastest_s, mean)
        comfortable_s = max(PATIENCE_S, 1.5 * self._fastest_s)
        if mean <= comfortable_s:
            return 2.0
        return comfortable_s / mean if mean > 2 * comfortable_s else 1.0
