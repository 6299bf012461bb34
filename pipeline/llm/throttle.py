"""The one door through which every call to a server goes: how many at once, how fast, and whether at all."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from dataclasses import dataclass

from pipeline.errors import ModelUnavailable
from pipeline.llm.budget import Budget, Reservation
from pipeline.llm.circuit import Circuit
from pipeline.llm.faults import Allowance, Cause
from pipeline.llm.rates import Rates
from pipeline.llm.server_settings import ModelSettings
from pipeline.llm.width import Width
from pipeline.text.display import dollars

HEAD_START_TICKS, TICK_S = 4, 0.01
"""How long the very first call to a server goes alone. A server that refuses a parameter does so within that time as
a rule, so that one call learns for all; a longer wait would cost every run that goes well. It is counted in ticks of
the event loop, because a loop that is busy starting calls has not yet had the time to read an answer."""

_OLDEST_SHOWN = 3
_LONGEST_WAIT_S = 300.0
"""A server that asks for more is asked again all the same; what one call may wait can make it less."""

_AILING = frozenset({"timeout", "http-503"})
NO_JSON = "answers with something that is no JSON (is the base URL right, with its /v1?)"

REFUSALS_BEFORE_END = 5
"""So many different calls refused, and none answered: no other call will fare better."""


@dataclass(slots=True, eq=False)
class Ticket:
    """A call that holds, or waits for, a slot."""

    label: str
    want: Reservation
    number: int = 0
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Where the calls are, for a progress line. ``oldest`` are the calls in flight longest, with their seconds."""

    in_flight: int
    queued: int
    done: int
    failed: int
    width: int
    requests: int
    tokens: int
    usd: float
    waits_s: float
    """Seconds until the next call may go, where a rate limit or a server that is gone holds it back."""
    server_gone: bool
    oldest: tuple[tuple[str, float], ...]

    def line(self) -> str:
        """Return it as one line."""
        parts = [f"in flight {self.in_flight}", f"done {self.done}", f"{self.tokens:,} tokens"]
        if self.usd:
            parts.append(dollars(self.usd))
        if self.failed:
            parts.append(f"failed {self.failed}")
        if self.waits_s > 0:
            parts.append(f"{'server is gone, next try' if self.server_gone else 'rate limit'} in {self.waits_s:.1f} s")
        return ", ".join(parts)

    def stall(self, after_s: float) -> str | None:
        """Return a line that names the oldest calls, when one of them has been in flight for ``after_s`` or more."""
        old = [f"{label} {seconds:.0f} s" for label, seconds in self.oldest if seconds >= after_s]
        return f"no answer yet: {', '.join(old)} ({self.in_flight} in flight)" if old else None


