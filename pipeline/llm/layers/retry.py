"""The layer that tries again: a limited number of times, for a limited time, and as patiently as the server asks."""

from __future__ import annotations

import asyncio
import functools
import logging
import random
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tenacity import AsyncRetrying, retry_if_exception

from goldbench.pipeline.errors import CallFailed
from goldbench.pipeline.llm.exchange_end import Cause, ExchangeFailed
from goldbench.pipeline.llm.layers import Call, Request, call_label
from goldbench.pipeline.llm.throttle import Gate
from goldbench.pipeline.text.display import amount

Q = TypeVar("Q", bound=Request)
R = TypeVar("R")

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 30.0
_LESSONS = 12
_MOST_TIMEOUTS = 4
"""Give a call up after this many time-outs. Each attempt has twice the time of the one before, 120 to 960 s."""
_log = logging.getLogger(__name__)
_MEANING = {
    "connect": "no connection was made",
    "connection": "the connection broke",
    "rate-limit": "the server asked for fewer calls (HTTP 429, see model.requests_per_minute)",
    "too-long": "the response is longer than any answer",
    "not-json": "the response is not JSON",
    "parameters": "the server keeps refusing parameters",
}


class Retry:
    """Tries an exchange again where another attempt may work."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def complete(self, request: Q, below: Call[Q, R]) -> R:
        """Return the result; raises as ``persist`` does."""
        exchange = functools.partial(below, request)
        return await persist(exchange, label=functools.partial(call_label, request), gate=self._gate)


async def persist(exchange: Callable[[], Coroutine[Any, Any, R]], *, label: Callable[[], str], gate: Gate) -> R:
    """Return the result of an exchange, repeated while another attempt may work.

    Args:
        exchange: Makes one attempt.
        label: Returns the name of the call; asked for when an attempt has failed.
        gate: The gate of the server, with the settings that limit attempts and seconds.

    Raises:
        CallFailed: The attempts or the seconds are used up.
    """
    patience = _Patience(gate)

    def goes_on(error: BaseException) -> bool:
        if not isinstance(error, ExchangeFailed) or not patience.allows_another(error):
            return False
        _log.debug("%s: %s, again", label(), error.kind)
        return True

    async def attempt() -> R:  # tenacity awaits what is a coroutine function, not what returns a coroutine
        return await exchange()

    # One predicate decides and sets the pause: tenacity promises no order between its other parts.
    retrying = AsyncRetrying(retry=retry_if_exception(goes_on), wait=lambda _: patience.pause_s, sleep=asyncio.sleep)
    try:
        return await retrying(attempt)
    except ExchangeFailed as error:
        failed = error
    meaning = _MEANING.get(failed.kind, f"the server answers {failed.kind.upper().replace('-', ' ')}")
    attempts = max(1, patience.attempts)
    if failed.kind == "timeout":
        gate.report_timeout(failed.after_s)
        meaning = f"no answer came within {failed.after_s:g} s"
    if failed.kind == "rate-limit" and failed.retry_after_s and patience.is_too_long:
        gate.report_long_wait(label(), failed.retry_after_s)
        meaning = f"the server asks to wait {failed.retry_after_s:,.0f} s (HTTP 429)"
    tried = gate.how_asked() if failed.kind.startswith("http-") else ""
    message = f"{label()}: {meaning}{tried} ({amount(attempts, 'attempt')})"
    raise CallFailed(failed.kind, message, attempts=attempts)


class _Patience:
    """How often one call was tried and how long it waited."""

    def __init__(self, gate: Gate) -> None:
        self._gate, self._settings = gate, gate.settings
        self.attempts = self._lessons = self._timeouts = 0
        self._waited_s = 0.0
        self.pause_s = 0.0
        """The seconds before the next attempt."""

    def allows_another(self, failed: ExchangeFailed) -> bool:
        """Take in the failure of an attempt; return whether another one follows."""
        self.pause_s = self._take_in(failed)
        return not (
            self._lessons >= _LESSONS
            or self.attempts >= self._settings.max_attempts
            or self._timeouts >= _MOST_TIMEOUTS
            or self.is_too_long
        )

    def _take_in(self, failed: ExchangeFailed) -> float:
        if failed.cause is Cause.LEARNED:
            self._lessons += 1
            return 0.0
        if self._gate.circuit.is_open:  # the gate waits for the server, and gives up for every call when it must
            return 0.0
        self.attempts += 1
        self._timeouts += failed.kind == "timeout"
        asked_s = failed.retry_after_s
        seconds = 0.0 if failed.kind == "timeout" else self._pause_s(asked_s)
        self._waited_s += seconds if asked_s is None or not seconds else asked_s  # so that 300 s may be waited for
        left = self._gate.budget.remaining_s()  # past the deadline the gate refuses the next attempt
        return seconds if left is None else min(seconds, max(0.0, left))

    @property
    def is_too_long(self) -> bool:
        """Whether the waits, the one that is due included, are longer than a call waits in all."""
        return self._waited_s > self._settings.retry_s

    def _pause_s(self, asked_s: float | None) -> float:
        # Jitter only spreads calls over time; no output depends on it.
        if asked_s is not None:
            return asked_s + random.uniform(0, min(1.0, 0.1 * asked_s + 0.01))  # noqa: S311
        ceiling = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** (self.attempts - 1))
        return random.uniform(ceiling / 2, ceiling)  # noqa: S311 - as above
