"""The layer that stores an answer before anything uses it, so that no prompt is paid for twice."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import TypeVar

from pydantic import BaseModel

from goldbench.pipeline.errors import AnswerRejected, Message, ModelUnavailable
from goldbench.pipeline.llm.chat import Answered
from goldbench.pipeline.llm.exchange_end import Reply, ReplyRejected
from goldbench.pipeline.llm.layers import Call
from goldbench.pipeline.llm.likelihoods import dumped, loaded
from goldbench.pipeline.llm.reply import Misfit, read_answer
from goldbench.pipeline.llm.reply_schema import schema_text
from goldbench.pipeline.llm.store import KEPT_REJECTIONS, AnswerStore, StoredReply
from goldbench.pipeline.llm.throttle import Gate
from goldbench.pipeline.ports import ChatRequest, Completion
from goldbench.pipeline.text.stage_names import stage_name

T = TypeVar("T", bound=BaseModel)
Below = Call[ChatRequest[T], Answered[T]]

_FIRST_LOOK_S, _LONGEST_LOOK_S = 0.02, 0.25


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

    def __init__(self, store: AnswerStore, *, gate: Gate, replay: bool = False) -> None:
        """Take the store.

        Args:
            store: The store, open.
            gate: The gate of the server, with the settings, the accounts and the deadline.
            replay: Whether to answer from the store alone and never call the layer below.
        """
        self._store, self._gate, self._replay = store, gate, replay
        self._asking: dict[bytes, asyncio.Future[StoredReply]] = {}

    async def complete(self, request: ChatRequest[T], below: Below[T]) -> Completion[T]:
        """Return the model's answer.

        Raises:
            ModelUnavailable: This is a replay and the store lacks the answer.
        """
        key = request_key(request, model=self._gate.settings.name)
        while (other := self._asking.get(key)) is not None:
            await asyncio.wait([other])
            if not other.cancelled():
                return self._replayed(request, other.result())
        future: asyncio.Future[StoredReply] = asyncio.get_running_loop().create_future()
        self._asking[key] = future
        try:
            stored, fresh = await self._find_or_ask(key, request, below)
            future.set_result(stored)
        except asyncio.CancelledError:
            future.cancel()
            raise
        except BaseException as error:
            future.set_exception(error)
            future.exception()  # marks it as read: a call that waits gets it too, but there may be none
            raise
        finally:
            del self._asking[key]
        return fresh or self._replayed(request, stored)

    async def _find_or_ask(
        self, key: bytes, request: ChatRequest[T], below: Below[T]
    ) -> tuple[StoredReply, Completion[T] | None]:
        if self._replay:
            found = await self._store.get(key)
            if found is None:
                raise answer_missing(request.stage, key)
            return found, None
        pause_s = _FIRST_LOOK_S
        while True:
            taken = await self._store.take(key)
            if taken.answer is not None:
                return taken.answer, None
            if taken.ours:
                return await self._ask(key, request, below)
            self._gate.budget.check_deadline()
            await asyncio.sleep(pause_s)  # another process is asking
            pause_s = min(_LONGEST_LOOK_S, 2 * pause_s)

    async def _ask(self, key: bytes, request: ChatRequest[T], below: Below[T]) -> tuple[StoredReply, Completion[T]]:
        kept = False
        completion: Completion[T] | None = None
        try:
            try:
                answered = await below(request)
            except ReplyRejected as rejected:
                if rejected.kind not in KEPT_REJECTIONS:
                    raise
                stored = _stored(request, rejected.reply, outcome=rejected.kind, message=str(rejected))
            else:
                said = dumped(answered.likelihood)
                stored = _stored(request, answered.reply, outcome="answer", message=said)
                completion = Completion(answered.answer, answered.model, answered.usage, likelihood=answered.likelihood)
            await self._store.put(key, stored)
            kept = True
        finally:
            if not kept:
                self._store.release(key)
        if completion is None:
            raise AnswerRejected(stored.outcome, stored.message)
        return stored, completion

    def _replayed(self, request: ChatRequest[T], stored: StoredReply) -> Completion[T]:
        self._gate.accounts.book(request.stage, replayed=1)
        return replayed(request, stored)


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
        problems = str(misfit)
    else:
        likelihood = loaded(stored.message)
        return Completion(answer, stored.model, stored.usage, replayed=True, likelihood=likelihood)
    message = f"{stage_name(request.stage)}: the stored reply does not fit {request.answer.__name__}: {problems}"
    raise AnswerRejected("misfit", message)


def answer_missing(stage: str, key: bytes) -> ModelUnavailable:
    """Return the error of a replay whose store lacks the answer of a key."""
    missing = key.hex()[:12]
    problem = f"{stage_name(stage)}: the store has no answer {missing}"
    return ModelUnavailable(Message("{}; run without {replay=True} to ask the model for it", problem))


def _stored(request: ChatRequest[T], reply: Reply, *, outcome: str, message: str) -> StoredReply:
    return StoredReply(request.stage, request.prompt, reply.model, outcome, reply.text, message, reply.usage)
