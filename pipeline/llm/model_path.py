"""Opening the model path: one call that stacks the layers and closes them again."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel

from pipeline.errors import UsageError
from pipeline.llm.batch_book import BatchBook
from pipeline.llm.batch_files import BatchFiles
from pipeline.llm.batched import Batched, BatchLimits
from pipeline.llm.budget import Budget
from pipeline.llm.chat import OpenAIChat
from pipeline.llm.dialect import dialect_for
from pipeline.llm.embedding import LimitedEmbedder, OpenAIEmbedder, RecordedEmbedder
from pipeline.llm.limited import Accounts, Door, Limited
from pipeline.llm.prices import PriceList, check_price, price_known
from pipeline.llm.recorded import Recorded
from pipeline.llm.repaired import Asking, Repairing
from pipeline.llm.retried import Retrying
from pipeline.llm.server_settings import ModelSettings
from pipeline.llm.store import AnswerStore
from pipeline.llm.throttle import Gate, Snapshot
from pipeline.llm.wire import Wire, open_wire
from pipeline.ports import ChatModel, ChatRequest, Completion, Embedder
from schemas.manifest import StageUsage

T = TypeVar("T", bound=BaseModel)

Announce = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ModelPath:
    """An open path: a ``ChatModel``, an ``Embedder`` where one is configured, and its books."""

    chat: ChatModel
    embedder: Embedder | None
    gate: Gate
    accounts: Accounts
    price_known: bool

    async def complete(self, request: ChatRequest[T]) -> Completion[T]:
        """Return the model's answer."""
        return await self.chat.complete(request)

    def snapshot(self) -> Snapshot:
        """Return where the calls are now."""
        return self.gate.snapshot()

    def usage(self) -> dict[str, StageUsage]:
        """Return what was spent so far, by stage."""
        return self.accounts.report()


@contextlib.asynccontextmanager
async def open_model(
    settings: ModelSettings,
    *,
    answers: AnswerStore | None = None,
    replay: bool = False,
    batch: Announce | None = None,
    batch_limits: BatchLimits | None = None,
    budget: Budget | None = None,
) -> AsyncIterator[ModelPath]:
    """Open the path to a model: ``Recorded(Repairing(Retrying(Limited(OpenAIChat))))``.

    With ``batch`` it is ``Recorded(Repairing(Batched))``.

    Args:
        settings: server, speed and caps.
        answers: an open store; without one nothing is kept, and every call is paid.
        replay: answer from the store alone; no client is made and no address is resolved.
        batch: takes a line about every batch that is sent or ends; None sends single calls.
        batch_limits: how large a batch may be.
        budget: what was spent on another path, where both have one cap together.

    Raises:
        UsageError: a replay without a store, or a cap on money for a model whose price is not known.
    """
    accounts, budget = Accounts(), budget or Budget(settings)
    gate = Gate(settings, budget=budget)
    if replay:
        if answers is None:
            raise UsageError("a replay needs an answer store")
        chat = Recorded(None, store=answers, model=settings.name, accounts=accounts, budget=budget)
        vectors = RecordedEmbedder(None, store=answers, settings=settings, accounts=accounts, budget=budget)
        yield ModelPath(chat, vectors if settings.embedding else None, gate, accounts, price_known=True)
        return
    check_price(settings)
    prices = PriceList(settings)
    embedding_prices = PriceList(settings, model=settings.embedding, embedding=True)
    door = Door(gate, budget=budget, settings=settings, prices=prices, accounts=accounts)
    embedding_door = Door(gate, budget=budget, settings=settings, prices=embedding_prices, accounts=accounts)
    async with open_wire(settings) as wire, contextlib.AsyncExitStack() as stack:
        innermost = await _chat(wire, settings=settings, prices=prices, answers=answers, gate=gate)
        limited = Limited(innermost, door=door, settings=settings)
        below: Asking = Retrying(limited, settings=settings, gate=gate)
        if batch is not None:
            if answers is None:
                raise UsageError("batches need an answer store")
            remembered = await answers.dialect(settings.shown_url(), settings.name)
            batched = Batched(
                BatchFiles(wire, where=settings.shown_url()),
                book=BatchBook(answers, base_url=settings.shown_url()),
                settings=settings,
                gate=gate,
                budget=budget,
                accounts=accounts,
                memory=answers,
                dialect=dialect_for(settings, remembered),
                settled=remembered is not None,
                limits=batch_limits,
                announce=batch,
            )
            below = await stack.enter_async_context(batched)
        asking = Repairing(below)
        embedding = OpenAIEmbedder(wire, settings=settings, prices=embedding_prices)
        batches = LimitedEmbedder(embedding, door=embedding_door, gate=gate, settings=settings)
        embedder = RecordedEmbedder(batches, store=answers, settings=settings, accounts=accounts, budget=budget)
        top: ChatModel = asking
        if answers is not None:
            top = Recorded(asking, store=answers, model=settings.name, accounts=accounts, budget=budget)
        yield ModelPath(
            top, embedder if settings.embedding else None, gate, accounts, price_known=price_known(settings)
        )


async def _chat(
    wire: Wire, *, settings: ModelSettings, prices: PriceList, answers: AnswerStore | None, gate: Gate
) -> OpenAIChat:
    remembered = await answers.dialect(settings.shown_url(), settings.name) if answers else None
    if remembered:
        gate.prove()
    dialect = dialect_for(settings, remembered)
    return OpenAIChat(
        wire, settings=settings, prices=prices, dialect=dialect, settled=remembered is not None, memory=answers
    )
