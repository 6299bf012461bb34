"""Caps on requests, tokens, money and time, checked before each call so that they are never exceeded."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from goldbench.pipeline.errors import LimitReached
from goldbench.pipeline.llm.server_settings import ModelSettings
from goldbench.pipeline.text.display import dollars


def _how_to_go_on(setting: str) -> str:
    return f"raise model.{setting} and run the command again; every answer so far is kept"


@dataclass(slots=True)
class Reservation:
    """The most that one call may cost, set aside while it runs and replaced by its real cost afterwards."""

    tokens: int
    usd: float


@dataclass(slots=True)
class Budget:
    """The spending so far, and what is set aside for calls in flight."""

    settings: ModelSettings
    requests: int = 0
    tokens: int = 0
    usd: float = 0.0
    _aside_tokens: int = 0
    _aside_usd: float = 0.0
    _opened: float = field(default_factory=time.monotonic)

    def remaining_s(self) -> float | None:
        """Return the seconds until the deadline, None without one."""
        limit = self.settings.deadline_s
        return None if limit is None else self._opened + limit - time.monotonic()

    def check_deadline(self) -> None:
        """Raise ``LimitReached`` after the deadline."""
        left = self.remaining_s()
        if left is not None and left <= 0:
            raise LimitReached(
                "deadline",
                f"the deadline of {self.settings.deadline_s:g} s has passed: {_how_to_go_on('deadline_minutes')}",
            )

    def check(self, want: Reservation) -> bool:
        """Return whether the call fits now; False means: wait until calls in flight give back what they set aside.

        Raises:
            LimitReached: The call does not fit, whatever the calls in flight cost.
        """
        cap = self.settings
        self.check_deadline()
        if cap.max_requests is not None and self.requests >= cap.max_requests:
            raise LimitReached(
                "max-requests", f"the cap of {cap.max_requests} requests is reached: {_how_to_go_on('max_requests')}"
            )
        if cap.max_tokens is not None and self.tokens + want.tokens > cap.max_tokens:
            raise LimitReached(
                "max-tokens",
                f"the next call may take {want.tokens:,} tokens, {self.tokens:,} of {cap.max_tokens:,} are spent: "
                f"{_how_to_go_on('max_tokens')}",
            )
        if cap.max_usd is not None and self.usd + want.usd > cap.max_usd:
            raise LimitReached(
                "max-usd",
                f"the next call may cost {dollars(want.usd)}, "
                f"{dollars(self.usd)} of {dollars(cap.max_usd)} are spent: {_how_to_go_on('max_usd')}",
            )
        fits_tokens = cap.max_tokens is None or self.tokens + self._aside_tokens + want.tokens <= cap.max_tokens
        return fits_tokens and (cap.max_usd is None or self.usd + self._aside_usd + want.usd <= cap.max_usd)

    def reserve(self, want: Reservation) -> None:
        """Count a request that is sent now, and set aside the most that it may cost."""
        self.requests += 1
        self._aside_tokens += want.tokens
        self._aside_usd += want.usd

    def settle(self, held: Reservation, *, tokens: int, usd: float, sent: bool) -> None:
        """Replace a reservation by what the call did cost.

        Args:
            held: The reservation of the call.
            tokens: Tokens that were spent, input and output.
            usd: US dollars that were spent.
            sent: False if no connection was made, so that the request does not count.
        """
        self.requests -= not sent
        self._aside_tokens -= held.tokens
        self._aside_usd -= held.usd
        self.tokens += tokens
        self.usd += usd
