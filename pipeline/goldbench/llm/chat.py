"""One question to an OpenAI-compatible server: one HTTP exchange and its outcome."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel

from goldbench.errors import AnswerRejected, CallFailed, ModelUnavailable
from goldbench.llm.dialect import Dialect, Lessons, request_body
from goldbench.llm.exchange import (
    ExchangeFailed,
    ExchangeFault,
    ParameterRefused,
    PathUnknown,
    Reply,
    ReplyRejected,
    costs_nothing,
)
from goldbench.llm.likelihoods import likelihood_of, yes_probability
from goldbench.llm.prices import PriceList
from goldbench.llm.reply import Misfit, read_answer, repeats_itself
from goldbench.llm.reply_body import (
    context_exceeded,
    context_named,
    first_choice,
    has_thought,
    mapping_at,
    text_of,
    value_at,
)
from goldbench.llm.server_settings import THINKING, ModelSettings
from goldbench.llm.token_counts import tokens_at_most
from goldbench.ports import ChatRequest, Completion, Usage

T = TypeVar("T", bound=BaseModel)

Post: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[tuple[dict[str, Any], Mapping[str, str]]]]
"""Sends a body to a path and returns the JSON of the response and its headers, as ``Client.post`` does."""

_ABSURD = 2**40
"""A number of tokens that no server counts."""
_FRAME_CHARACTERS = 4096
_TOKEN_CHARACTERS = 32
"""The most characters of a reply's text, and more for each token. A token has rarely more than ten."""
_FILTERED = ("content_filter", "content_policy", "content management policy", "responsible ai", "safety system")
_MODEL_WORDS = ("model_not_found", "does not exist", "deploymentnotfound", "not found, try pulling", "unknown model")
CONTENT_FILTER = "the provider's content filter stopped it"
NO_PROBABILITY = "no-probability"
"""The kind of failure where a server does not say how likely yes and no are."""
_MEANING = {
    NO_PROBABILITY: "the server does not say how likely yes and no are",
    "refusal": "the model declined to answer",
    "content-filter": CONTENT_FILTER,
    "cut-off": "the reply ran on until the limit of {} tokens",
    "empty": "the reply is empty",
    "loop": "the reply repeats itself",
}


