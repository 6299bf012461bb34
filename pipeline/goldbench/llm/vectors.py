"""Vectors of texts, and scores of passages as vectors of one number: asked for in portions, stored text by text."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np

from goldbench.errors import CallFailed
from goldbench.llm.calls import Call, answer_missing
from goldbench.llm.chat import Post, priced, usage_of
from goldbench.llm.dialect import sendable
from goldbench.llm.exchange import Reply, ReplyRejected
from goldbench.llm.limits import Gate
from goldbench.llm.prices import PriceList
from goldbench.llm.server_settings import OPENAI, Model, ModelSettings
from goldbench.llm.store import AnswerStore
from goldbench.llm.token_counts import tokens_at_most
from goldbench.records.manifest import StageUsage

_MOST_BYTES = 200_000
"""The most bytes of the texts of one exchange; a longer text goes alone."""
MOST_PASSAGES = 100
"""The most passages of one exchange with a reranker; more go in several."""
_CONCURRENCY = 8


@dataclass(frozen=True, slots=True)
class VectorRequest:
    """A request for one vector per text: an embedding, or a relevance score where there is a ``query``."""

    stage: str
    parts: tuple[str, ...]
    query: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text that is sent."""
        return self.parts if self.query is None else (self.query, *self.parts)


@dataclass(frozen=True, slots=True)
class VectorReply:
    """The vectors of one exchange, one row per text in order, and what they cost."""

    rows: np.ndarray = field(repr=False)
    reply: Reply


def most_tokens(request: VectorRequest) -> tuple[int, int]:
    """Return how many tokens a request may read and write at most."""
    return tokens_at_most(*request.texts), 0


def _key(*parts: object) -> bytes:
    return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).digest()


def embedding_key(settings: ModelSettings, _: VectorRequest, text: str) -> bytes:
    """Return the SHA-256 of everything that shapes the embedding of a text."""
    # Servers call different models by the same name, so that a vector belongs to its server as well.
    server = (settings.base_url or OPENAI).rstrip("/")
    return _key("embedding/1", server, settings.embedding, settings.dimensions, text)


def embedding_body(settings: ModelSettings, request: VectorRequest) -> dict[str, Any]:
    """Return the JSON body of a request for embeddings."""
    body: dict[str, Any] = {"model": settings.embedding, "input": list(map(sendable, request.parts))}
    return body if settings.dimensions is None else {**body, "dimensions": settings.dimensions}


@dataclass(frozen=True, slots=True)
class VectorExchange:
    """Vectors of one model on one server: one portion of texts is one HTTP exchange."""

    post: Post
    path: str
    body: Callable[[VectorRequest], dict[str, Any]]
    prices: PriceList

    async def complete(self, request: VectorRequest) -> VectorReply:
        """Return one vector per text; raises as ``Client.post`` does, and ``ReplyRejected``."""
        response, _ = await self.post(self.path, self.body(request))
        reply = Reply("", str(response.get("model") or ""), priced(usage_of(response), self.prices))
        rows = _rows(response, len(request.parts))
        if rows is None:
            raise ReplyRejected("misfit", "the response is not finite numbers for each text", reply=reply)
        return VectorReply(rows, reply)


