"""Text embeddings: one batch of texts is one HTTP exchange and one vector per text."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goldbench.pipeline.llm.chat import priced, usage_of
from goldbench.pipeline.llm.dialect import sendable
from goldbench.pipeline.llm.exchange_end import Reply, ReplyRejected
from goldbench.pipeline.llm.headers import allowance
from goldbench.pipeline.llm.prices import PriceList
from goldbench.pipeline.llm.server_settings import OPENAI, ModelSettings
from goldbench.pipeline.llm.token_counts import tokens_at_most
from goldbench.pipeline.llm.wire import Wire


@dataclass(frozen=True, slots=True)
class Texts:
    """A request for one vector per text: an embedding, or a relevance score where there is a ``query``."""

    stage: str
    parts: tuple[str, ...]
    query: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text that is sent."""
        return self.parts if self.query is None else (self.query, *self.parts)


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of one exchange, one row per text in order, and what they cost."""

    rows: np.ndarray = field(repr=False)
    reply: Reply


def most_tokens(request: Texts) -> tuple[int, int]:
    """Return how many tokens a request may read and write at most."""
    return tokens_at_most(*request.texts), 0


def embedding_key(settings: ModelSettings, _: Texts, text: str) -> bytes:
    """Return the SHA-256 of everything that shapes the embedding of a text."""
    # Servers call different models by the same name, so that a vector belongs to its server as well.
    parts = ["embedding/1", (settings.base_url or OPENAI).rstrip("/"), settings.embedding, settings.dimensions, text]
    return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).digest()


class EmbeddingExchange:
    """Embeddings of one model on one server."""

    def __init__(self, wire: Wire, *, settings: ModelSettings, prices: PriceList) -> None:
        self._wire, self._settings, self._prices = wire, settings, prices

    async def complete(self, request: Texts) -> Vectors:
        """Return one vector per text; raises as ``Wire.post`` does, and ``ReplyRejected``."""
        body: dict[str, Any] = {"model": self._settings.embedding, "input": list(map(sendable, request.parts))}
        if self._settings.dimensions is not None:
            body["dimensions"] = self._settings.dimensions
        found, headers = await self._wire.post("/embeddings", body)
        usage = priced(usage_of(found), self._prices)
        reply = Reply("", str(found.get("model") or ""), usage, allowance(headers))
        rows = _rows(found.get("data"), len(request.parts))
        if rows is None:
            raise ReplyRejected("misfit", "the response is not one finite vector per text", reply=reply)
        return Vectors(rows, reply)


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
