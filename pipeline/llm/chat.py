"""The innermost layer: one question to an OpenAI-compatible server is one HTTP exchange and one outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from pipeline.errors import AnswerRejected, CallFailed
from pipeline.llm.dialect import Dialect, Question, body_of, learn
from pipeline.llm.faults import Cause, ExchangeFailed, Reply, ReplyRejected
from pipeline.llm.headers import allowance
from pipeline.llm.prices import PriceList
from pipeline.llm.reply import Misfit, read_answer
from pipeline.llm.server_settings import ModelSettings
from pipeline.llm.wire import ParameterRefused, Wire
from pipeline.ports import ChatRequest, Completion, Usage

T = TypeVar("T", bound=BaseModel)

_FILTERED = ("content_filter", "content_policy", "content management policy", "responsible ai", "safety system")
_MEANING = {
    "refusal": "the model declined to answer",
    "content-filter": "the provider's content filter stopped it",
    "cut-off": "the reply reached max_tokens before it was complete: allow more",
    "empty": "the reply is empty",
}


@dataclass(frozen=True, slots=True)
class Answered(Completion[T]):
    """A completion together with the reply it was read from. It is what the layers of the path hand on."""

    reply: Reply = field(kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Repeat(ChatRequest[T]):
    """A request put again with the replies that did not fit and what was wrong with them."""

    earlier: tuple[tuple[str, str], ...] = field(default=(), repr=False)


class DialectMemory(Protocol):
    """Where the dialect of a server is kept between runs."""

    async def dialect(self, base_url: str, model: str) -> str | None:
        """Return what was remembered, None where nothing was."""

    async def remember_dialect(self, base_url: str, model: str, dialect: str) -> None:
        """Remember it."""


class OpenAIChat:
    """Chat completions of one model on one server.

    What the server takes is learnt from its refusals: a refusal changes the dialect for everybody and asks for another
    attempt at once; the first answer settles it and it is remembered.
    """

    def __init__(
        self,
        wire: Wire,
        *,
        settings: ModelSettings,
        prices: PriceList,
        dialect: Dialect,
        settled: bool = False,
        memory: DialectMemory | None = None,
    ) -> None:
        self._wire, self._settings, self._prices, self._memory = wire, settings, prices, memory
        self._dialect, self._settled = dialect, settled

    @property
    def dialect(self) -> Dialect:
        """What is known of the server by now."""
        return self._dialect

    async def complete(self, request: ChatRequest[T]) -> Answered[T]:
        """Return the model's answer to one exchange.

        Raises:
            ExchangeFailed: another attempt may work.
            ReplyRejected: a reply came and cannot be used.
            CallFailed: the server refuses this call.
            ModelUnavailable: the server refuses every call.
        """
        sent = self._dialect
        body = self.body(request, sent)
        refused: ParameterRefused | None = None
        try:
            found, headers = await self._wire.post("/chat/completions", body)
        except ParameterRefused as refusal:
            refused = refusal
        if refused is not None:
            raise self._after_refusal(sent, refused)
        await self._settle(sent)
        return answered(request, found, headers=headers, model=self._settings.name, prices=self._prices)

    def body(self, request: ChatRequest[T], dialect: Dialect) -> dict[str, Any]:
        """Return the JSON body that a request becomes."""
        return request_body(request, dialect=dialect, settings=self._settings)

    async def _settle(self, sent: Dialect) -> None:
        if self._settled or sent != self._dialect:
            return
        self._settled = True
        if self._memory is not None:
            await self._memory.remember_dialect(self._settings.shown_url(), self._settings.name, sent.dumps())

    def _after_refusal(self, sent: Dialect, refused: ParameterRefused) -> Exception:
        if is_filtered(refused.error):
            return AnswerRejected("content-filter", _MEANING["content-filter"], request_id=refused.request_id)
        if sent != self._dialect:  # somebody else has learnt in the meantime
            return ExchangeFailed(Cause.LEARNED, "parameters", request_id=refused.request_id)
        fixed = self._settings.response_format != "auto"
        better = learn(sent, refused.error, settled=self._settled, fixed_format=fixed)
        if better is None:
            kind = f"http-{refused.status}"
            message = f"{self._settings.shown_url()} refuses the call as wrong (HTTP {refused.status})"
            return CallFailed(kind, message, request_id=refused.request_id)
        self._dialect, self._settled = better, False
        return ExchangeFailed(Cause.LEARNED, "parameters", request_id=refused.request_id)


def request_body(request: ChatRequest[T], *, dialect: Dialect, settings: ModelSettings) -> dict[str, Any]:
    """Return the JSON body that a request becomes."""
    question = Question(
        system=request.system,
        user=request.user,
        answer=request.answer,
        temperature=request.temperature,
        max_tokens=request.max_tokens,
        earlier=request.earlier if isinstance(request, Repeat) else (),
    )
    return body_of(question, model=settings.name, dialect=dialect, reasoning_tokens=settings.reasoning_tokens)


def answered(
    request: ChatRequest[T], found: dict[str, Any], *, headers: Mapping[str, str], model: str, prices: PriceList
) -> Answered[T]:
    """Return the answer in the body of a chat completion.

    Raises:
        ReplyRejected: it holds none that can be used.
    """
    reply = _reply(found, headers, model=model, prices=prices)
    outcome = _outcome(found, reply)
    if outcome:
        raise ReplyRejected(outcome, f"{request.stage}: {_MEANING[outcome]}", reply=reply)
    problems: tuple[str, ...] = ()
    try:
        answer = read_answer(reply.text, request.answer)
    except Misfit as misfit:
        problems = misfit.problems
    if problems:
        message = f"{request.stage}: the reply does not fit {request.answer.__name__}: {'; '.join(problems)}"
        raise ReplyRejected("misfit", message, reply=reply, problems=problems)
    return Answered(answer=answer, model=reply.model, usage=reply.usage, reply=reply)


def _reply(found: dict[str, Any], headers: Mapping[str, str], *, model: str, prices: PriceList) -> Reply:
    content = _message(_first_choice(found)).get("content")
    if isinstance(content, list):  # some servers send parts
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return Reply(
        text=content if isinstance(content, str) else "",
        model=str(found.get("model") or model),
        usage=priced(usage_of(found), prices),
        request_id=headers.get("x-request-id"),
        allowance=allowance(headers),
    )


def usage_of(found: dict[str, Any]) -> Usage:
    """Return the tokens a response reports; zeros where it reports none."""
    usage = found.get("usage")
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    return Usage(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")), _count(cached))


def priced(usage: Usage, prices: PriceList) -> Usage:
    """Return the usage with its price; None where the price is unknown or nothing was counted."""
    return replace(usage, usd=prices.cost(usage)) if usage.input_tokens or usage.output_tokens else usage


def _count(value: object) -> int:
    return int(value) if isinstance(value, (int, float)) and 0 <= value < 2**53 else 0


def is_filtered(error: Mapping[str, Any]) -> bool:
    """Whether a refusal is the provider's content filter."""
    said = f"{error.get('code') or ''} {error.get('message') or ''}".lower()
    return any(word in said for word in _FILTERED)


def _first_choice(found: dict[str, Any]) -> dict[str, Any]:
    choices = found.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def _message(choice: dict[str, Any]) -> dict[str, Any]:
    message = choice.get("message")
    return message if isinstance(message, dict) else {}


def _outcome(found: dict[str, Any], reply: Reply) -> str | None:
    """Return why a response holds no answer, None where it may hold one."""
    choice = _first_choice(found)
    finish = choice.get("finish_reason")
    if _message(choice).get("refusal"):
        return "refusal"
    if finish == "content_filter":
        return "content-filter"
    if finish == "length":
        return "cut-off"
    return None if reply.text.strip() else "empty"
