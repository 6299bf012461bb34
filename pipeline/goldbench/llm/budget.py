"""Caps on requests, tokens, money and time: one ledger of what was spent and of what calls in flight may still cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from goldbench.errors import LimitReached, UsageError
from goldbench.llm.server_settings import Model
from goldbench.ports import Usage
from goldbench.records.manifest import StageUsage
from goldbench.text.display import dollars


def _how_to_go_on(setting: str) -> str:
    return f"raise model.{setting} and run the command again; every answer so far is kept"


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """The most that one call may cost, set aside until its end is known."""

    most: Usage
    requests: int


class Budget:
    """The spending so far, and what is set aside for calls in flight.

    A call fits if what was spent, what is set aside and the most that it may cost stay within every cap together. As
    long as no server bills more than the most, no cap is passed, in whatever order the calls end.
    """

    def __init__(self, caps: Model, spent: StageUsage | None = None) -> None:
        """Take the caps, and what was spent on them before."""
        before = spent or StageUsage()
        self.caps = caps
        self.requests = before.requests
        self.tokens = before.input_tokens + before.output_tokens
        self.usd = before.usd or 0.0
        self.estimated_usd = before.estimated_usd
        self._held: set[Reservation] = set()
        self._held_tokens = 0
        self._held_usd = 0.0
        self._waiters: list[Callable[[], None]] = []
        self._opened = time.monotonic()

    def call_when_freed(self, waiter: Callable[[], None]) -> None:
        """Call this whenever a reservation ends: calls that did not fit may fit then."""
        self._waiters.append(waiter)

    def remaining_s(self) -> float | None:
        """Return the seconds until the deadline, None without one."""
        limit = self.caps.deadline_s
        return None if limit is None else self._opened + limit - time.monotonic()

    def check_deadline(self) -> None:
        """Raise ``LimitReached`` after the deadline."""
        left = self.remaining_s()
        if left is not None and left <= 0:
            raise LimitReached(
                "deadline",
                f"the deadline of {self.caps.deadline_s:g} s has passed: {_how_to_go_on('deadline_minutes')}",
            )

    def check(self, most: Usage) -> bool:
        """Return whether a call fits now; False means: wait until a call in flight ends.

        Raises:
            LimitReached: The call does not fit, whatever the calls in flight cost.
            UsageError: Money is capped, and the price of the call is not known.
        """
        caps = self.caps
        self.check_deadline()
        if caps.max_requests is not None and self.requests >= caps.max_requests:
            raise LimitReached(
                "max-requests", f"the cap of {caps.max_requests} requests is reached: {_how_to_go_on('max_requests')}"
            )
        if caps.max_tokens is not None and self.tokens + most.tokens > caps.max_tokens:
            raise LimitReached(
                "max-tokens",
                f"the next call may take {most.tokens:,} tokens, {self.tokens:,} of {caps.max_tokens:,} are spent: "
                f"{_how_to_go_on('max_tokens')}",
            )
        if caps.max_tokens is not None and self.tokens + self._held_tokens + most.tokens > caps.max_tokens:
            return False
        if caps.max_usd is None:
            return True
        if most.usd is None:
            raise UsageError("max_usd is set, but the price of a model is not known: state the prices, or leave it out")
        if self.usd + most.usd > caps.max_usd:
            estimated = f", {dollars(self.estimated_usd)} of it estimated" if self.estimated_usd else ""
            raise LimitReached(
                "max-usd",
                f"the next call may cost {dollars(most.usd)}, {dollars(self.usd)} of {dollars(caps.max_usd)} are "
                f"spent{estimated}: {_how_to_go_on('max_usd')}",
            )
        return self.usd + self._held_usd + most.usd <= caps.max_usd

    def reserve(self, most: Usage, *, requests: int = 1) -> Reservation:
        """Set aside the most that a call may cost, and count its request.

        Args:
            most: The most that it may cost.
            requests: 0 for a call that an earlier run has sent.
        """
        reservation = Reservation(most, requests)
        self._held.add(reservation)
        self._held_tokens += most.tokens
        self._held_usd += most.usd or 0.0
        self.requests += requests
        return reservation

    def settle(self, reservation: Reservation, cost: Usage) -> None:
        """Replace a reservation by what the call cost."""
        self.tokens += cost.tokens
        if cost.usd is not None:
            self.usd += cost.usd
            self.estimated_usd += cost.usd if cost.estimated else 0.0
        self._free(reservation)

    def release(self, reservation: Reservation) -> None:
        """Give back the reservation of a call that was not sent."""
        self.requests -= reservation.requests
        self._free(reservation)

    def _free(self, reservation: Reservation) -> None:
        self._held.remove(reservation)
        self._held_tokens -= reservation.most.tokens
        self._held_usd -= reservation.most.usd or 0.0
        if not self._held:  # else the rounding of sums could hold back a call that nothing is in the way of
            self._held_usd = 0.0
        for waiter in self._waiters:
            waiter()
