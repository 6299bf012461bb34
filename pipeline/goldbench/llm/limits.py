"""What every call to a server passes: how many at once, how fast, how long, and whether at all."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections import deque
from dataclasses import dataclass, field
from statistics import median

from goldbench.errors import Message, ModelUnavailable
from goldbench.llm.budget import Budget, Reservation
from goldbench.llm.exchange_end import Allowance, Cause
from goldbench.llm.prices import Accounts
from goldbench.llm.server_settings import PATIENCE_S, ModelSettings
from goldbench.ports import Speed, Usage
from goldbench.text.display import dollars

HEAD_START_S = 10.0
"""How long a call to a server that has answered nothing yet goes alone, in seconds, so that one call learns for all
what the server takes. A server refuses before it writes; beyond this time it is writing, and the others follow."""

_OLDEST_SHOWN = 3
_LONGEST_WAIT_S = 300.0
"""The longest wait in seconds that a server's headers are believed; ``retry_s`` can make it shorter."""

NOT_JSON = "the server answers with something that is not JSON (is the base URL right, with its /v1?)"

COMING_UP = frozenset({"http-502", "http-503", "http-504", "http-529", "rate-limit"})
"""What a server that starts, loads its model or has too much to do answers; any other error is waited for less long."""

REFUSALS_BEFORE_END = 5
"""Close the gate after this many different calls were refused and none was answered."""

_WINDOW_S = 60.0
_DEFAULT_RESET_S = 1.0
"""Seconds until a limit is taken to be full again where the server does not say."""

_FIRST_WIDTH = 4
"""Calls in flight at first if the user sets no number."""
_RATES_KEPT = 20
"""The number of recent answers whose speed says how long a call may take."""
_MARGIN = 2.0
"""A call may take this many times the seconds that its longest answer would take at the measured speed."""

_CALLS_BEFORE_OPEN = 3
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 5.0


@dataclass(slots=True, eq=False)
class Ticket:
    """A call that holds, or waits for, a slot."""

    label: str
    most: Usage
    since: float = 0.0
    reservation: Reservation | None = None
    waited: bool = False