@dataclass(frozen=True, slots=True)
class ChatAnswer(Completion[T]):
    """A completion with the reply that it was read from, as the layers of the path return it."""

    reply: Reply = field(kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class ChatExchange:
    """Chat completions of one model on one server.

    A refusal of a parameter changes the dialect of every later call and asks for another attempt at once.
    """

    post: Post
    settings: ModelSettings
    prices: PriceList
    lessons: Lessons

    async def complete(self, request: ChatRequest[T]) -> ChatAnswer[T]:
        """Return the model's answer to one exchange; raises as ``Client.post`` does.

        Raises:
            AnswerRejected: The provider's content filter refuses the request, or the reply cannot be used.
        """
        sent = self.lessons.dialect
        body = request_body(request, dialect=sent, settings=self.settings)
        try:
            completion, _ = await self.post("/chat/completions", body)
        except (ExchangeFailed, CallFailed, PathUnknown) as failed:
            failure = with_lessons(failed, self.lessons, sent)
        else:
            return await self._read(request, sent, completion)
        raise failure

    async def _read(self, request: ChatRequest[T], sent: Dialect, completion: dict[str, Any]) -> ChatAnswer[T]:
        """Return the answer in a reply; one that was cut off while the model thought teaches to leave it more room."""
        outcome: ChatAnswer[T] | ReplyRejected
        try:
            outcome = read_completion(request, completion, model=self.settings.name, prices=self.prices)
        except ReplyRejected as rejected:
            outcome = rejected
        self.lessons.compare(outcome.reply.usage, words(request))
        kind = outcome.kind if isinstance(outcome, ReplyRejected) else ""
        if kind == "cut-off" and has_thought(completion) and self.lessons.leave_room(sent):
            raise _learnt(usage=outcome.reply.usage)
        await self.lessons.settle(sent, completion)
        if isinstance(outcome, ReplyRejected):
            raise outcome
        return outcome

    def most_tokens(self, request: ChatRequest[T]) -> tuple[int, int]:
        """Return how many tokens a request may read and write at most, as it would be sent now."""
        return most_tokens_of(request_body(request, dialect=self.lessons.dialect, settings=self.settings))


def with_lessons(
    failed: ExchangeFailed | CallFailed | ModelUnavailable, lessons: Lessons, sent: Dialect
) -> ExchangeFailed | CallFailed | ModelUnavailable:
    """Return the error to raise: one that asks for another attempt where the failure taught something.

    Args:
        failed: How an exchange ended.
        lessons: What is known of the model's dialect; the failure is recorded there.
        sent: The dialect of the request.
    """
    if isinstance(failed, ParameterRefused):
        if is_filtered(failed.error):
            return AnswerRejected("content-filter", CONTENT_FILTER)
        if lessons.learn(sent, failed.error):
            return _learnt(is_free=True)
        return _too_long(failed) if context_exceeded(failed.error) else failed
    if isinstance(failed, PathUnknown):
        is_model = any(word in str(failed.error).lower() for word in _MODEL_WORDS)
        is_learnt = not is_model and lessons.doubt(sent, 404)
        return _learnt(is_free=True) if is_learnt else ModelUnavailable(failed.message)
    status = "" if isinstance(failed, ModelUnavailable) else failed.kind.removeprefix("http-")
    if status.isdecimal() and lessons.doubt(sent, int(status)):
        return _learnt(is_free=costs_nothing(failed))
    return failed


def _learnt(*, usage: Usage | None = None, is_free: bool = False) -> ExchangeFailed:
    return ExchangeFailed(ExchangeFault.LEARNED, "parameters", usage=usage, is_free=is_free)


def _too_long(refused: ParameterRefused) -> CallFailed:
    tokens = context_named(refused.error)
    context = f"the context of {tokens:,} tokens" if tokens else "the model's context"
    return CallFailed(
        "too-long",
        f"prompt and reply are longer than {context}: make chunks shorter (chunk.size), lower max_answer_tokens, "
        "or give the model a longer context at the server (num_ctx, --max-model-len, -c)",
    )


def words(request: ChatRequest[T]) -> int:
    """Return the fewest tokens of a request: one for each word between white space."""
    return len(request.system.split()) + len(request.user.split())


def most_tokens_of(body: dict[str, Any]) -> tuple[int, int]:
    """Return how many tokens the body of a request may make the model read and write at most."""
    written = body.get("max_tokens") or body["max_completion_tokens"]
    return tokens_at_most(json.dumps(body, ensure_ascii=False)), written


def read_completion(
    request: ChatRequest[T], completion: dict[str, Any], *, model: str, prices: PriceList
) -> ChatAnswer[T]:
    """Return the answer in the body of a chat completion.

    Args:
        request: The request.
        completion: The body.
        model: The model's name, where the server does not give one.
        prices: The prices of the model.

    Raises:
        ReplyRejected: The reply cannot be used.
    """
    reply = _reply(completion, model=model, prices=prices)
    if request.yes_or_no:
        return _weighed_answer(request, reply, yes_probability(first_choice(completion)))
    outcome = _outcome(completion, reply)
    most = _FRAME_CHARACTERS + _TOKEN_CHARACTERS * (request.max_tokens + THINKING)
    if len(reply.text) > most:  # the server keeps no limit on tokens
        reply = replace(reply, text=reply.text[:most])
        outcome = outcome or "cut-off"
    if outcome == "cut-off" and repeats_itself(reply.text):
        outcome = "loop"
    if outcome:
        raise ReplyRejected(outcome, _MEANING[outcome].format(request.max_tokens), reply=reply)
    try:
        answer = read_answer(reply.text, request.answer)
    except Misfit as misfit:
        problems = misfit.problems
    else:
        return ChatAnswer(answer=answer, model=reply.model, usage=reply.usage, likelihood=reply.likelihood, reply=reply)
    if repeats_itself(reply.text):
        raise ReplyRejected("loop", _MEANING["loop"], reply=reply)
    message = f"the reply does not fit {request.answer.__name__}: {'; '.join(problems)}"
    raise ReplyRejected("misfit", message, reply=reply, problems=problems)


def _weighed_answer(request: ChatRequest[T], reply: Reply, probability: float | None) -> ChatAnswer[T]:
    """Return the probability of yes as the answer; the reply that is stored holds it and not the one token."""
    if probability is None:
        raise ReplyRejected(NO_PROBABILITY, _MEANING[NO_PROBABILITY], reply=reply)
    answer = request.answer.model_validate({"yes": probability})
    reply = replace(reply, text=answer.model_dump_json())
    return ChatAnswer(answer=answer, model=reply.model, usage=reply.usage, reply=reply)


def _reply(completion: dict[str, Any], *, model: str, prices: PriceList) -> Reply:
    return Reply(
        text=text_of(completion),
        model=str(completion.get("model") or model),
        usage=priced(usage_of(completion), prices),
        likelihood=likelihood_of(first_choice(completion)),
    )


def usage_of(completion: dict[str, Any]) -> Usage:
    """Return the tokens a response reports; zeros where it reports none."""
    usage = completion.get("usage")
    cached = value_at(usage, "prompt_tokens_details", "cached_tokens")
    values = (value_at(usage, "prompt_tokens"), value_at(usage, "completion_tokens"), cached)
    counts = [value if isinstance(value, (int, float)) else 0 for value in values]
    if not all(0 <= count < _ABSURD for count in counts):
        return Usage()  # none of it is believed, so that the caps count estimates
    read, written, cached = map(int, counts)
    return Usage(read, written, cached)


def priced(usage: Usage, prices: PriceList) -> Usage:
    """Return the usage with its price; None where the price is unknown or nothing was counted."""
    return replace(usage, usd=prices.cost(usage)) if usage.input_tokens or usage.output_tokens else usage


def is_filtered(error: Mapping[str, Any]) -> bool:
    """Whether a refusal is the provider's content filter."""
    message = f"{error.get('code') or ''} {error.get('message') or ''}".lower()
    return any(word in message for word in _FILTERED)


def _outcome(completion: dict[str, Any], reply: Reply) -> str | None:
    """Return why a response holds no answer, None where it may hold one."""
    choice = first_choice(completion)
    finish = choice.get("finish_reason")
    if mapping_at(choice, "message").get("refusal"):
        return "refusal"
    if finish == "content_filter":
        return "content-filter"
    if finish == "length":
        return "cut-off"
    return None if reply.text.strip() else "empty"
