"""The layers between a question and its HTTP exchange: the answer store, one repair, retries and the gate."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import random
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel
from tenacity import AsyncRetrying, retry_if_exception

from goldbench.errors import AnswerRejected, CallFailed, Message, ModelUnavailable
from goldbench.llm.chat import ChatAnswer
from goldbench.llm.exchange import ExchangeFailed, ExchangeFault, Reply, ReplyRejected, costs_nothing
from goldbench.llm.likelihoods import dumped, loaded
from goldbench.llm.limits import NOT_JSON, Gate, Ticket
from goldbench.llm.prices import PriceList
from goldbench.llm.reply import Misfit, read_answer
from goldbench.llm.reply_schema import schema_text
from goldbench.llm.store import KEPT_REJECTIONS, AnswerStore, StoredReply
from goldbench.ports import ChatRequest, Completion, Usage
from goldbench.text.display import amount
from goldbench.text.stage_names import stage_name

T = TypeVar("T", bound=BaseModel)
A = TypeVar("A")
B = TypeVar("B")

Call: TypeAlias = Callable[[A], Coroutine[Any, Any, B]]
"""Takes a request and returns its answer: an exchange, or a layer above it."""

_SHOWN = 6000
"""The most characters of a reply that cannot be used which the model is shown again."""
_COMPLAINT = (
    "That reply cannot be used, because it is not JSON that fits the schema:\n{problems}\n"
    "Send the whole answer again, corrected: one JSON object that fits the schema and nothing else."
)
_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 30.0
_RECONNECT_S = 2.0
"""The longest pause before the next attempt to connect."""
_LESSONS = 12
"""Give a call up after it has taught as many things about the server's parameters."""
_MOST_TIMEOUTS = 4
"""Give a call up after this many time-outs, and a server that never answered. Each attempt has twice the time of the
one before, 120 to 960 s."""
_MEANING = {
    "connect": "no connection was made",
    "connection": "the connection broke",
    "rate-limit": "the server asked for fewer calls (HTTP 429, see model.concurrency)",
    "too-long": "the response is longer than any answer",
    "not-json": "the response is not JSON",
    "compressed": "the server or a proxy compresses its replies, although that was not asked for",
    "parameters": "the server keeps refusing parameters",
}
_log = logging.getLogger(__name__)


class Request(Protocol):
    """A request as far as every layer knows it."""

    @property
    def stage(self) -> str:
        """The account that the call is booked to."""

    @property
    def texts(self) -> Sequence[str]:
        """The texts that identify the call."""


class HasReply(Protocol):
    """The result of an exchange with the reply that it was read from."""

    @property
    def reply(self) -> Reply:
        """The reply."""


Q = TypeVar("Q", bound=Request)
R = TypeVar("R", bound=HasReply)


def request_key(request: ChatRequest[T], *, model: str) -> bytes:
    """Return the SHA-256 of everything that shapes an answer; the stage does not."""
    parts: list[object] = [
        "chat/1", model, request.prompt, request.system, request.user, schema_text(request.answer),
        request.temperature, request.max_tokens, request.variant, request.examples, request.weighed,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).digest()


class AnswerRecord:
    """Answers from the store where it can; else asks, stores the answer, and only then returns it.

    Rejected replies were paid for too: they are stored and stay rejected until they are pruned.
    """

    def __init__(self, ask: Call[ChatRequest[Any], ChatAnswer[Any]] | None, *, store: AnswerStore, gate: Gate) -> None:
        """Take the layer below, None for a replay, which answers from the store alone."""
        self._ask = ask
        self._store = store
        self._gate = gate

    async def complete(self, request: ChatRequest[T]) -> Completion[T]:
        """Return the model's answer.

        Raises:
            ModelUnavailable: This is a replay and the store lacks the answer.
        """
        key = request_key(request, model=self._gate.settings.name)
        async with self._store.turn(key):
            stored = await self._store.find(key)
            if stored is not None:
                self._gate.accounts.book(request.stage, replayed=1)
                return replayed(request, stored)
            if self._ask is None:
                raise answer_missing(request.stage, key)
            try:
                answer: ChatAnswer[T] = await self._ask(request)
            except ReplyRejected as rejected:
                if rejected.kind in KEPT_REJECTIONS:
                    await self._store.put(key, _stored(request, rejected.reply, rejected.kind, str(rejected)))
                raise
            await self._store.put(key, _stored(request, answer.reply, "answer", dumped(answer.likelihood)))
            return answer


