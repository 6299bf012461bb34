"""Opening a path to a model: the layers above the exchange with the server."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

from goldbench.errors import UsageError
from goldbench.llm.batch import Batch
from goldbench.llm.budget import Budget
from goldbench.llm.calls import AnswerRecord, Call, LimitedCalls, repaired
from goldbench.llm.chat import ChatAnswer, ChatExchange, Post
from goldbench.llm.dialect import Lessons
from goldbench.llm.limits import Gate, Snapshot
from goldbench.llm.prices import PriceList, check_price
from goldbench.llm.server_settings import ModelSettings
from goldbench.llm.store import AnswerStore
from goldbench.llm.vectors import (
    MOST_PASSAGES,
    RerankSettings,
    VectorExchange,
    VectorRecord,
    VectorReply,
    VectorRequest,
    embedding_body,
    embedding_key,
    most_tokens,
)
from goldbench.ports import ChatRequest, Completion, Embedder
from goldbench.records.manifest import StageUsage

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ModelPath:
    """An open path: a ``ChatModel``, and an ``Embedder`` where an embedding model is configured."""

    call: Call[ChatRequest[Any], Completion[Any]] = field(repr=False)
    embedder: Embedder | None
    gate: Gate
    lessons: Lessons | None = None

    async def complete(self, request: ChatRequest[T]) -> Completion[T]:
        """Return the model's answer."""
        return await self.call(request)

    def snapshot(self) -> Snapshot:
        """Return the state of the calls."""
        return self.gate.snapshot()

    def usage(self) -> dict[str, StageUsage]:
        """Return what was spent so far, by stage."""
        return self.gate.accounts.report()


@contextlib.asynccontextmanager
async def open_model(
    settings: ModelSettings,
    *,
    answers: AnswerStore | None = None,
    replay: bool = False,
    batch: Callable[[str], None] | None = None,
    budget: Budget | None = None,
    anew: bool = False,
) -> AsyncIterator[ModelPath]:
    """Open the path to a model.

    Args:
        settings: The server, the speed and the caps.
        answers: An open store; None stores nothing, and every call is paid.
        replay: Whether to answer from the store alone; no client is made and no address is resolved.
        batch: Takes a line about every batch that is sent or ends; None sends single calls.
        budget: What was spent on another path that shares the caps.
        anew: Whether to ask as if nothing were stored; how the server is asked is remembered, replies are not.

    Raises:
        UsageError: A replay or a batch has no store, there is a cap on money and a price is not known, or batches are
            asked of a model on this machine.
    """
    if settings.file is not None and batch is not None:
        raise UsageError("a model on this machine takes no batches; leave it out", parameter="batch")
    if answers is None and (replay or batch is not None):
        raise UsageError("a replay or a batch needs an answer store")
    from goldbench.llm.client import open_client  # imports openai
    from goldbench.llm.local.local_wire import LocalWire

    gate = Gate(settings, budget=budget or Budget(settings))
    lessons: Lessons | None = None
    ask: Call[ChatRequest[Any], ChatAnswer[Any]] | None = None
    post: Post | None = None
    async with contextlib.AsyncExitStack() as opened:
        if not replay:
            if settings.file is not None:
                gate.resize(1)
                local = LocalWire(settings, gate.resize)
                await opened.enter_async_context(contextlib.aclosing(local))
                post = local.post
            else:
                check_price(settings)
                client = await opened.enter_async_context(open_client(settings))
                post = client.post
            lessons = await Lessons.recall(settings, answers, cautious=batch is not None, anew=anew)
            if batch is None:
                ask = _single_calls(post, gate, lessons)
            else:
                assert answers is not None
                batches = Batch(client, answers, gate, lessons, batch)
                await opened.enter_async_context(batches)
                ask = batches.complete
            ask = functools.partial(repaired, ask=ask)  # shows a misfit to the model once
        chat: Call[ChatRequest[Any], Completion[Any]] | None = ask
        if answers is not None and not anew:  # stores an answer before anything uses it
            chat = AnswerRecord(ask, store=answers, gate=gate).complete
        assert chat is not None
        yield ModelPath(chat, _embedder(post, gate, answers) if settings.embedding else None, gate, lessons)


def _single_calls(post: Post, gate: Gate, lessons: Lessons) -> Call[ChatRequest[Any], ChatAnswer[Any]]:
    prices = PriceList(gate.settings)
    exchange = ChatExchange(post, gate.settings, prices, lessons)
    calls: LimitedCalls[ChatRequest[Any], ChatAnswer[Any]] = LimitedCalls(
        exchange.complete, gate=gate, prices=prices, most_tokens=exchange.most_tokens
    )
    return calls.complete


def _embedder(post: Post | None, gate: Gate, answers: AnswerStore | None) -> Embedder:
    settings = gate.settings
    prices = PriceList(settings, model=settings.embedding, embedding=True)
    exchange = None
    if post is not None:
        body = functools.partial(embedding_body, settings)
        exchange = VectorExchange(post, path="/embeddings", body=body, prices=prices)
    key = functools.partial(embedding_key, settings)
    calls = _limited(exchange, gate, prices)
    return VectorRecord(ask=calls, store=answers, gate=gate, key=key, portion=settings.embedding_batch)


@contextlib.asynccontextmanager
async def open_reranker(
    settings: RerankSettings, *, answers: AnswerStore | None = None, replay: bool = False, budget: Budget | None = None
) -> AsyncIterator[VectorRecord]:
    """Open the path to a reranker.

    Args:
        settings: The endpoint and how hard to drive it.

    Raises:
        UsageError: The URL is not valid, a replay has no store, or there is a cap on money and the price is not known.
    """
    if replay and answers is None:
        raise UsageError("a replay needs an answer store")
    from goldbench.llm.client import open_client  # imports openai

    server = settings.server()
    gate = Gate(server, budget=budget or Budget(server))
    prices = PriceList(server, embedding=True)
    if gate.budget.caps.max_usd is not None and not replay:
        prices.require()
    async with contextlib.AsyncExitStack() as opened:
        exchange = None
        if not replay:
            client = await opened.enter_async_context(open_client(server))
            exchange = VectorExchange(client.post, path=settings.path(), body=settings.body, prices=prices)
        calls = _limited(exchange, gate, prices)
        yield VectorRecord(ask=calls, store=answers, gate=gate, key=settings.key, portion=MOST_PASSAGES)


def _limited(exchange: VectorExchange | None, gate: Gate, prices: PriceList) -> Call[VectorRequest, VectorReply] | None:
    if exchange is None:
        return None
    return LimitedCalls(exchange.complete, gate=gate, prices=prices, most_tokens=most_tokens).complete
