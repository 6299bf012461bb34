"""The layer that holds a slot of the gate for as long as one exchange takes, and books what the exchange cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pipeline.errors import AnswerRejected, CallFailed, LimitReached, ModelUnavailable
from pipeline.llm.budget import Reservation
from pipeline.llm.faults import Cause, ExchangeFailed, Reply, ReplyRejected
from pipeline.llm.headers import Allowance
from pipeline.llm.layers import Call, Request, call_label
from pipeline.llm.prices import PriceList
from pipeline.llm.throttle import NOT_JSON, Gate
from pipeline.ports import Usage


class HasReply(Protocol):
    """The result of an exchange with the reply that it was read from."""

    @property
    def reply(self) -> Reply:
        """The reply."""


Q = TypeVar("Q", bound=Request)
R = TypeVar("R", bound=HasReply)


@dataclass(slots=True)
class _Ending:
    """How an exchange ended, for the gate and the accounts."""

    cause: Cause | None = None
    fault: str = ""
    allowance: Allowance | None = None
    reply: Reply | None = None
    unknown: bool = False
    """Whether it may have been paid for although no answer came."""


class Admission:
    """Admits one exchange to a slot, within the caps and the time a call may take. The message gets the stage."""

    def __init__(self, gate: Gate, *, prices: PriceList, most_tokens: Callable[..., tuple[int, int]]) -> None:
        """Take what the layer shares.

        Args:
            gate: The gate of the server, which chat and embeddings share.
            prices: The prices of the model.
            most_tokens: Returns how many tokens a request may read and write at most.
        """
        self._gate, self._prices, self._most_tokens = gate, prices, most_tokens

    async def complete(self, request: Q, below: Call[Q, R]) -> R:
        """Return the result of one exchange; raises as ``below`` does, and ``LimitReached``."""
        label, want = call_label(request), self._prices.reservation(*self._most_tokens(request))
        ticket = await self._gate.enter(label, want)
        ending: _Ending | None = None
        try:
            result = await self._timed(request, below)
        except Exception as error:
            ending = _ending(error)
            self._warn(label, error)
            if isinstance(error, AnswerRejected):
                error.at(request.stage)
            raise
        else:
            ending = _Ending(reply=result.reply, allowance=result.reply.allowance)
            return result
        finally:
            usage = _spent(ending, want)
            self._gate.leave(
                ticket,
                cause=ending.cause if ending else None,
                fault=ending.fault if ending else "",
                allowance=ending.allowance if ending else None,
                tokens=usage.input_tokens + usage.output_tokens,
                usd=usage.usd or 0.0,
                abandoned=ending is None,
            )
            sent = ending is None or ending.cause is not Cause.UNREACHABLE
            self._gate.accounts.book(request.stage, requests=sent, usage=usage)

    async def _timed(self, request: Q, below: Call[Q, R]) -> R:
        settings, deadline = self._gate.settings, self._gate.budget.remaining_s()
        seconds = settings.timeout_seconds
        try:
            async with asyncio.timeout(seconds if deadline is None else min(seconds, max(0.0, deadline))):
                return await below(request)
        except TimeoutError:
            pass
        if deadline is not None and deadline <= seconds:
            raise LimitReached("deadline", f"the deadline of {settings.deadline_s:g} s passed during a call")
        raise ExchangeFailed(Cause.OVERLOADED, "timeout")

    def _warn(self, label: str, error: Exception) -> None:
        """Let the gate know of a failure that may concern every call."""
        if isinstance(error, ModelUnavailable):
            self._gate.close(str(error))
        elif isinstance(error, CallFailed) and not isinstance(error, AnswerRejected):
            self._gate.refused(label, str(error))
        elif isinstance(error, ExchangeFailed) and error.kind == "not-json":
            self._gate.refused(label, f"{self._gate.settings.shown_url()}: {NOT_JSON}")


def _ending(error: Exception) -> _Ending:
    if isinstance(error, ExchangeFailed):
        return _Ending(error.cause, error.kind, error.allowance, unknown=error.kind in {"timeout", "connection"})
    if isinstance(error, LimitReached):
        return _Ending(Cause.OVERLOADED, "timeout", unknown=True)
    if isinstance(error, ReplyRejected):
        return _Ending(reply=error.reply, allowance=error.reply.allowance)
    return _Ending(None if isinstance(error, AnswerRejected) else Cause.REFUSED)


def _spent(ending: _Ending | None, want: Reservation) -> Usage:
    if ending is None or ending.reply is None:
        return Usage(input_tokens=want.tokens) if ending and ending.unknown else Usage()
    usage = ending.reply.usage
    # A server that does not count tokens: the caps need a number all the same.
    return usage if usage.input_tokens or usage.output_tokens else Usage(want.tokens)
