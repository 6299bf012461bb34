"""The layer that shows a model its mistake once: a reply that does not fit its schema is asked for again."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from pipeline.llm.chat import Answered, Repeat
from pipeline.llm.faults import ReplyRejected
from pipeline.ports import ChatRequest, Usage

T = TypeVar("T", bound=BaseModel)

_SHOWN = 6000
_COMPLAINT = (
    "That reply cannot be used, because it is not JSON that fits the schema:\n{problems}\n"
    "Send the whole answer again, corrected: one JSON object that fits the schema and nothing else."
)


class Asking(Protocol):
    """A layer below: one question, one answer or one failure for good."""

    async def complete(self, request: ChatRequest[T]) -> Answered[T]:
        """Return the model's answer."""


class Repairing:
    """Asks once more with the reply and what is wrong with it; a second misfit is final."""

    def __init__(self, inner: Asking) -> None:
        self._inner = inner

    async def complete(self, request: ChatRequest[T]) -> Answered[T]:
        """Return the model's answer, of the first or of the second reply; its usage counts both."""
        try:
            return await self._inner.complete(request)
        except ReplyRejected as rejected:
            if rejected.kind != "misfit":
                raise
            first = rejected
        try:
            second = await self._inner.complete(_again(request, first))
        except ReplyRejected as rejected:
            last = rejected
        else:
            usage = _sum(first.reply.usage, second.usage)
            return replace(second, usage=usage, reply=replace(second.reply, usage=usage))
        reply = replace(last.reply, usage=_sum(first.reply.usage, last.reply.usage))
        raise ReplyRejected(last.kind, f"{last} (after one repair)", reply=reply, problems=last.problems)


def _again(request: ChatRequest[T], rejected: ReplyRejected) -> Repeat[T]:
    same: dict[str, Any] = {one.name: getattr(request, one.name) for one in fields(ChatRequest)}
    complaint = _COMPLAINT.format(problems="\n".join(f"- {problem}" for problem in rejected.problems))
    return Repeat(**same, earlier=((rejected.reply.text[:_SHOWN] or "(nothing)", complaint),))


def _sum(one: Usage, other: Usage) -> Usage:
    usd = None if one.usd is None and other.usd is None else (one.usd or 0.0) + (other.usd or 0.0)
    return Usage(
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.cached_tokens + other.cached_tokens,
        usd,
    )
