"""The layer that stores vectors and scores text by text, and sends the texts that the store lacks in portions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from goldbench.pipeline.llm.embeddings import Texts, Vectors
from goldbench.pipeline.llm.layers import Call, every
from goldbench.pipeline.llm.layers.answer_record import answer_missing
from goldbench.pipeline.llm.store import AnswerStore
from goldbench.pipeline.llm.throttle import Gate

_LOOK_S = 0.05
_MOST_BYTES = 200_000

Below = Call[Texts, Vectors]
Kept = dict[bytes, bytes]


class VectorRecord:
    """Takes vectors from the store where it has them; asks for the rest and stores each before it is used."""

    def __init__(
        self,
        store: AnswerStore | None,
        *,
        gate: Gate,
        model: str,
        key: Callable[[Texts, str], bytes],
        most: int,
        replay: bool = False,
    ) -> None:
        """Take the store.

        Args:
            store: The store, open; None asks for everything and keeps nothing.
            gate: The gate of the server, with the accounts and the deadline.
            model: The model's name, kept with each vector.
            key: Returns the key of one text of a request.
            most: The most texts of one exchange.
            replay: Whether to answer from the store alone and never call the layer below.
        """
        self._store, self._gate, self._model = store, gate, model
        self._key, self._most, self._replay = key, most, replay

    async def complete(self, request: Texts, below: Below) -> list[np.ndarray]:
        """Return one float32 vector per text, in order.

        Raises:
            ModelUnavailable: This is a replay and the store lacks a vector.
        """
        keys = [self._key(request, text) for text in request.parts]
        texts = dict(zip(keys, request.parts, strict=True))
        vectors = await self._find_or_ask(request, texts, below)
        return [np.frombuffer(vectors[key], dtype="<f4") for key in keys]

    async def _find_or_ask(self, request: Texts, texts: dict[bytes, str], below: Below) -> Kept:
        if self._store is None:
            return await self._ask(request, texts, below)
        if self._replay:
            kept = await self._store.get_vectors(list(texts))
            missing = next((key for key in texts if key not in kept), None)
            if missing is not None:
                raise answer_missing(request.stage, missing)
            return kept
        kept = {}
        while lacking := [key for key in texts if key not in kept]:
            known, ours = await self._store.take_vectors(lacking)
            self._gate.accounts.book(request.stage, replayed=len(known))
            kept |= known
            if ours:
                kept |= await self._ask(request, {key: texts[key] for key in ours}, below)
            elif not known:
                self._gate.budget.check_deadline()
                await asyncio.sleep(_LOOK_S)  # another process is asking
        return kept

    async def _ask(self, request: Texts, texts: dict[bytes, str], below: Below) -> Kept:
        """Return the vectors of these texts; a portion that fails costs none of the others."""
        portions = _portions(texts, most=self._most)
        calls = (self._ask_portion(request, portion, below) for portion in portions)
        try:
            return {key: vector for part in await every(calls) for key, vector in part.items()}
        finally:
            if self._store is not None:
                self._store.release(*texts)

    async def _ask_portion(self, request: Texts, texts: dict[bytes, str], below: Below) -> Kept:
        found = await below(replace(request, parts=tuple(texts.values())))
        vectors = {key: row.astype("<f4").tobytes() for key, row in zip(texts, found.rows, strict=True)}
        if self._store is not None:
            await self._store.put_vectors(self._model, vectors)
        return vectors


def _portions(texts: dict[bytes, str], *, most: int) -> Iterator[dict[bytes, str]]:
    """Yield the texts in portions of at most ``most`` texts and ``_MOST_BYTES`` bytes; one long text goes alone."""
    portion: dict[bytes, str] = {}
    size = 0
    for key, text in texts.items():
        length = len(text.encode("utf-8", "replace"))
        if portion and (len(portion) >= most or size + length > _MOST_BYTES):
            yield portion
            portion, size = {}, 0
        portion[key] = text
        size += length
    if portion:
        yield portion
