"""The layer that holds a slot of the gate for exactly as long as an exchange takes, and books what it cost."""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pydantic import BaseModel

from pipeline.errors import AnswerRejected, CallFailed, LimitReached, ModelUnavailable
from pipeline.llm.budget import Budget, Reservation
from pipeline.llm.chat import Answered, OpenAIChat, Repeat
from pipeline.llm.faults import Allowance, Cause, ExchangeFailed, Reply, ReplyRejected
from pipeline.llm.prices import PriceList
from pipeline.llm.reply_schema import schema_text
from pipeline.llm.server_settings import ModelSettings
from pipeline.llm.throttle import NO_JSON, Gate
from pipeline.ports import ChatRequest, Usage
from schemas.manifest import StageUsage

T = TypeVar("T", bound=BaseModel)


class HasReply(Protocol):
    """Anything an exchange returns: it carries the reply it was read from."""

    @property
    def reply(self) -> Reply:
        """The reply."""


R = TypeVar("R", bound=HasReply)


def tokens_at_most(text: str) -> int:
    """Return a cautious estimate of the tokens of a text: a third of its UTF-8 bytes, rounded up.

    English takes about a quarter of its bytes, Chinese about a third; only the caps use this, before a call.
    """
    return len(text.encode("utf-8", "replace")) // 3 + 1


def call_label(stage: str, *texts: str) -> str:
    """Return a name for a call that tells calls apart and holds none of their content."""
    digest = hashlib.blake2b(digest_size=4)
    for text in texts:
        digest.update(text.encode("utf-8", "replace"))
    return f"{stage} {digest.hexdigest()}"


@dataclass(slots=True)
class _Ending:
    """How an exchange ended, for the gate and for the books."""

    cause: Cause | None = Cause.REFUSED
    fault: str = ""
    allowance: Allowance | None = None
    reply: Reply | None = None
    unknown: bool = False
    """Whether it may have been paid for although no answer came."""


class Accounts:
    """What was spent, by stage."""

    def __init__(self) -> None:
        self._rows: defaultdict[str, StageUsage] = defaultdict(StageUsage)

    def book(self, stage: str, *, requests: int = 0, replayed: int = 0, usage: Usage | None = None) -> None:
        """Add to the account of a stage."""
        row, spent = self._rows[stage], usage or Usage()
        usd = row.usd if spent.usd is None else (row.usd or 0.0) + spent.usd
        self._rows[stage] = StageUsage(
            requests=row.requests + requests,
            replayed=row.replayed + replayed,
            input_tokens=row.input_tokens + spent.input_tokens,
            output_tokens=row.output_tokens + spent.output_tokens,
            usd=usd,
        )

    def report(self) -> dict[str, StageUsage]:
        """Return the accounts, by stage."""
        return {stage: self._rows[stage] for stage in sorted(self._rows)}


class Door:
    """Takes one exchange at a time through the gate. Chat and embeddings of one server share one gate."""

    def __init__(
        self, gate: Gate, *, budget: Budget, settings: ModelSettings, prices: PriceList, accounts: Accounts
    ) -> None:
        self._gate, self._budget, self._settings = gate, budget, settings
        self._prices, self._accounts = prices, accounts

    def want(self, input_tokens: int, output_tokens: int) -> Reservation:
        """Return what a call may cost at most."""
        usd = self._prices.cost(Usage(input_tokens, output_tokens)) if self._settings.max_usd is not None else None
        return Reservation(input_tokens + output_tokens, usd or 0.0)

    async def through(self, stage: str, label: str, want: Reservation, exchange: Callable[[], Awaitable[R]]) -> R:
        """Return what the exchange returns, in a slot, within the time a call and the run may take."""
        ticket = await self._gate.enter(label, want)
        ending = _Ending(cause=None)
        cancelled = False
        try:
            return await self._timed(exchange, ending)
        except ModelUnavailable as error:
            self._gate.close(str(error))
            raise
        except AnswerRejected:
            raise
        except CallFailed as error:
            self._gate.refused(label, str(error))
            raise
        except ExchangeFailed as failed:
            if failed.kind == "not-json":
                self._gate.refused(label, f"{self._settings.shown_url()} {NO_JSON}")
            raise
        except asyncio.CancelledError:
            cancelled = True
            raise
        finally:
            usage = self._spent(ending, want)
            self._gate.leave(
                ticket,
                cause=ending.cause,
                fault=ending.fault,
                allowance=ending.allowance,
                tokens=usage.input_tokens + usage.output_tokens,
                usd=usage.usd or 0.0,
                abandoned=cancelled,
            )
            self._accounts.book(stage, requests=ending.cause is not Cause.UNREACHABLE, usage=usage)

    async def _timed(self, exchange: Callable[[], Awaitable[R]], ending: _Ending) -> R:
        seconds, deadline = self._settings.timeout_seconds, self._budget.remaining_s()
        try:
            async with asyncio.timeout(seconds if deadline is None else min(seconds, max(0.0, deadline))):
                result = await exchange()
        except TimeoutError:
            ending.cause, ending.fault, ending.unknown = Cause.OVERLOADED, "timeout", True
        except ExchangeFailed as failed:
            ending.cause, ending.fault, ending.allowance = failed.cause, failed.kind, failed.allowance
            ending.unknown = failed.kind in {"timeout", "connection"}
            raise
        except ReplyRejected as rejected:
            ending.reply, ending.allowance = rejected.reply, rejected.reply.allowance
            raise
        except AnswerRejected:
            raise
        except Exception:
            ending.cause = Cause.REFUSED
            raise
        else:
            ending.reply, ending.allowance = result.reply, result.reply.allowance
            return result
        if deadline is not None and deadline <= seconds:
            raise LimitReached("deadline", f"the deadline of {self._settings.deadline_s:g} s passed during a call")
        raise ExchangeFailed(Cause.OVERLOADED, "timeout")

    def _spent(self, ending: _Ending, want: Reservation) -> Usage:
        if ending.reply is None:
            return Usage(input_tokens=want.tokens) if ending.unknown else Usage()
        usage = ending.reply.usage
        if usage.input_tokens or usage.output_tokens:
            return usage
        return Usage(want.tokens)  # a server that does not count: the caps need a number all the same


class Limited:
    """Admits one exchange at a time to a slot; raises as the layer below does, and ``LimitReached``."""

    def __init__(self, inner: OpenAIChat, *, door: Door, settings: ModelSettings) -> None:
        self._inner, self._door, self._settings = inner, door, settings

    async def complete(self, request: ChatRequest[T]) -> Answered[T]:
        """Return the model's answer to one exchange."""
        label = call_label(request.stage, request.system, request.user)
        want = self._want(request)
        return await self._door.through(request.stage, label, want, lambda: self._inner.complete(request))

    def _want(self, request: ChatRequest[T]) -> Reservation:
        settings = self._settings
        if settings.max_tokens is None and settings.max_usd is None and settings.tokens_per_minute is None:
            size = (len(request.system) + len(request.user)) // 3
            return Reservation(size + request.max_tokens, 0.0)
        thinks = self._inner.dialect.length == "max_completion_tokens"
        output = request.max_tokens + (settings.reasoning_tokens if thinks else 0)
        return self._door.want(input_at_most(request), output)


def input_at_most(request: ChatRequest[T]) -> int:
    """Return a cautious estimate of the tokens of a request, schema and earlier turns included."""
    texts = [request.system, request.user, schema_text(request.answer)]
    if isinstance(request, Repeat):
        texts += [text for turn in request.earlier for text in turn]
    return sum(map(tokens_at_most, texts)) + 16