def replayed(request: ChatRequest[T], stored: StoredReply) -> Completion[T]:
    """Return the answer in a stored reply.

    Raises:
        AnswerRejected: The reply was rejected when it came, or no longer fits the schema.
    """
    if stored.outcome != "answer":
        raise AnswerRejected(stored.outcome, stored.message)
    try:
        answer = read_answer(stored.reply, request.answer)
    except Misfit as misfit:
        problem = f"the stored reply does not fit {request.answer.__name__}: {misfit}"
        raise AnswerRejected("misfit", f"{stage_name(request.stage)}: {problem}") from None
    likelihood = loaded(stored.message)
    return Completion(answer, stored.model, stored.usage, replayed=True, likelihood=likelihood)


def answer_missing(stage: str, key: bytes) -> ModelUnavailable:
    """Return the error of a replay whose store lacks the answer of a key."""
    problem = f"{stage_name(stage)}: the store has no answer {key.hex()[:12]}"
    return ModelUnavailable(Message("{}; run without {replay=True} to ask the model for it", problem))


def _stored(request: ChatRequest[T], reply: Reply, outcome: str, message: str) -> StoredReply:
    return StoredReply(request.stage, request.prompt, reply.model, outcome, reply.text, message, reply.usage)


async def repaired(request: ChatRequest[T], *, ask: Call[ChatRequest[T], ChatAnswer[T]]) -> ChatAnswer[T]:
    """Return the answer of the first reply or of a second, which is final; its usage counts both.

    Args:
        request: What is asked.
        ask: The layer below.
    """
    try:
        return await ask(request)
    except ReplyRejected as rejected:
        if rejected.kind != "misfit":
            raise
        first = rejected
    try:
        second = await ask(_again(request, first))
    except ReplyRejected as last:
        reply = replace(last.reply, usage=_sum(first.reply.usage, last.reply.usage))
        raise ReplyRejected(last.kind, f"{last} (after one repair)", reply=reply, problems=last.problems) from None
    usage = _sum(first.reply.usage, second.usage)
    return replace(second, usage=usage, reply=replace(second.reply, usage=usage))


def _again(request: ChatRequest[T], rejected: ReplyRejected) -> ChatRequest[T]:
    complaint = _COMPLAINT.format(problems="\n".join(f"- {problem}" for problem in rejected.problems))
    return replace(request, earlier=((rejected.reply.text[:_SHOWN] or "(nothing)", complaint),))


def _sum(first: Usage, second: Usage) -> Usage:
    return Usage(
        first.input_tokens + second.input_tokens,
        first.output_tokens + second.output_tokens,
        first.cached_tokens + second.cached_tokens,
        None if first.usd is None or second.usd is None else first.usd + second.usd,
    )


