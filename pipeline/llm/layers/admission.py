"""The layer that holds a slot of the gate for as long as one exchange takes, and books what the exchange cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from goldbench.pipeline.errors import AnswerRejected, CallFailed, LimitReached, ModelUnavailable
from goldbench.pipeline.llm.budget import Reservation
from goldbench.pipeline.llm.exchange_end import Cause, ExchangeFailed, Reply, ReplyRejected
from goldbench.pipeline.llm.layers import Call, Request, call_label
from goldbench.pipeline.llm.prices import PriceList
from goldbench.pipeline.llm.throttle import NOT_JSON, Ending, Gate
from goldbench.pipeline.ports import Usage


class HasReply(Protocol):
    """The result of an exchange with the reply that it was read from."""

    @property
    def reply(self) -> Reply:
        """The reply."""


Q = TypeVar("Q", bound=Request)
R = TypeVar("R", bound=HasReply)


class Admission:
    """Admits one exchange to a slot, within the caps and the time a call may take. The message gets the stage."""

    def __init__(self, gate: Gate, *, prices: PriceList, most_tokens: Callable[..., tuple[int, int]]) -> None:
        """Store the gate and the prices.

        Args:
            gate: The gate of the server, which chat and embeddings share.
            prices: The prices of the model.
            most_tokens: Returns how many tokens a request may read and write at most.
        """
        self._gate, self._prices, self._most_tokens = gate, prices, most_tokens

    async def complete(self, request: Q, below: Call[Q, R]) -> R:
        """Return the result of one exchange; raises as ``below`` does, and ``LimitReached``."""
        label, most = call_label(request), self._most_tokens(request)
        want = self._prices.reservation(*most)
        ticket = await self._gate.enter(label, want)
        outcome: HasReply | Exception | None = None  # None: cancelled
        try:
            outcome = result = await self._timed(request, below, max_tokens=most[1])
        except Exception as error:
            outcome = error
            self._warn(label, error)
            if isinstance(error, AnswerRejected):
                error.at(request.stage)
            raise
        else:
            return result
        finally:
            ending, usage = _ending(outcome), _spent(outcome, want, most[0])
            self._gate.leave(ticket, ending, usage)
            sent = ending is None or ending.cause is not Cause.UNREACHABLE
            self._gate.accounts.book(request.stage, requests=sent, usage=usage)

    async def _timed(self, request: Q, below: Call[Q, R], *, max_tokens: int) -> R:
        settings, deadline = self._gate.settings, self._gate.budget.remaining_s()
        seconds = self._gate.tempo.longest_s(max_tokens)
        try:
            async with asyncio.timeout(seconds if deadline is None else min(seconds, max(0.0, deadline))):
                return await below(request)
        except TimeoutError:
            pass
        if deadline is not None and deadline <= seconds:
            raise LimitReached("deadline", f"the deadline of {settings.deadline_s:g} s passed during a call")
        self._gate.tempo.expired(seconds)
        raise ExchangeFailed(Cause.OVERLOADED, "timeout", after_s=seconds)

    def _warn(self, label: str, error: Exception) -> None:
        """Let the gate know of a failure that may concern every call."""
        if isinstance(error, ModelUnavailable):
            self._gate.close(error.message)
        elif isinstance(error, CallFailed) and not isinstance(error, AnswerRejected):
            self._gate.refused(label, error.message)
        elif isinstance(error, ExchangeFailed) and error.kind == "not-json":
            self._gate.refused(label, f"{self._gate.settings.shown_url()}: {NOT_JSON}")


def _ending(outcome: HasReply | Exception | None) -> Ending | None:
    if outcome is None:
        return None
    if isinstance(outcome, ExchangeFailed):
        return Ending(outcome.cause, outcome.kind, outcome.allowance)
    if isinstance(outcome, LimitReached):
        return Ending(Cause.OVERLOADED, "timeout")
    if isinstance(outcome, Exception) and not isinstance(outcome, ReplyRejected):
        return Ending(None if isinstance(outcome, AnswerRejected) else Cause.REFUSED)
    return Ending(allowance=outcome.reply.allowance)


def _spent(outcome: HasReply | Exception | None, want: Reservation, most_read: int) -> Usage:
    """Return the cost of an exchange; a cautious estimate where it may have been paid for and no count came."""
    if outcome is not None and (isinstance(outcome, ReplyRejected) or not isinstance(outcome, Exception)):
        usage = outcome.reply.usage
        counted = usage.input_tokens or usage.output_tokens
        return usage if counted else Usage(most_read, want.tokens - most_read)  # thoughts may have cost all of it
    if isinstance(outcome, ExchangeFailed) and outcome.usage is not None:
        return outcome.usage
    timed_out = isinstance(outcome, LimitReached)
    if timed_out or (isinstance(outcome, ExchangeFailed) and outcome.kind in {"timeout", "connection"}):
        return Usage(want.tokens)
    return Usage()
