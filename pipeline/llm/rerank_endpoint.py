"""Rerankers behind a ``/rerank`` endpoint, as Cohere and Jina serve it: one HTTP exchange rates a batch of passages."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

import numpy as np

from goldbench.pipeline.llm.chat import priced, usage_of
from goldbench.pipeline.llm.dialect import sendable
from goldbench.pipeline.llm.embeddings import Texts, Vectors
from goldbench.pipeline.llm.exchange_end import Reply, ReplyRejected
from goldbench.pipeline.llm.headers import allowance
from goldbench.pipeline.llm.prices import PriceList
from goldbench.pipeline.llm.server_settings import Model, ModelSettings
from goldbench.pipeline.llm.wire import Wire

MOST_PASSAGES = 100
"""The most passages of one exchange; more go in several."""
_CONCURRENCY = 8


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


def rerank_key(settings: RerankSettings, request: Texts, passage: str) -> bytes:
    """Return the SHA-256 of everything that shapes the score of a passage for the query of a request."""
    parts = ["rerank/1", settings.url, settings.model, request.query, passage]
    return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).digest()


class RerankExchange:
    """Scores of one model on one server, in single precision, as vectors of one number."""

    def __init__(self, wire: Wire, *, path: str, settings: ModelSettings, prices: PriceList) -> None:
        """Take the endpoint.

        Args:
            wire: The client of the server.
            path: The path of the endpoint after the base URL.
            settings: The model and the server.
            prices: The prices of the model.
        """
        self._wire, self._path, self._settings, self._prices = wire, path, settings, prices

    async def complete(self, request: Texts) -> Vectors:
        """Return one score per passage; raises as ``Wire.post`` does, and ``ReplyRejected``."""
        body = {
            "model": self._settings.name,
            "query": sendable(request.query or ""),
            "documents": [sendable(text) for text in request.parts],
            "top_n": len(request.parts),
        }
        found, headers = await self._wire.post(self._path, body)
        reply = Reply("", self._settings.name, priced(usage_of(found), self._prices), allowance(headers))
        try:
            scores = _scores(found.get("results"), len(request.parts))
        except ValueError as error:
            raise ReplyRejected("misfit", f"{self._wire.url} {error}", reply=reply) from None
        return Vectors(np.array(scores, dtype=np.float32)[:, None], reply)


def _scores(results: object, count: int) -> list[float]:
    """Return the scores in the order of the passages; raises ``ValueError`` with what is wrong with the results."""
    if not isinstance(results, list) or len(results) != count:
        given = f"{len(results)} results" if isinstance(results, list) else "no list of results"
        raise ValueError(f"gives {given} for {count} passages")
    scores: dict[int, float] = {}
    for row in results:
        index = row.get("index") if isinstance(row, dict) else None
        if not isinstance(row, dict) or not isinstance(index, int) or isinstance(index, bool):
            raise ValueError("gives a result without an index")  # noqa: TRY004 - the reply is wrong, not a type
        if not 0 <= index < count:
            raise ValueError(f"gives a result for passage {index}, but the passages are 0 to {count - 1}")
        if index in scores:
            raise ValueError(f"gives two results for passage {index}")
        score = row.get("relevance_score")
        if not isinstance(score, int | float) or isinstance(score, bool) or not _is_kept(score):
            raise ValueError("gives a result whose relevance_score is not a finite number")
        scores[index] = float(score)
    return [scores[index] for index in range(count)]


def _is_kept(score: float) -> bool:
    """Whether a score is finite in single precision, in which it is stored."""
    try:
        return math.isfinite(score) and abs(score) <= float(np.finfo(np.float32).max)
    except OverflowError:
        return False
