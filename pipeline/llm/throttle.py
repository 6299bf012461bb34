"""The gate that every call to a server passes: how many at once, how fast, and whether at all."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from goldbench.pipeline.errors import Message, ModelUnavailable
from goldbench.pipeline.llm.budget import Budget, Reservation
from goldbench.pipeline.llm.circuit import Circuit
from goldbench.pipeline.llm.exchange_end import Cause
from goldbench.pipeline.llm.headers import Allowance
from goldbench.pipeline.llm.pace import Rates, Tempo, Width
from goldbench.pipeline.llm.prices import Accounts
from goldbench.pipeline.llm.server_settings import PATIENCE_S, ModelSettings
from goldbench.pipeline.ports import Speed, Usage
from goldbench.pipeline.text.display import dollars

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


@dataclass(slots=True, eq=False)
class Ticket:
    """A call that holds, or waits for, a slot."""

    label: str
    most: Usage
    number: int = 0
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
        self._rates = Rates(
            settings.requests_per_minute, settings.tokens_per_minute, longest_s=min(_LONGEST_WAIT_S, settings.retry_s)
        )
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
        self.how_asked: Callable[[], str] = lambda: ""
        """Returns how a server that fails was asked, for the message: empty, or a phrase that begins with a comma."""
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
        if not self._queue and self._delay_s(ticket) == 0:
            self._admit(ticket)
            return ticket
        ticket.waited = True
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((ticket, future))
        self._pump()
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
            self._rates.hear(ending.allowance, call=ticket.number, tokens=ticket.most.tokens, now=now)
        assert ticket.reservation is not None
        if cost is None:  # last, because it lets the calls that wait go ahead, here and at every gate of the budget
            self.budget.release(ticket.reservation)
        else:
            self.budget.settle(ticket.reservation, cost)

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
            raise ModelUnavailable(f"{self.settings.shown_url()}: {_gone(self._last_fault, gone, self.how_asked())}")
        fits = self.budget.check(ticket.most)
        in_flight = len(self._in_flight)
        if not fits or in_flight >= self._width.now or (self.circuit.is_open and in_flight):
            return math.inf
        if self.circuit.is_open and self.circuit.next_try > now:
            return min(self.circuit.next_try - now, max(0.001, self.circuit.gives_up_in_s(now)))
        if in_flight and not self._proven and self._alone_until > now:
            return self._alone_until - now
        return self._rates.wait_s(ticket.most.tokens, now)

    def _admit(self, ticket: Ticket) -> None:
        now = time.monotonic()
        ticket.since = now
        if not self._in_flight:
            self._alone_until = now + self._head_start_s
        ticket.number = self._rates.spend(ticket.most.tokens, now)
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


def _gone(fault: str, seconds: float, how_asked: str) -> str:
    """Return what a server did instead of answering, and what to do about it."""
    then = "then run again; every answer so far is kept"
    if fault == "not-json":
        return f"{NOT_JSON} and has for {seconds:.0f} s; correct it, {then}"
    if fault.startswith("http-"):
        what = f"answers HTTP {fault.removeprefix('http-')} and has for {seconds:.0f} s{how_asked}"
    elif fault == "too-long":
        what = f"has answered without end for {seconds:.0f} s"
    elif fault == "connection":
        what = f"has broken off connections, or answered with something that is not HTTP, for {seconds:.0f} s"
    else:
        return f"the server has given no answer for {seconds:.0f} s: start it or correct base_url, {then}"
    return f"the server {what}: look at it or correct base_url, {then}"