def _rows(response: dict[str, Any], count: int) -> np.ndarray | None:
    """Return the vectors in the order of the texts, None where they are not finite numbers for each."""
    items = response.get("data", response.get("results"))
    if not isinstance(items, list) or len(items) != count or not all(isinstance(item, dict) for item in items):
        return None
    by_index = {item.get("index"): item.get("embedding", item.get("relevance_score")) for item in items}
    try:
        with np.errstate(over="ignore"):
            rows = np.array([by_index[position] for position in range(count)], dtype=np.float32).reshape(count, -1)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return rows if rows.size and np.isfinite(rows).all() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorRecord:
    """An ``Embedder``, or an open path to a reranker.

    Takes vectors from the store where it has them; asks for the rest and stores each before it is used.

    Attributes:
        ask: The layer below, None for a replay, which answers from the store alone.
        store: The store, open; None asks for everything and stores nothing.
        gate: The gate of the server, with the settings, the accounts and the deadline.
        key: Returns the key of one text of a request.
        portion: The most texts of one exchange.
    """

    ask: Call[VectorRequest, VectorReply] | None
    store: AnswerStore | None
    gate: Gate
    key: Callable[[VectorRequest, str], bytes]
    portion: int

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return one float32 row per text, in order."""
        rows = await self._vectors(VectorRequest("embed", tuple(texts)))
        if len({len(row) for row in rows}) > 1:
            raise CallFailed("dimensions", "embed: the server gives vectors of different sizes for one model")
        return np.vstack(rows).astype(np.float32) if rows else np.empty((0, 0), dtype=np.float32)

    async def rate_all(self, pairs: Sequence[tuple[str, Sequence[str]]]) -> list[list[float]]:
        """Return for each query and its passages one score per passage, in order; raises as ``ChatModel`` does.

        The scores of the other queries are stored even where a call fails.
        """
        requests = [VectorRequest("rerank", tuple(passages), query) for query, passages in pairs]
        rated = await _all_results(self._vectors(request) for request in requests)
        return [[float(score[0]) for score in scores] for scores in rated]

    def usage(self) -> dict[str, StageUsage]:
        """Return what was spent so far, by stage."""
        return self.gate.accounts.report()

    async def _vectors(self, request: VectorRequest) -> list[np.ndarray]:
        """Return one float32 vector per text, in order; raises ``ModelUnavailable`` where a replay lacks one."""
        keys = [self.key(request, text) for text in request.parts]
        texts = dict(zip(keys, request.parts, strict=True))
        vectors: dict[bytes, bytes] = {}
        if self.store is not None:
            vectors = await self.store.find_vectors(list(texts))
            self.gate.accounts.book(request.stage, replayed=len(vectors))
        missing = {key: text for key, text in texts.items() if key not in vectors}
        if missing and self.ask is None:
            raise answer_missing(request.stage, next(iter(missing)))
        if missing and self.ask is not None:
            vectors |= await self._ask_for(request, missing, self.ask)
        return [np.frombuffer(vectors[key], dtype="<f4") for key in keys]

    async def _ask_for(
        self, request: VectorRequest, texts: dict[bytes, str], ask: Call[VectorRequest, VectorReply]
    ) -> dict[bytes, bytes]:
        """Return the vectors of these texts; a portion that fails costs none of the others."""

        async def ask_portion(portion: dict[bytes, str]) -> dict[bytes, bytes]:
            answer = await ask(replace(request, parts=tuple(portion.values())))
            vectors = {key: row.astype("<f4").tobytes() for key, row in zip(portion, answer.rows, strict=True)}
            if self.store is not None:
                await self.store.put_vectors(self.gate.settings.embedding or self.gate.settings.name, vectors)
            return vectors

        answers = await _all_results(ask_portion(portion) for portion in self._portions(texts))
        return {key: vector for vectors in answers for key, vector in vectors.items()}

    def _portions(self, texts: dict[bytes, str]) -> Iterator[dict[bytes, str]]:
        portion: dict[bytes, str] = {}
        size = 0
        for key, text in texts.items():
            length = len(text.encode("utf-8", "replace"))
            if portion and (len(portion) >= self.portion or size + length > _MOST_BYTES):
                yield portion
                portion = {}
                size = 0
            portion[key] = text
            size += length
        if portion:
            yield portion


async def _all_results(calls: Iterable[Any]) -> list[Any]:
    """Return the results in order once every call has ended; raises the first error only then."""
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    error = next((outcome for outcome in outcomes if isinstance(outcome, BaseException)), None)
    if error is not None:
        raise error
    return outcomes


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankSettings:
    """The URL of the endpoint, the model, and the patience, as in ``ModelSettings``. The key never shows."""

    url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    max_attempts: int = 10
    never_reached_s: float = 15.0

    def path(self) -> str:
        """Return the part of the URL after the base address: the last part of the path, with the query."""
        parts = urlsplit(self.url)
        last = parts.path.rstrip("/").rpartition("/")[2]
        return f"/{last}" + (f"?{parts.query}" if parts.query else "")

    def server(self) -> ModelSettings:
        """Return the settings of the model path to this server.

        Raises:
            UsageError: A number is out of range or the URL is not valid.
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

    def key(self, request: VectorRequest, passage: str) -> bytes:
        """Return the SHA-256 of everything that shapes the score of a passage for the query of a request."""
        return _key("rerank/1", self.url, self.model, request.query, passage)

    def body(self, request: VectorRequest) -> dict[str, Any]:
        """Return the JSON body of a request for scores."""
        return {
            "model": self.model,
            "query": sendable(request.query or ""),
            "documents": [sendable(text) for text in request.parts],
            "top_n": len(request.parts),
        }
