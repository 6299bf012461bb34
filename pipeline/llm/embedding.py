"""Text embeddings by the same path: recorded per text, retried, through the same gate as the chat calls."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pipeline.errors import CallFailed
from pipeline.llm.budget import Budget
from pipeline.llm.chat import priced, usage_of
from pipeline.llm.dialect import sendable
from pipeline.llm.faults import Reply, ReplyRejected
from pipeline.llm.headers import allowance
from pipeline.llm.limited import Accounts, Door, call_label, tokens_at_most
from pipeline.llm.memory import Memory, portions
from pipeline.llm.prices import PriceList
from pipeline.llm.retried import persist
from pipeline.llm.server_settings import ModelSettings
from pipeline.llm.store import AnswerStore
from pipeline.llm.throttle import Gate
from pipeline.llm.wire import ParameterRefused, Wire

_STAGE = "embed"


@dataclass(frozen=True, slots=True)
class Embedded:
    """The rows of one exchange, in order, and what they cost."""

    rows: np.ndarray = field(repr=False)
    reply: Reply


class OpenAIEmbedder:
    """Embeds one batch in one HTTP exchange."""

    def __init__(self, wire: Wire, *, settings: ModelSettings, prices: PriceList) -> None:
        self._wire, self._settings, self._prices = wire, settings, prices

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return one row per text; raises as ``OpenAIChat.complete`` does."""
        body: dict[str, Any] = {"model": self._settings.embedding, "input": [sendable(text) for text in texts]}
        if self._settings.dimensions is not None:
            body["dimensions"] = self._settings.dimensions
        refused: ParameterRefused | None = None
        try:
            found, headers = await self._wire.post("/embeddings", body)
        except ParameterRefused as refusal:
            refused = refusal
        if refused is not None:
            message = f"{_STAGE}: {self._settings.shown_url()} refuses the texts as wrong (HTTP {refused.status})"
            raise CallFailed(f"http-{refused.status}", message, request_id=refused.request_id)
        usage = priced(usage_of(found), self._prices)
        request_id = headers.get("x-request-id")
        reply = Reply("", str(found.get("model") or ""), usage, request_id, allowance(headers))
        rows = _rows(found.get("data"), len(texts))
        if rows is None:
            message = f"{_STAGE}: the response is not one finite vector per text"
            raise ReplyRejected("misfit", message, reply=reply)
        return Embedded(rows, reply)


def _rows(data: object, count: int) -> np.ndarray | None:
    """Return the vectors in the order of the texts, None where they are not one finite vector for each."""
    if not isinstance(data, list) or len(data) != count or not all(isinstance(row, dict) for row in data):
        return None
    by_index = {row.get("index"): row.get("embedding") for row in data}
    try:
        rows = np.array([by_index[place] for place in range(count)], dtype=np.float32)
    except (KeyError, TypeError, ValueError):
        return None
    return rows if rows.ndim == 2 and rows.shape[1] and np.isfinite(rows).all() else None


class LimitedEmbedder:
    """Embeds batches, each through the gate and again where that can help."""

    def __init__(self, inner: OpenAIEmbedder, *, door: Door, gate: Gate, settings: ModelSettings) -> None:
        self._inner, self._door, self._gate, self._settings = inner, door, gate, settings

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return one row per text of one batch."""
        want = self._door.want(sum(map(tokens_at_most, texts)), 0)
        label = call_label(_STAGE, *texts)

        async def exchange() -> Embedded:
            return await self._door.through(_STAGE, label, want, lambda: self._inner.embed(texts))

        embedded = await persist(exchange, label=lambda: label, settings=self._settings, gate=self._gate)
        return embedded.rows


class RecordedEmbedder:
    """An ``Embedder``: vectors from the store where it has them, the rest asked for in batches and kept."""

    def __init__(
        self,
        inner: LimitedEmbedder | None,
        *,
        store: AnswerStore | None,
        settings: ModelSettings,
        accounts: Accounts,
        budget: Budget,
    ) -> None:
        """Take the layer below; None for a replay, which asks nobody."""
        self._inner, self._store, self._settings = inner, store, settings
        self._memory = Memory(store, _STAGE, replay=inner is None, accounts=accounts, budget=budget)

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return one float32 row per text, in order.

        Raises:
            AnswerMissing: this is a replay and the store lacks a vector.
        """
        keys = [_key(text, self._settings) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        vectors = await self._memory.found(list(wanted), functools.partial(self._ask, wanted))
        if not keys:
            return np.empty((0, 0), dtype=np.float32)
        rows = [np.frombuffer(vectors[key], dtype="<f4") for key in keys]
        if len({len(row) for row in rows}) != 1:
            raise CallFailed("dimensions", f"{_STAGE}: the server gives vectors of different sizes for one model")
        return np.vstack(rows).astype(np.float32)

    async def _ask(self, wanted: dict[bytes, str], keys: list[bytes]) -> dict[bytes, bytes]:
        """Ask for the vectors of these keys; one batch that fails costs none of the others."""
        batches = list(portions(keys, wanted, most=self._settings.embedding_batch))
        try:
            done = await asyncio.gather(*(self._ask_batch(batch, wanted) for batch in batches), return_exceptions=True)
        finally:
            if self._store is not None:
                self._store.release(*keys)
        for outcome in done:
            if isinstance(outcome, BaseException):
                raise outcome
        return {key: vector for part in done if isinstance(part, dict) for key, vector in part.items()}

    async def _ask_batch(self, keys: list[bytes], wanted: dict[bytes, str]) -> dict[bytes, bytes]:
        assert self._inner is not None
        rows = await self._inner.embed([wanted[key] for key in keys])
        vectors = {key: row.astype("<f4").tobytes() for key, row in zip(keys, rows, strict=True)}
        if self._store is not None:
            await self._store.put_vectors(str(self._settings.embedding), vectors)
        return vectors


def _key(text: str, settings: ModelSettings) -> bytes:
    parts = ["embedding/1", settings.embedding, settings.dimensions, text]
    return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).digest()