class Gate:
    """Admits calls first come, first served. All state lives on one event loop, so no check can be overtaken."""

    def __init__(self, settings: ModelSettings, *, budget: Budget) -> None:
        self._settings, self._budget = settings, budget
        self._width = Width(settings.concurrency)
        self._rates = Rates(
            settings.requests_per_minute, settings.tokens_per_minute, longest_s=min(_LONGEST_WAIT_S, settings.retry_s)
        )
        self.circuit = Circuit(settings.unreachable_s, settings.never_reached_s)
        # With a cap on requests none is to be wasted: the first call goes alone until it is answered.
        self._ticks_left = HEAD_START_TICKS if settings.max_requests is None else math.inf
        self._proven = False
        self._closed: str | None = None
        self._flying: dict[Ticket, None] = {}
        self._queue: deque[tuple[Ticket, asyncio.Future[None]]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._waits_until = 0.0
        self._done = self._failed = 0
        self._refused: set[str] = set()
        self._last_fault = ""

    async def enter(self, label: str, want: Reservation) -> Ticket:
        """Wait for a slot and take it.

        Args:
            label: an id without content, for the stall line.
            want: what the call may cost at most.

        Raises:
            LimitReached: a cap forbids it; nothing was sent.
            ModelUnavailable: the server is gone for good, or has refused everything.
        """
        ticket = Ticket(label, want)
        if not self._queue and self._hold_s(ticket) == 0:
            self._admit(ticket)
            return ticket
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((ticket, future))
        self._pump()
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.leave(ticket, cause=None, tokens=0, usd=0.0, abandoned=True)
            raise
        return ticket

    def leave(
        self,
        ticket: Ticket,
        *,
        cause: Cause | None,
        tokens: int,
        usd: float,
        fault: str = "",
        allowance: Allowance | None = None,
        abandoned: bool = False,
    ) -> None:
        """Give the slot back and say how the call ended; ``fault`` is the kind of a failure that may pass."""
        now = time.monotonic()
        del self._flying[ticket]
        self._budget.settle(ticket.want, tokens=tokens, usd=usd, sent=cause is not Cause.UNREACHABLE)
        if not abandoned:
            self._done += cause is None
            self._failed += cause is not None
            self._last_fault = fault or self._last_fault
            self._proven = self._proven or cause is None
            self._width.hear(overloaded=cause is Cause.OVERLOADED)
            # What is no JSON may well be somebody else's page: it does not make the server one that was reached.
            ailing, spoke = fault in _AILING, fault.startswith(("http-", "rate-limit"))
            self.circuit.hear(cause, ticket.label, ailing=ailing, spoke=spoke, now=now)
            self._rates.hear(allowance, call=ticket.number, tokens=ticket.want.tokens, now=now)
        if self._queue:
            self._pump()

    def close(self, reason: str) -> None:
        """Let nobody in any more: every waiting and later call gets ``ModelUnavailable`` with this reason."""
        self._closed = self._closed or reason
        self._pump()

    def refused(self, label: str, reason: str) -> None:
        """Take in that the server turned a call down for good; close when it has turned down all of several."""
        self._refused.add(label)
        if not self._done and len(self._refused) >= REFUSALS_BEFORE_END:
            self.close(f"{reason}; so it did with each of the first {len(self._refused)} calls")

    def remaining_s(self) -> float | None:
        """Return the seconds until the deadline, None without one."""
        return self._budget.remaining_s()

    def prove(self) -> None:
        """Say that the server's dialect is known, so that no call has to go ahead alone."""
        self._proven = True

    def snapshot(self) -> Snapshot:
        """Return where the calls are now."""
        now = time.monotonic()
        oldest = [
            (ticket.label, now - ticket.since) for ticket, _ in zip(self._flying, range(_OLDEST_SHOWN), strict=False)
        ]
        return Snapshot(
            in_flight=len(self._flying),
            queued=len(self._queue),
            done=self._done,
            failed=self._failed,
            width=self._width.now,
            requests=self._budget.requests,
            tokens=self._budget.tokens,
            usd=self._budget.usd,
            waits_s=max(0.0, self._waits_until - now) if self._queue else 0.0,
            server_gone=self.circuit.is_open,
            oldest=tuple(oldest),
        )

    def _pump(self) -> None:
        while self._queue:
            ticket, future = self._queue[0]
            if future.done():
                self._queue.popleft()
                continue
            try:
                hold_s = self._hold_s(ticket)
            except Exception as error:  # noqa: BLE001 - whatever it is belongs to the call that waits
                self._queue.popleft()
                future.set_exception(error)
                continue
            if hold_s:
                self._set_timer(hold_s)
                return
            self._queue.popleft()
            self._admit(ticket)
            future.set_result(None)

    def _hold_s(self, ticket: Ticket) -> float:
        """Return 0 when the call may go now, else the seconds after which to look again (inf: when one comes back)."""
        now = time.monotonic()
        if self._closed is not None:
            raise ModelUnavailable(self._closed)
        left = self._budget.remaining_s()
        gone = self.circuit.gone_for_s(now, at_most_s=None if left is None or left > 0 else 0.0)
        if gone is not None:
            raise ModelUnavailable(f"{self._settings.shown_url()} {_gone(self._last_fault, gone)}")
        fits = self._budget.check(ticket.want)
        flying = len(self._flying)
        if not fits or flying >= self._width.now or (self.circuit.is_open and flying):
            return math.inf
        if self.circuit.is_open and self.circuit.next_try > now:
            return min(self.circuit.next_try - now, max(0.001, self.circuit.gives_up_in_s(now)))
        if flying and not self._proven and self._ticks_left > 0:
            return TICK_S
        return self._rates.wait_s(ticket.want.tokens, now)

    def _admit(self, ticket: Ticket) -> None:
        now = time.monotonic()
        ticket.since = now
        ticket.number = self._rates.spend(ticket.want.tokens, now)
        self._budget.reserve(ticket.want)
        self._flying[ticket] = None

    def _set_timer(self, hold_s: float) -> None:
        left = self._budget.remaining_s()
        self._waits_until = time.monotonic() + hold_s if hold_s < math.inf else 0.0
        seconds = hold_s if left is None else min(hold_s, max(0.0, left))
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
        self._ticks_left -= 1
        self._pump()


def _gone(fault: str, seconds: float) -> str:
    """Return what a server did instead of answering, and what to do about it."""
    then = "then run again; every answer so far is kept"
    if fault == "not-json":
        return f"{NO_JSON} and has for {seconds:.0f} s; correct it, {then}"
    if fault.startswith("http-"):
        status = fault.removeprefix("http-")
        return f"answers HTTP {status} and has for {seconds:.0f} s: look at the server or correct base_url, {then}"
    if fault == "too-long":
        return f"has answered without end for {seconds:.0f} s: look at the server or correct base_url, {then}"
    return f"has given no answer for {seconds:.0f} s: start it or correct base_url, {then}"