@dataclass(slots=True)
class Ending:
    """How a call ended: why it failed (None for an answer), the kind of a failure that may pass, and what is left."""

    cause: Cause | None = None
    fault: str = ""
    allowance: Allowance | None = None


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
        self.settings, self.budget, self.accounts = settings, budget, Accounts()
        self._width = Width(settings.calls_at_once, comfortable_s=PATIENCE_S if settings.concurrency is None else None)
        self.tempo = Tempo(settings.timeout_seconds, settings.first_timeout_s)
        longest_s = min(_LONGEST_WAIT_S, settings.retry_s)
        self._requests = Quota(settings.requests_per_minute, longest_s)
        self._tokens = Quota(settings.tokens_per_minute, longest_s)
        self.circuit = Circuit(settings.unreachable_s, settings.never_reached_s)
        # With a cap on requests no request may be wasted: the first call goes alone until it is answered.
        self._head_start_s = HEAD_START_S if settings.max_requests is None else math.inf
        self._alone_until = 0.0
        self._proven = False
        self._closed: str | None = None
        self._in_flight: dict[Ticket, None] = {}
        self._queue: deque[tuple[Ticket, asyncio.Future[None]]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._waits_until = 0.0
        self._done = self._failed = 0
        self._refused: set[str] = set()
        self._put_off = ""
        self._last_fault = ""
        budget.call_when_freed(self._pump)

    async def enter(self, label: str, most: Usage) -> Ticket:
        """Wait for a slot and take it.

        Args:
            label: The call's name, without content.
            most: The most that the call may cost.

        Raises:
            LimitReached: A cap forbids the call; nothing was sent.
            ModelUnavailable: The server is gone for good, or has refused every call.
        """
        ticket = Ticket(label, most)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((ticket, future))
        self._pump()
        ticket.waited = not future.done()
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.leave(ticket, None, None)
            raise
        return ticket

    def leave(self, ticket: Ticket, ending: Ending | None, cost: Usage | None) -> None:
        """Give the slot back.

        Args:
            ticket: The call.
            ending: How it ended, None for a cancelled call, whose end says nothing about the server.
            cost: What it cost, None if nothing was sent.
        """
        now, cause = time.monotonic(), ending.cause if ending else None
        del self._in_flight[ticket]
        if ending is not None:
            self._done += cause is None
            self._failed += cause is not None
            self._last_fault = ending.fault or self._last_fault
            self._proven = self._proven or cause is None
            seconds = now - ticket.since
            self._width.hear(overloaded=cause is Cause.OVERLOADED, seconds=seconds if cause is None else None)
            if cause is None:
                self._put_off = ""
                self.tempo.answered(seconds, 0 if cost is None or cost.estimated else cost.output_tokens)
            # A reply that is not JSON may be another server's page: it does not count as having reached the server.
            ailing, spoke = ending.fault == "http-503", ending.fault in COMING_UP
            self.circuit.hear(cause, ticket.label, ailing=ailing, spoke=spoke, now=now)
            if ending.allowance is not None:
                self._take_in(ending.allowance, ticket, now)
        assert ticket.reservation is not None
        if cost is None:  # last, because it lets the calls that wait go ahead, here and at every gate of the budget
            self.budget.release(ticket.reservation)
        else:
            self.budget.settle(ticket.reservation, cost)

    def _take_in(self, left: Allowance, ticket: Ticket, now: float) -> None:
        later = [other.most.tokens for other in self._in_flight if other.since > ticket.since]
        sent = ticket.since
        self._requests.announce(left.requests, left.requests_reset_s, sent=sent, later=len(later), now=now)
        self._tokens.announce(left.tokens, left.tokens_reset_s, sent=sent, later=sum(later), now=now)

    def close(self, reason: str) -> None:
        """Refuse every waiting and later call with ``ModelUnavailable`` and this reason."""
        self._closed = self._closed or reason
        self._pump()

    def report_refusal(self, label: str, reason: str) -> None:
        """Record a permanent refusal; close the gate when the server refused all of several calls."""
        self._refused.add(label)
        if not self._done and len(self._refused) >= REFUSALS_BEFORE_END:
            self.close(Message("{}; each of the first {} calls ended like this", reason, len(self._refused)))

    def report_long_wait(self, label: str, seconds: float) -> None:
        """Record a longer wait than a run waits; close the gate at the second in a row.

        Args:
            label: The call.
            seconds: The wait that the server asks for.
        """
        if self._put_off not in {"", label}:
            self.close(
                f"{self.settings.shown_url()}: the server asks to wait {seconds:,.0f} s (HTTP 429): run again then, or "
                "lower model.requests_per_minute; every answer so far is kept"
            )
        self._put_off = label

    def report_timeout(self, seconds: float) -> None:
        """Record that a call ended after several time-outs; close the gate if no call was ever answered.

        Args:
            seconds: The longest time that the call was given.
        """
        if not self._done:
            message = Message(
                "{}: the server accepts calls, but answered none within {:.3g} s: see whether it is loading or busy, "
                "use a smaller model, or give {concurrency=1} and a longer {timeout=}",
                *(self.settings.shown_url(), seconds),
            )
            self.close(message)

    def resize(self, calls: int) -> None:
        """Let so many calls be in flight from now on; more that are in flight go on."""
        self._width = Width(calls)
        self._pump()

    def mark_ready(self) -> None:
        """Record that the server's dialect is known, so that no call has to go ahead alone."""
        self._proven = True

    def snapshot(self) -> Snapshot:
        """Return the state of the calls."""
        now = time.monotonic()
        oldest = itertools.islice(self._in_flight, _OLDEST_SHOWN)
        return Snapshot(
            in_flight=len(self._in_flight),
            done=self._done,
            failed=self._failed,
            tokens=self.budget.tokens,
            usd=self.budget.usd,
            waits_s=max(0.0, self._waits_until - now) if self._queue else 0.0,
            server_gone=self.circuit.is_open,
            oldest=tuple((ticket.label, now - ticket.since) for ticket in oldest),
            answered=self.tempo.speed(),
        )

    def _pump(self) -> None:
        while self._queue:
            ticket, future = self._queue[0]
            if future.done():
                self._queue.popleft()
                continue
            try:
                delay_s = self._delay_s(ticket)
            except Exception as error:  # noqa: BLE001 - the call that waits gets it
                self._queue.popleft()
                future.set_exception(error)
                continue
            if delay_s:
                self._set_timer(delay_s)
                return
            self._queue.popleft()
            self._admit(ticket)
            future.set_result(None)

    def _delay_s(self, ticket: Ticket) -> float:
        """Return 0 when the call may go now, else the seconds until the next check (inf: when a call comes back)."""
        now = time.monotonic()
        if self._closed is not None:
            raise ModelUnavailable(self._closed)
        left = self.budget.remaining_s()
        gone = self.circuit.gone_for_s(now, at_most_s=None if left is None or left > 0 else 0.0)
        if gone is not None:
            raise ModelUnavailable(f"{self.settings.shown_url()}: {_gone(self._last_fault, gone)}")
        fits = self.budget.check(ticket.most)
        in_flight = len(self._in_flight)
        if not fits or in_flight >= self._width.now or (self.circuit.is_open and in_flight):
            return math.inf
        if self.circuit.is_open and self.circuit.next_try > now:
            return min(self.circuit.next_try - now, max(0.001, self.circuit.gives_up_in_s(now)))
        if in_flight and not self._proven and self._alone_until > now:
            return self._alone_until - now
        return max(self._requests.wait_s(1, now), self._tokens.wait_s(ticket.most.tokens, now))

    def _admit(self, ticket: Ticket) -> None:
        now = time.monotonic()
        ticket.since = now
        if not self._in_flight:
            self._alone_until = now + self._head_start_s
        self._requests.spend(1, now)
        self._tokens.spend(ticket.most.tokens, now)
        ticket.reservation = self.budget.reserve(ticket.most)
        self._in_flight[ticket] = None

    def _set_timer(self, delay_s: float) -> None:
        left = self.budget.remaining_s()
        self._waits_until = time.monotonic() + delay_s if delay_s < math.inf else 0.0
        seconds = delay_s if left is None else min(delay_s, max(0.0, left))
        if seconds == math.inf:
            return
        loop = asyncio.get_running_loop()
        at = loop.time() + seconds + 0.001
        if self._timer is not None:
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = loop.call_at(at, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._pump()


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
class Quota:
    """How many requests or tokens may leave: at most ``limit`` in any 60 s, and what the server's headers leave.

    ``limit`` is None where the user knows none. No announced wait is believed beyond ``longest_s``: one call then finds
    out whether more may follow.
    """

    limit: int | None = None
    longest_s: float = 300.0
    _left: int | None = None
    """What the server announced, less what has left since; full again at ``_until``."""
    _until: float = 0.0
    _newest: float = 0.0
    _spent: deque[tuple[float, int]] = field(default_factory=deque)
    _sum: int = 0

    def wait_s(self, units: int, now: float) -> float:
        """Return the seconds until ``units`` may leave; more than the limit wait for an empty minute."""
        announced_s = 0.0 if self._left is None or self._left >= units else max(0.0, self._until - now)
        if self.limit is None:
            return announced_s
        while self._spent and self._spent[0][0] <= now - _WINDOW_S:
            self._sum -= self._spent.popleft()[1]
        excess = self._sum + min(units, self.limit) - self.limit
        for at, spent in self._spent:
            if excess <= 0:
                break
            excess -= spent
            announced_s = max(announced_s, at + _WINDOW_S - now)
        return announced_s

    def spend(self, units: int, now: float) -> None:
        """Count units that leave now. After a reset one call goes ahead, and its answer says how many may follow."""
        if self.limit is not None:
            self._spent.append((now, units))
            self._sum += units
        if self._left is not None:
            if self._left < units:
                self._until = now + _DEFAULT_RESET_S
            self._left = max(0, self._left - units)

    def announce(self, left: int | None, reset_s: float | None, *, sent: float, later: int, now: float) -> None:
        """Take in the headers of one answer.

        Args:
            left: The units left when the server answered, None where it does not say.
            reset_s: The seconds until they are full again, None where it does not say.
            sent: When the call was sent; the answer to an earlier call than the last that was heard is ignored.
            later: The units of the calls in flight that were sent after it.
            now: The monotonic time in seconds.
        """
        if left is None or sent < self._newest:
            return
        self._newest = sent
        self._left = left - later
        self._until = now + (_DEFAULT_RESET_S if reset_s is None else min(reset_s, self.longest_s))


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
            now: The seconds of a monotonic clock.
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
