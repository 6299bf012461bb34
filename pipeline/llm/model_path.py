"""Opening a path to a model: the layers above the exchange with the server, top layer first."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

import numpy as np
from pydantic import BaseModel

from goldbench.pipeline.errors import CallFailed, UsageError
from goldbench.pipeline.llm.batch import Batch, BatchLimits
from goldbench.pipeline.llm.batch_book import BatchBook
from goldbench.pipeline.llm.batch_files import BatchFiles
from goldbench.pipeline.llm.budget import Budget
from goldbench.pipeline.llm.chat import ChatExchange
from goldbench.pipeline.llm.dialect import Lessons
from goldbench.pipeline.llm.embeddings import EmbeddingExchange, Texts, Vectors, embedding_key, most_tokens
from goldbench.pipeline.llm.layers import Call, Layer, every, stacked
from goldbench.pipeline.llm.layers.admission import Admission
from goldbench.pipeline.llm.layers.answer_record import AnswerRecord
from goldbench.pipeline.llm.layers.repair import Repair
from goldbench.pipeline.llm.layers.retry import Retry
from goldbench.pipeline.llm.layers.vector_record import VectorRecord
from goldbench.pipeline.llm.local.local_wire import open_local
from goldbench.pipeline.llm.prices import PriceList, check_price
from goldbench.pipeline.llm.rerank_endpoint import MOST_PASSAGES, RerankExchange, RerankSettings, rerank_key
from goldbench.pipeline.llm.server_settings import ModelSettings
from goldbench.pipeline.llm.store import AnswerStore
from goldbench.pipeline.llm.throttle import Gate, Snapshot
from goldbench.pipeline.llm.wire import Exchanges, Wire, open_wire
from goldbench.pipeline.ports import ChatRequest, Completion, Embedder
from goldbench.schemas.manifest import StageUsage

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


@dataclass(frozen=True, slots=True)
class PathEmbedder:
    """An ``Embedder`` over a stack of layers."""

    call: Call[Texts, list[np.ndarray]] = field(repr=False)

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return one float32 row per text, in order."""
        rows = await self.call(Texts("embed", tuple(texts)))
        if len({len(row) for row in rows}) > 1:
            raise CallFailed("dimensions", "embed: the server gives vectors of different sizes for one model")
        return np.vstack(rows).astype(np.float32) if rows else np.empty((0, 0), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class RerankPath:
    """An open path to a reranker."""

    call: Call[Texts, list[np.ndarray]] = field(repr=False)
    gate: Gate

    def usage(self) -> dict[str, StageUsage]:
        """Return what was spent so far, by stage."""
        return self.gate.accounts.report()

    async def rate_all(self, pairs: Sequence[tuple[str, Sequence[str]]]) -> list[list[float]]:
        """Return for each query and its passages one score per passage, in order; raises as ``ChatModel`` does.

        The scores of the other queries are stored even where a call fails.
        """
        return await every(self._rate(query, passages) for query, passages in pairs)

    async def _rate(self, query: str, passages: Sequence[str]) -> list[float]:
        return [float(score[0]) for score in await self.call(Texts("rerank", tuple(passages), query))]


@contextlib.asynccontextmanager
async def open_model(
    settings: ModelSettings,
    *,
    answers: AnswerStore | None = None,
    replay: bool = False,
    batch: Callable[[str], None] | None = None,
    batch_limits: BatchLimits | None = None,
    budget: Budget | None = None,
    anew: bool = False,
) -> AsyncIterator[ModelPath]:
    """Open the path to a model.

    Args:
        settings: The server, the speed and the caps.
        answers: An open store; None stores nothing, and every call is paid.
        replay: Whether to answer from the store alone; no client is made and no address is resolved.
        batch: Takes a line about every batch that is sent or ends; None sends single calls.
        batch_limits: The size of a batch.
        budget: What was spent on another path that shares the caps.
        anew: Whether to ask as if nothing were stored; how the server is asked is remembered, replies are not.

    Raises:
        UsageError: A replay or a batch has no store, there is a cap on money and a price is not known, or batches are
            asked of a model on this machine.
    """
    if settings.file is not None and batch is not None:
        raise UsageError("a model on this machine takes no batches; leave it out", parameter="batch")
    gate = Gate(settings, budget=budget or Budget(settings))
    async with contextlib.AsyncExitStack() as opened:
        wire = lessons = None
        if replay:
            chat = stacked([AnswerRecord(_needed(answers), gate=gate, replay=True)], _nobody)
        elif settings.file is not None:
            gate.resize(1)
            local = await opened.enter_async_context(open_local(settings, gate.resize))
            lessons = await Lessons.recall(settings, answers)
            gate.mark_ready()
            chat = _single_calls(local, gate, lessons, answers)
        else:
            check_price(settings)
            wire = await opened.enter_async_context(open_wire(settings))
            lessons = await Lessons.recall(settings, answers, cautious=batch is not None, anew=anew)
            if lessons.settled:
                gate.mark_ready()
            if batch is None:
                chat = _single_calls(wire, gate, lessons, None if anew else answers)
            else:
                book = BatchBook(_needed(answers), base_url=wire.url)
                files, limits = BatchFiles(wire), batch_limits or BatchLimits()
                batches = Batch(files, book=book, gate=gate, lessons=lessons, announce=batch, limits=limits)
                await opened.enter_async_context(batches)
                chat = stacked([AnswerRecord(_needed(answers), gate=gate), Repair()], batches.complete)
        embedder = PathEmbedder(_embeddings(wire, gate, answers)) if settings.embedding else None
        yield ModelPath(chat, embedder, gate, lessons)


@contextlib.asynccontextmanager
async def open_reranker(
    settings: RerankSettings, *, answers: AnswerStore | None = None, replay: bool = False, budget: Budget | None = None
) -> AsyncIterator[RerankPath]:
    """Open the path to a reranker.

    Args:
        settings: The endpoint and how hard to drive it.
        answers: As in `open_model`.
        replay: As in `open_model`.
        budget: As in `open_model`.

    Raises:
        UsageError: The URL is not valid, a replay has no store, or there is a cap on money and the price is not known.
    """
    server = settings.server()
    gate = Gate(server, budget=budget or Budget(server))
    prices, key = PriceList(server, embedding=True), functools.partial(rerank_key, settings)
    if gate.budget.caps.max_usd is not None and not replay:
        prices.require()
    store = _needed(answers) if replay else answers
    record = VectorRecord(store, gate=gate, model=server.name, key=key, most=MOST_PASSAGES, replay=replay)
    async with contextlib.AsyncExitStack() as opened:
        exchange: Call[Texts, Vectors] = _nobody
        if not replay:
            wire = await opened.enter_async_context(open_wire(server))
            exchange = RerankExchange(wire, path=settings.path(), settings=server, prices=prices).complete
        yield RerankPath(_vectors(record, gate, prices, exchange), gate)


def _single_calls(wire: Exchanges, gate: Gate, lessons: Lessons, answers: AnswerStore | None) -> Call[Any, Any]:
    prices = PriceList(gate.settings)
    exchange = ChatExchange(wire, settings=gate.settings, prices=prices, lessons=lessons)
    gate.how_asked = lessons.how_asked
    layers: list[Layer] = [
        *([AnswerRecord(answers, gate=gate)] if answers else []),  # stores an answer before anything uses it
        Repair(),  # shows a misfit to the model once
        Retry(gate),  # repeats an exchange while another attempt may work
        Admission(gate, prices=prices, most_tokens=exchange.most_tokens),  # holds a slot, keeps the caps, books
    ]
    return stacked(layers, exchange.complete)


def _embeddings(wire: Wire | None, gate: Gate, answers: AnswerStore | None) -> Call[Texts, list[np.ndarray]]:
    settings, key = gate.settings, functools.partial(embedding_key, gate.settings)
    prices = PriceList(settings, model=settings.embedding, embedding=True)
    model, most = str(settings.embedding), settings.embedding_batch
    record = VectorRecord(answers, gate=gate, model=model, key=key, most=most, replay=wire is None)
    exchange = EmbeddingExchange(wire, settings=settings, prices=prices).complete if wire else _nobody
    return _vectors(record, gate, prices, exchange)


def _vectors(
    record: VectorRecord, gate: Gate, prices: PriceList, exchange: Call[Texts, Vectors]
) -> Call[Texts, list[np.ndarray]]:
    layers: list[Layer] = [record, Retry(gate), Admission(gate, prices=prices, most_tokens=most_tokens)]
    return stacked(layers, exchange)


def _needed(answers: AnswerStore | None) -> AnswerStore:
    if answers is None:
        raise UsageError("a replay or a batch needs an answer store")
    return answers


async def _nobody(_: object) -> NoReturn:
    raise AssertionError("a replay asks nobody")
