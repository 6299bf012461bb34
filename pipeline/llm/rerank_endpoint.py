"""Rerankers behind a ``/rerank`` endpoint, as Cohere and Jina serve it: recorded per passage, retried."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import json
import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np

from pipeline.errors import CallFailed, UsageError
from pipeline.llm.budget import Budget
from pipeline.llm.chat import priced, usage_of
from pipeline.llm.dialect import sendable
from pipeline.llm.faults import Reply, ReplyRejected
from pipeline.llm.headers import allowance
from pipeline.llm.limited import Accounts, Door, call_label, tokens_at_most
from pipeline.llm.memory import Memory, portions
from pipeline.llm.prices import PriceList
from pipeline.llm.retried import persist
from pipeline.llm.server_settings import Model, ModelSettings
from pipeline.llm.store import AnswerStore
from pipeline.llm.throttle import Gate
from pipeline.llm.wire import ParameterRefused, Wire, open_wire
from schemas.manifest import StageUsage

_STAGE = "rerank"
_MOST_PASSAGES = 100
_CONCURRENCY = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankSettings:
    """Which reranker: the whole address of the endpoint, and the model. The key never shows.

    ``max_attempts`` and ``never_reached_s`` are those of ``ModelSettings``.
    """

    url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    max_attempts: int = 10
    never_reached_s: float = 15.0

    def path(self) -> str:
        """Return what follows the base address: the last part of the path, with the query."""
        parts = urlsplit(self.url)
        last = parts.path.rstrip("/").rpartition("/")[2]
        return f"/{last}" + (f"?{parts.query}" if parts.query else "")

    def server(self) -> ModelSettings:
        """Return the settings of the model path to this server.

        Raises:
            UsageError: a number is out of range or the address is none.
        """
        parts = urlsplit(self.url)
        base = parts.path.rstrip("/").rpartition("/")[0]
        return ModelSettings.of(
            Model(name=self.model, concurrency=_CONCURRENCY),
            base_url=urlunsplit((parts.scheme, parts.netloc, base, "", "")),
            api_key=self.api_key,
            max_attempts=self.max_attempts,
            never_reached_s=self.never_reached_s,
        )


@dataclass(frozen=True, slots=True)
class _Rated:
    """The scores of one exchange, in the order of the passages, and what they cost."""

    scores: list[float] = field(repr=False)
    reply: Reply


class _Exchange:
    """Rates one batch of passages in one HTTP exchange."""

    def __init__(self, wire: Wire, *, path: str, settings: ModelSettings, prices: PriceList) -> None:
        self._wire, self._path, self._settings, self._prices = wire, path, settings, prices

    async def rate(self, query: str, passages: Sequence[str]) -> _Rated:
        body: dict[str, Any] = {
            "model": self._settings.name,
            "query": sendable(query),
            "documents": [sendable(text) for text in passages],
            "top_n": len(passages),
        }
        refused: ParameterRefused | None = None
        try:
            found, headers = await self._wire.post(self._path, body)
        except ParameterRefused as refusal:
            refused = refusal
        if refused is not None:
            message = f"{_STAGE}: {self._settings.shown_url()} refuses the call as wrong (HTTP {refused.status})"
            raise CallFailed(f"http-{refused.status}", message, request_id=refused.request_id)
        usage = priced(usage_of(found), self._prices)
        reply = Reply("", self._settings.name, usage, headers.get("x-request-id"), allowance(headers))
        scores = _scores(found.get("results"), len(passages))
        if isinstance(scores, str):
            raise ReplyRejected("misfit", f"{_STAGE}: {self._settings.shown_url()} {scores}", reply=reply)
        return _Rated(scores, reply)


def _scores(results: object, count: int) -> list[float] | str:
    """Return the scores in the order of the passages, or what is wrong with the results."""
    if not isinstance(results, list) or len(results) != count:
        given = f"{len(results)} results" if isinstance(results, list) else "no list of results"
        return f"gives {given} for {count} passages"
    scores: dict[int, float] = {}
    for row in results:
        problem = _problem(row, count, scores)
        if problem:
            return problem
        scores[row["index"]] = float(row["relevance_score"])
    return [scores[index] for index in range(count)]


def _problem(row: object, count: int, known: dict[int, float]) -> str | None:
    """Return what is wrong with one result, None where it is sound."""
    index = row.get("index") if isinstance(row, dict) else None
    if not isinstance(row, dict) or not isinstance(index, int) or isinstance(index, bool):
        return "gives a result without an index"
    if not 0 <= index < count:
        return f"gives a result for a passage of number {index}, and there are {count}, from 0"
    if index in known:
        return f"gives two results for the passage of number {index}"
    score = row.get("relevance_score")
    if not isinstance(score, int | float) or isinstance(score, bool) or not _is_kept(score):
        return "gives a result whose relevance_score is no finite number"
    return None


def _is_kept(score: float) -> bool:
    """Whether a score is finite in single precision too, in which it is kept."""
    try:
        return math.isfinite(score) and abs(score) <= float(np.finfo(np.float32).max)
    except OverflowError:
        return False


class Reranker:
    """Rates passages: scores from the store where it has them, the rest asked for in batches and kept.

    A score is kept, and given, in single precision.
    """

    def __init__(
        self,
        inner: _Exchange | None,
        *,
        store: AnswerStore | None,
        settings: ModelSettings,
        door: Door,
        gate: Gate,
        accounts: Accounts,
        budget: Budget,
    ) -> None:
        """Take the layer below; None for a replay, which asks nobody."""
        self._inner, self._store, self._settings = inner, store, settings
        self._door, self._gate, self._accounts = door, gate, accounts
        self._memory = Memory(store, _STAGE, replay=inner is None, accounts=accounts, budget=budget)

    def usage(self) -> dict[str, StageUsage]:
        """Return what was spent so far, by stage."""
        return self._accounts.report()

    async def rate_all(self, pairs: Sequence[tuple[str, Sequence[str]]]) -> list[list[float]]:
        """Return for each query and its passages one score per passage, in order.

        Raises:
            CallFailed: a call failed for good; the scores of the others are kept all the same.
            ModelUnavailable: no call can work now.
            LimitReached: a cap forbids a call.
            AnswerMissing: this is a replay and the store lacks a score.
        """
        done = await asyncio.gather(*(self._rate(query, texts) for query, texts in pairs), return_exceptions=True)
        for outcome in done:
            if isinstance(outcome, BaseException):
                raise outcome
        return [outcome for outcome in done if not isinstance(outcome, BaseException)]

    async def _rate(self, query: str, passages: Sequence[str]) -> list[float]:
        keys = [_key(self._settings.name, query, text) for text in passages]
        wanted = dict(zip(keys, passages, strict=True))
        scores = await self._memory.found(list(wanted), functools.partial(self._ask, query, wanted))
        return [float(np.frombuffer(scores[key], dtype="<f4")[0]) for key in keys]

    async def _ask(self, query: str, wanted: dict[bytes, str], keys: list[bytes]) -> dict[bytes, bytes]:
        scores: dict[bytes, bytes] = {}
        try:
            for batch in portions(keys, wanted, most=_MOST_PASSAGES):
                rated = await self._exchange(query, [wanted[key] for key in batch])
                kept = {key: np.float32(score).astype("<f4").tobytes() for key, score in zip(batch, rated, strict=True)}
                if self._store is not None:
                    await self._store.put_vectors(self._settings.name, kept)
                scores |= kept
        finally:
            if self._store is not None:
                self._store.release(*keys)
        return scores

    async def _exchange(self, query: str, passages: Sequence[str]) -> list[float]:
        inner = self._inner
        assert inner is not None
        want = self._door.want(sum(map(tokens_at_most, (query, *passages))), 0)
        label = call_label(_STAGE, query, *passages)

        async def exchange() -> _Rated:
            return await self._door.through(_STAGE, label, want, lambda: inner.rate(query, passages))

        return (await persist(exchange, label=lambda: label, settings=self._settings, gate=self._gate)).scores


@contextlib.asynccontextmanager
async def open_reranker(
    settings: RerankSettings, *, answers: AnswerStore | None = None, replay: bool = False
) -> AsyncIterator[Reranker]:
    """Open the path to a reranker.

    Args:
        settings: the endpoint and how hard to drive it.
        answers: an open store; without one nothing is kept, and every call is paid.
        replay: rate from the store alone; no client is made.

    Raises:
        UsageError: the address is none, or a replay has no store.
    """
    server = settings.server()
    accounts, budget = Accounts(), Budget(server)
    gate, prices = Gate(server, budget=budget), PriceList(server, embedding=True)
    door = Door(gate, budget=budget, settings=server, prices=prices, accounts=accounts)
    if replay and answers is None:
        raise UsageError("a replay needs an answer store")
    async with contextlib.AsyncExitStack() as stack:
        inner = None
        if not replay:
            wire = await stack.enter_async_context(open_wire(server))
            inner = _Exchange(wire, path=settings.path(), settings=server, prices=prices)
        yield Reranker(inner, store=answers, settings=server, door=door, gate=gate, accounts=accounts, budget=budget)


def _key(model: str, query: str, passage: str) -> bytes:
    return hashlib.sha256(json.dumps(["rerank/1", model, query, passage], separators=(",", ":")).encode()).digest()
