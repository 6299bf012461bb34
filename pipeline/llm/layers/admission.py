"""The layer that holds a slot of the gate for as long as one exchange takes, and books what the exchange cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from goldbench.pipeline.errors import AnswerRejected, CallFailed, LimitReached, ModelUnavailable
from goldbench.pipeline.llm.exchange_end import Cause, ExchangeFailed, Reply, ReplyRejected, was_refused
from goldbench.pipeline.llm.layers import Call, Request, call_label
from goldbench.pipeline.llm.prices import PriceList
from goldbench.pipeline.llm.throttle import NOT_JSON, Ending, Gate, Ticket
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
        label = call_label(request)
        ticket = await self._enter(label, request)
        outcome: HasReply | Exception | None = None  # None: cancelled
        try:
            outcome = result = await self._timed(request, below, max_tokens=ticket.most.output_tokens)
        except Exception as error:
            outcome = error
            self._warn(label, error)
            if isinstance(error, AnswerRejected):
                error.at(request.stage)
            raise
        else:
            return result
        finally:
            cost = self._cost(outcome, ticket.most)
            self._gate.accounts.book(request.stage, requests=cost is not None, usage=cost)
            self._gate.leave(ticket, _ending(outcome), cost)

    async def _enter(self, label: str, request: Request) -> Ticket:
        """Return the ticket of a call whose reservation fits what is sent: a call that waits may have to ask anew."""
        while True:
            most = self._prices.at_most(*self._most_tokens(request))
            ticket = await self._gate.enter(label, most)
            if not ticket.waited or self._most_tokens(request) == (most.input_tokens, most.output_tokens):
                return ticket
            self._gate.leave(ticket, None, None)  # the server's dialect was learnt meanwhile

    def _cost(self, outcome: HasReply | Exception | None, most: Usage) -> Usage | None:
        """Return what an exchange is charged, None if nothing was sent.

        Nothing is charged only where that is certain. Any other call may have been billed, whatever became of its
        reply: after a time-out, a broken connection, a server's error, or a cancellation (None).
        """
        if isinstance(outcome, ExchangeFailed) and outcome.cause is Cause.UNREACHABLE:
            return None
        if isinstance(outcome, Exception) and was_refused(outcome):
            return Usage()
        reply = getattr(outcome, "reply", None)
        reported = reply.usage if reply else getattr(outcome, "usage", None)
        return self._prices.charge(reported or Usage(), most)

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
            self._gate.report_refusal(label, error.message)
        elif isinstance(error, ExchangeFailed) and error.kind == "not-json":
            self._gate.report_refusal(label, f"{self._gate.settings.shown_url()}: {NOT_JSON}")


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