@dataclass(frozen=True, slots=True)
class LimitedCalls(Generic[Q, R]):
    """Holds a slot of the gate for as long as one exchange takes, within the caps and the time that a call may take.

    ``gate`` is that of the server, which chat and embeddings share. ``most_tokens`` returns how many tokens a request
    may read and write at most.
    """

    exchange: Call[Q, R]
    gate: Gate
    prices: PriceList
    most_tokens: Callable[[Q], tuple[int, int]]

    async def complete(self, request: Q) -> R:
        """Return the result; raises as the exchange and ``persist`` do, and ``LimitReached``."""
        label = call_label(request)
        return await persist(lambda: self._attempt(request, label), label=label, gate=self.gate)

    async def _attempt(self, request: Q, label: str) -> R:
        ticket = await self.gate.enter(label, lambda: self.prices.at_most(*self.most_tokens(request)))
        most = ticket.reservation.most
        cost: Usage | None = self.prices.charge(Usage(), most)  # of a call that is cancelled
        try:
            result = await self._in_time(request)
            cost = self.prices.charge(result.reply.usage, most)
            self.gate.report_answer(ticket, 0 if cost.estimated else cost.output_tokens)
        except Exception as error:
            cost = self._cost_of_failure(error, most)
            self._report(ticket, error)
            if isinstance(error, AnswerRejected):
                error.at(request.stage)
            raise
        else:
            return result
        finally:
            self.gate.accounts.book(request.stage, requests=cost is not None, usage=cost)
            self.gate.leave(ticket, cost)

    async def _in_time(self, request: Q) -> R:
        seconds = self.gate.timeout_s
        left = self.gate.budget.remaining_s()
        if left is not None:  # past the deadline the gate refuses the next attempt
            seconds = min(seconds, max(0.0, left))
        try:
            async with asyncio.timeout(seconds):
                return await self.exchange(request)
        except TimeoutError:
            self.gate.lengthen_timeout(seconds)
        raise ExchangeFailed(ExchangeFault.OVERLOADED, "timeout", after_s=seconds)

    def _cost_of_failure(self, error: Exception, most: Usage) -> Usage | None:
        """Return what a failed exchange is charged, None if nothing was sent.

        Nothing is charged only where that is certain. Any other call may have been billed, whatever became of its
        reply: after a time-out, a broken connection or a server's error.
        """
        if isinstance(error, ExchangeFailed) and error.cause is ExchangeFault.UNREACHABLE:
            return None
        if costs_nothing(error):
            return Usage()
        reply = getattr(error, "reply", None)
        reported = reply.usage if reply else getattr(error, "usage", None)
        return self.prices.charge(reported or Usage(), most)

    def _report(self, ticket: Ticket, error: Exception) -> None:
        """Let the gate know how a call failed."""
        gate = self.gate
        if isinstance(error, AnswerRejected):  # the server works
            gate.report_answer(ticket, 0)
            return
        if isinstance(error, ExchangeFailed):
            gate.report_failure(ticket.label, error.cause, error.kind)
            if error.kind == "not-json":
                gate.report_refusal(ticket.label, f"{gate.settings.shown_url()}: {NOT_JSON}")
            return
        gate.report_failure(ticket.label, ExchangeFault.REFUSED, "")
        if isinstance(error, ModelUnavailable):
            gate.close(error.message)
        elif isinstance(error, CallFailed):
            gate.report_refusal(ticket.label, error.message)


async def persist(
    exchange: Callable[[], Coroutine[Any, Any, B]], *, label: str, gate: Gate, passes_gate: bool = True
) -> B:
    """Return the result of an exchange, repeated while another attempt may work.

    Args:
        exchange: Makes one attempt.
        label: The name of the call.
        gate: The gate of the server, with the settings that limit attempts and seconds.
        passes_gate: Whether each attempt passes the gate, which gives up for all calls a server that is not there.

    Raises:
        CallFailed: The attempts or the seconds are used up.
    """
    patience = _Patience(gate, label, passes_gate=passes_gate)

    async def attempt() -> B:  # tenacity awaits what is a coroutine function, not what returns a coroutine
        return await exchange()

    # One predicate decides and sets the pause: tenacity promises no order between its other parts.
    retrying = AsyncRetrying(
        retry=retry_if_exception(patience.allows_another), wait=lambda _: patience.pause_s, sleep=asyncio.sleep
    )
    try:
        return await retrying(attempt)
    except ExchangeFailed as error:
        failed = error
    raise patience.final_error(failed)


