"""The only layer that tries again: bounded in attempts and in seconds, and as patient as the server asks."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import BaseModel
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from pipeline.errors import CallFailed
from pipeline.llm.chat import Answered
from pipeline.llm.faults import Cause, ExchangeFailed
from pipeline.llm.limited import Limited, call_label
from pipeline.llm.server_settings import ModelSettings
from pipeline.llm.throttle import Gate
from pipeline.ports import ChatRequest

T = TypeVar("T", bound=BaseModel)
R = TypeVar("R")

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 30.0
_LESSONS = 8
_log = logging.getLogger(__name__)
_MEANING = {
    "connect": "no connection came about",
    "connection": "the connection broke",
    "timeout": "no answer came in time",
    "rate-limit": "the server asked for fewer calls",
    "too-long": "the response is longer than any answer",
    "not-json": "the response is no JSON",
    "parameters": "the server keeps refusing parameters",
}


class Patience:
    """How often one call was tried, how long it waited, and when that is enough."""

    def __init__(self, settings: ModelSettings, *, gate: Gate) -> None:
        self._settings, self._gate = settings, gate
        self.attempts = self._lessons = 0
        self._waited_s = 0.0

    def wait(self, state: RetryCallState) -> float:
        """Take in the failure of an attempt and return the seconds to wait before the next; asked before ``stop``."""
        failed = _failure(state)
        if failed.cause is Cause.LEARNED:
            self._lessons += 1
            return 0.0
        if self._gate.circuit.is_open:  # the gate waits for the server, and gives up for everybody when it must
            return 0.0
        self.attempts += 1
        seconds = self._wait_s(failed)
        self._waited_s += seconds
        left = self._gate.remaining_s()  # past the deadline it is the gate that says so
        return seconds if left is None else min(seconds, max(0.0, left))

    def stop(self, _: RetryCallState) -> bool:
        """Return whether the attempt just taken in was the last."""
        return (
            self._lessons >= _LESSONS
            or self.attempts >= self._settings.max_attempts
            or self._waited_s > self._settings.retry_s
        )

    def _wait_s(self, failed: ExchangeFailed) -> float:
        # Jitter only spreads calls over time; no output depends on it.
        if failed.retry_after_s is not None:
            return failed.retry_after_s + random.uniform(0, min(1.0, 0.1 * failed.retry_after_s + 0.01))  # noqa: S311
        ceiling = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** (self.attempts - 1))
        return random.uniform(ceiling / 2, ceiling)  # noqa: S311 - as above


def _failure(state: RetryCallState) -> ExchangeFailed:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, ExchangeFailed)
    return error


async def persist(
    exchange: Callable[[], Awaitable[R]], *, label: Callable[[], str], settings: ModelSettings, gate: Gate
) -> R:
    """Return what the exchange returns, trying again while that makes sense.

    Raises:
        CallFailed: the attempts or the seconds are used up.
    """
    try:
        return await exchange()
    except ExchangeFailed as failed:
        first: ExchangeFailed | None = failed

    async def attempt() -> R:
        nonlocal first
        if first is not None:  # it was made above, without the cost of setting up retries for calls that go well
            failed, first = first, None
            raise failed
        return await exchange()

    patience = Patience(settings, gate=gate)
    retrying = AsyncRetrying(
        retry=retry_if_exception_type(ExchangeFailed),
        stop=patience.stop,
        wait=patience.wait,
        before_sleep=lambda state: _log.debug("%s: %s, again", label(), _failure(state).kind),
        reraise=True,
    )
    try:
        return await retrying(attempt)
    except ExchangeFailed as failed:
        spent = failed
    meaning = _MEANING.get(spent.kind, f"the server answers {spent.kind.upper().replace('-', ' ')}")
    attempts = max(1, patience.attempts)
    message = f"{label()}: {meaning} ({attempts} attempt{'s'[: attempts != 1]})"
    raise CallFailed(spent.kind, message, attempts=attempts, request_id=spent.request_id)


class Retrying:
    """Tries an exchange again where that can help; spent patience is a ``CallFailed``."""

    def __init__(self, inner: Limited, *, settings: ModelSettings, gate: Gate) -> None:
        self._inner, self._settings, self._gate = inner, settings, gate

    async def complete(self, request: ChatRequest[T]) -> Answered[T]:
        """Return the model's answer."""
        return await persist(
            lambda: self._inner.complete(request),
            label=lambda: call_label(request.stage, request.system, request.user),
            settings=self._settings,
            gate=self._gate,
        )
