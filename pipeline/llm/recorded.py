"""The outermost layer: an answer is kept before anything uses it, and no prompt is ever paid for twice."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import TypeVar

from pydantic import BaseModel

from pipeline.errors import AnswerMissing, AnswerRejected
from pipeline.llm.budget import Budget
from pipeline.llm.faults import Reply, ReplyRejected
from pipeline.llm.limited import Accounts
from pipeline.llm.repaired import Repairing
from pipeline.llm.reply import Misfit, read_answer
from pipeline.llm.reply_schema import schema_text
from pipeline.llm.store import AnswerStore, StoredReply
from pipeline.ports import ChatRequest, Completion

T = TypeVar("T", bound=BaseModel)

KEPT_REJECTIONS = frozenset({"misfit", "refusal", "content-filter", "cut-off"})
"""What a reply that was paid for may be although it is no answer; any other is asked for again."""
_FIRST_LOOK_S, _LONGEST_LOOK_S = 0.02, 0.25


def request_key(request: ChatRequest[T], *, model: str) -> bytes:
    """Return the SHA-256 of everything that shapes an answer; the stage it is booked to is none of it."""
    parts = [
        "chat/1", model, request.prompt, request.system, request.user, schema_text(request.answer),
        request.temperature, request.max_tokens, request.variant,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).digest()


class Recorded:
    """Answers from the store where it can; else asks, keeps the answer, and only then hands it on.

    Rejected replies were paid for as well: they are kept and stay rejected until they are pruned.
    """

    def __init__(
        self, inner: Repairing | None, *, store: AnswerStore, model: str, accounts: Accounts, budget: Budget
    ) -> None:
        """Take the layer below; None for a replay, which asks nobody."""
        self._inner, self._store, self._model = inner, store, model
        self._accounts, self._budget = accounts, budget
        self._asking: dict[bytes, asyncio.Future[StoredReply]] = {}

    async def complete(self, request: ChatRequest[T]) -> Completion[T]:
        """Return the model's answer.

        Raises:
            AnswerMissing: this is a replay and the store has no such answer.
        """
        key = request_key(request, model=self._model)
        while (other := self._asking.get(key)) is not None:
            await asyncio.wait([other])
            if not other.cancelled():
                return self._replayed(request, other.result())
        future: asyncio.Future[StoredReply] = asyncio.get_running_loop().create_future()
        self._asking[key] = future
        try:
            stored, fresh = await self._find_or_ask(key, request)
            future.set_result(stored)
        except asyncio.CancelledError:
            future.cancel()
            raise
        except BaseException as error:
            future.set_exception(error)
            future.exception()  # whoever waits gets it too; nobody has to
            raise
        finally:
            del self._asking[key]
        return fresh or self._replayed(request, stored)

    async def _find_or_ask(self, key: bytes, request: ChatRequest[T]) -> tuple[StoredReply, Completion[T] | None]:
        if self._inner is None:
            found = await self._store.get(key)
            if found is None:
                raise AnswerMissing(request.stage, key.hex()[:12])
            return found, None
        pause_s = _FIRST_LOOK_S
        while True:
            taken = await self._store.take(key)
            if taken.answer is not None:
                return taken.answer, None
            if taken.ours:
                return await self._ask(self._inner, key, request)
            self._budget.check_deadline()
            await asyncio.sleep(pause_s)  # another process is asking
            pause_s = min(_LONGEST_LOOK_S, 2 * pause_s)

    async def _ask(
        self, inner: Repairing, key: bytes, request: ChatRequest[T]
    ) -> tuple[StoredReply, Completion[T] | None]:
        kept = False
        try:
            try:
                answered = await inner.complete(request)
            except ReplyRejected as rejected:
                if rejected.kind not in KEPT_REJECTIONS:
                    raise
                stored = _stored(request, rejected.reply, outcome=rejected.kind, message=str(rejected))
                completion = None
            else:
                stored = _stored(request, answered.reply, outcome="answer", message="")
                completion = Completion(answered.answer, answered.model, answered.usage)
            await self._store.put(key, stored)
            kept = True
        finally:
            if not kept:
                self._store.release(key)
        if completion is None:
            raise AnswerRejected(stored.outcome, stored.message)
        return stored, completion

    def _replayed(self, request: ChatRequest[T], stored: StoredReply) -> Completion[T]:
        self._accounts.book(request.stage, replayed=1)
        return replayed(request, stored)


def replayed(request: ChatRequest[T], stored: StoredReply) -> Completion[T]:
    """Return the answer in a stored reply.

    Raises:
        AnswerRejected: the reply was rejected when it came, or does not fit what the schema has become.
    """
    if stored.outcome != "answer":
        raise AnswerRejected(stored.outcome, stored.message)
    problems: tuple[str, ...] = ()
    try:
        answer = read_answer(stored.reply, request.answer)
    except Misfit as misfit:
        problems = misfit.problems
    if problems:
        message = f"{request.stage}: the stored reply does not fit {request.answer.__name__}: {'; '.join(problems)}"
        raise AnswerRejected("misfit", message)
    return Completion(answer, stored.model, stored.usage, replayed=True)


def _stored(request: ChatRequest[T], reply: Reply, *, outcome: str, message: str) -> StoredReply:
    return StoredReply(
        stage=request.stage,
        prompt=request.prompt,
        model=reply.model,
        outcome=outcome,
        reply=reply.text,
        message=message,
        usage=reply.usage,
    )