class _Patience:
    """How often one call was tried and how long it waited."""

    def __init__(self, gate: Gate, label: str, *, passes_gate: bool) -> None:
        self._gate = gate
        self._label = label
        self._passes_gate = passes_gate
        self._settings = gate.settings
        self._answered_before = gate.answered
        self._attempts = 0
        self._lessons = 0
        self._timeouts = 0
        self._waited_s = 0.0
        self.pause_s = 0.0
        """The seconds before the next attempt."""

    def allows_another(self, failed: BaseException) -> bool:
        """Record the failure of an attempt; return whether another one follows."""
        if not isinstance(failed, ExchangeFailed):
            return False
        self.pause_s = 0.0
        if failed.cause is ExchangeFault.LEARNED:
            self._lessons += 1
        elif (
            failed.cause is ExchangeFault.UNREACHABLE and self._passes_gate
        ):  # no attempt was made; the gate gives up for all
            self.pause_s = random.uniform(0.5, 1.0) * _RECONNECT_S  # noqa: S311 - as below
        else:
            self._attempts += 1
            if failed.kind == "timeout":
                self._timeouts += 1
            else:
                self._set_pause(failed.retry_after_s)
        _log.debug("%s: %s, attempt %d, pause %.1f s", self._label, failed.kind, self._attempts, self.pause_s)
        return not (
            self._lessons >= _LESSONS
            or self._attempts >= self._settings.max_attempts
            or self._timeouts >= _MOST_TIMEOUTS
            or (not self._gate.answered and self._gate.timeouts >= _MOST_TIMEOUTS)
            or self._waited_s > self._settings.retry_s
        )

    def _set_pause(self, wanted_s: float | None) -> None:
        """Set the pause, with jitter, which only spreads calls over time: no output depends on it."""
        if wanted_s is not None:
            self._waited_s += wanted_s  # without the jitter, so that 300 s may be waited for
            self.pause_s = wanted_s + random.uniform(0, min(1.0, 0.1 * wanted_s + 0.01))  # noqa: S311
        else:
            ceiling = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** (self._attempts - 1))
            self.pause_s = random.uniform(ceiling / 2, ceiling)  # noqa: S311 - as above
            self._waited_s += self.pause_s
        left = self._gate.budget.remaining_s()
        if left is not None:  # past the deadline the gate refuses the next attempt
            self.pause_s = min(self.pause_s, max(0.0, left))

    def final_error(self, failed: ExchangeFailed) -> CallFailed:
        """Return the error of the call; close the gate if the server has answered nothing since it began."""
        url = self._settings.shown_url()
        is_silent = self._gate.answered == self._answered_before
        meaning = _MEANING.get(failed.kind, f"the server answers {failed.kind.upper().replace('-', ' ')}")
        if failed.kind == "timeout":
            meaning = f"no answer came within {failed.after_s:g} s"
            if not self._gate.answered:
                message = Message(
                    "{}: the server accepts calls, but answered none within {:.3g} s: see whether it is loading or "
                    "busy, use a smaller model, or give {concurrency=1} and a longer {timeout=}",
                    *(url, failed.after_s),
                )
                self._gate.close(message)
        elif failed.kind == "rate-limit" and failed.retry_after_s and self._waited_s > self._settings.retry_s:
            meaning = f"the server asks to wait {failed.retry_after_s:,.0f} s (HTTP 429)"
            if is_silent:
                remedy = "run again then; every answer so far is kept"
                self._gate.close(f"{url}: {meaning}: {remedy}")
        elif failed.kind == "rate-limit":
            self._gate.report_refusal(self._label, f"{url}: {meaning}")
        attempts = max(1, self._attempts)
        return CallFailed(failed.kind, f"{self._label}: {meaning} ({amount(attempts, 'attempt')})", attempts=attempts)


def call_label(request: Request) -> str:
    """Return a name that tells calls apart and holds none of their content: the stage and a hash of the texts."""
    digest = hashlib.blake2b(digest_size=4)
    for text in request.texts:
        digest.update(text.encode("utf-8", "replace"))
    return f"{request.stage} {digest.hexdigest()}"
