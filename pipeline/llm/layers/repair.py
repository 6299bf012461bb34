"""The layer that shows a model its mistake once: a reply that does not fit its schema is asked for again."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

from pydantic import BaseModel

from goldbench.pipeline.llm.chat import Answered
from goldbench.pipeline.llm.dialect import Repeat
from goldbench.pipeline.llm.exchange_end import ReplyRejected
from goldbench.pipeline.llm.layers import Call
from goldbench.pipeline.ports import ChatRequest, Usage

T = TypeVar("T", bound=BaseModel)

_SHOWN = 6000
_COMPLAINT = (
    "That reply cannot be used, because it is not JSON that fits the schema:\n{problems}\n"
    "Send the whole answer again, corrected: one JSON object that fits the schema and nothing else."
)


class Repair:
    """Asks once more with the reply and its problems; a second misfit is final."""

    async def complete(self, request: ChatRequest[T], below: Call[ChatRequest[T], Answered[T]]) -> Answered[T]:
        """Return the answer of the first or the second reply; its usage counts both."""
        try:
            return await below(request)
        except ReplyRejected as rejected:
            if rejected.kind != "misfit":
                raise
            first = rejected
        try:
            second = await below(_again(request, first))
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
    usd = None if one.usd is None or other.usd is None else one.usd + other.usd
    return Usage(
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.cached_tokens + other.cached_tokens,
        usd,
    )
