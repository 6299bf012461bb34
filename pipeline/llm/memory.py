"""Vectors and scores that are kept by key: what the store has is taken from it, the rest is asked for once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from pipeline.errors import AnswerMissing
from pipeline.llm.budget import Budget
from pipeline.llm.limited import Accounts
from pipeline.llm.store import AnswerStore

_LOOK_S = 0.05
_MOST_BYTES = 200_000

Kept = dict[bytes, bytes]


class Memory:
    """What a store holds of one stage; without a store everything is asked for, in a replay nothing is."""

    def __init__(
        self, store: AnswerStore | None, stage: str, *, replay: bool, accounts: Accounts, budget: Budget
    ) -> None:
        self._store, self._stage, self._replay, self._accounts, self._budget = store, stage, replay, accounts, budget

    async def found(self, keys: Sequence[bytes], ask: Callable[[list[bytes]], Awaitable[Kept]]) -> Kept:
        """Return what is kept under every key.

        Args:
            keys: different from one another.
            ask: asks for some of them, keeps what comes and gives them free again for other processes.

        Raises:
            AnswerMissing: this is a replay and the store lacks one.
        """
        if self._store is None:
            return await ask(list(keys))
        if self._replay:
            kept = await self._store.get_vectors(list(keys))
            missing = next((key for key in keys if key not in kept), None)
            if missing is not None:
                raise AnswerMissing(self._stage, missing.hex()[:12])
            return kept
        kept = {}
        while lacking := [key for key in keys if key not in kept]:
            known, ours = await self._store.take_vectors(lacking)
            self._accounts.book(self._stage, replayed=len(known))
            kept |= known
            if ours:
                kept |= await ask(ours)
            elif not known:
                self._budget.check_deadline()
                await asyncio.sleep(_LOOK_S)  # another process is asking
        return kept


def portions(keys: Sequence[bytes], texts: Mapping[bytes, str], *, most: int) -> Iterator[list[bytes]]:
    """Yield the keys in portions of at most ``most`` texts, and so many bytes that a server takes them in one call."""
    portion: list[bytes] = []
    size = 0
    for key in keys:
        length = len(texts[key].encode("utf-8", "replace"))
        if portion and (len(portion) >= most or size + length > _MOST_BYTES):
            yield portion
            portion, size = [], 0
        portion.append(key)
        size += length
    if portion:
        yield portion
