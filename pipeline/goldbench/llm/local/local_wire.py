"""Calls to a model that this machine runs: child processes that start when they are needed and end with the path."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from goldbench.errors import CallFailed, ModelUnavailable
from goldbench.llm.client import Client, open_client
from goldbench.llm.dialect import FIXED
from goldbench.llm.exchange import ExchangeFailed, ParameterRefused
from goldbench.llm.local.machine import Layout, layout_now
from goldbench.llm.local.model_child import ModelChild, start_child
from goldbench.llm.server_settings import ModelSettings

_log = logging.getLogger(__name__)

CONTEXT = 8192
"""The longest prompt and reply together, in tokens; a longer prompt is refused."""
_LOOK_AGAIN_S = 60.0
"""After this many seconds the next call looks at the machine again; the system's load is an average of one minute."""
_ENDS_BORNE = 1
"""How many processes may end by themselves before the run ends."""
_LOOKS = 10
_LOOK_S = 0.05

Message = dict[str, Any]


@dataclass(slots=True, eq=False)
class _Lane:
    """A process, the client of its server, and the fixed part of the last prompt, which the process still holds."""

    child: ModelChild
    wire: Client
    opened: contextlib.AsyncExitStack
    threads: int
    since: float
    fixed: list[Message] | None = None

    def load_share(self, now: float) -> float:
        """Return what the process adds to the system's load, an average that fades by e in a minute."""
        return self.threads * (1 - math.exp((self.since - now) / 60))

    async def close(self) -> str:
        await self.opened.aclose()
        return await self.child.end()


class LocalWire:
    """Answers like the client of a server, by processes that each work on one call at a time.

    The same request has the same reply in any order, beside any other and in any process of as many threads: a process
    reads the fixed part of a prompt once, as one batch, and then each time exactly the rest. The bytes of a reply
    depend on where the part that a process remembers ends, so a short call first sets it back to the fixed part.
    """

    def __init__(self, settings: ModelSettings, resize: Callable[[int], None]) -> None:
        """Take the model; no process is started yet.

        Args:
            settings: The file, and how many calls may be in flight: as many processes start at most.
            resize: Takes how many calls may be in flight from now on; before the first call it is one.
        """
        self._settings = settings
        self._resize = resize
        self._layout = Layout(1, 1)
        self._looked_at = -math.inf
        self._lanes: list[_Lane] = []
        self._idle: list[_Lane] = []
        self._starting = self._ends = 0

    async def post(self, path: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, str]]:
        """Return the JSON of the response and its headers; raises as ``Client.post`` does.

        Raises:
            ModelUnavailable: The model cannot be loaded, or its process ended a second time.
        """
        count = body[FIXED]
        sent = {name: value for name, value in body.items() if name != FIXED}
        fixed = fixed_part(body["messages"], count)
        while True:
            async with self._taken(fixed) as lane:
                try:
                    return await _exchange(lane, path, sent, fixed)
                except ExchangeFailed:
                    if not await _ends_now(lane):
                        raise
                await self._bury(lane)

    async def aclose(self) -> None:
        """End every process."""
        await asyncio.gather(*(lane.close() for lane in self._lanes))

    @contextlib.asynccontextmanager
    async def _taken(self, fixed: list[Message]) -> AsyncIterator[_Lane]:
        """Lend a process: one that holds the fixed part of the prompt, a new one, or any other."""
        if time.monotonic() - self._looked_at >= _LOOK_AGAIN_S:
            await self._look()
        lane = next((lane for lane in self._idle if lane.fixed == fixed), None)
        has_room = len(self._lanes) + self._starting < self._layout.processes
        is_new = lane is None and (has_room or not self._idle)
        if is_new:
            lane = await self._start()
        lane = lane or self._idle[0]
        if lane in self._idle:
            self._idle.remove(lane)
        try:
            if is_new:
                await self._look()
            yield lane
        finally:
            if lane in self._lanes:
                self._idle.append(lane)

    async def _look(self) -> None:
        """Look at the machine: end idle processes that it does not bear now, and let at most one more start."""
        self._looked_at = time.monotonic()
        own_load = sum(lane.load_share(self._looked_at) for lane in self._lanes)
        self._layout = layout_now(self._settings, own_load=own_load, own_processes=len(self._lanes))
        _log.info("the machine now bears %d processes of %d threads", self._layout.processes, self._layout.threads)
        surplus = []
        for lane in list(self._idle):  # no await in here: another call takes idle lanes meanwhile
            if len(self._lanes) > self._layout.processes or _differ_much(lane.threads, self._layout.threads):
                self._idle.remove(lane)
                self._lanes.remove(lane)
                surplus.append(lane)
        await asyncio.gather(*(lane.close() for lane in surplus))
        self._resize(min(self._layout.processes, len(self._lanes) + 1))

    async def _start(self) -> _Lane:
        assert self._settings.file is not None
        _, threads, gpu_layers = self._layout
        self._starting += 1
        try:
            child = await start_child(
                self._settings.file, self._settings.name, context=CONTEXT, threads=threads, gpu_layers=gpu_layers
            )
        finally:
            self._starting -= 1
        opened = contextlib.AsyncExitStack()
        server = self._settings.model_copy(update={"base_url": child.url, "api_key": child.key})
        lane = _Lane(child, await opened.enter_async_context(open_client(server)), opened, threads, time.monotonic())
        self._lanes.append(lane)
        return lane

    async def _bury(self, lane: _Lane) -> None:
        """Forget a process that has ended.

        Raises:
            ModelUnavailable: It is not the first one.
        """
        self._lanes.remove(lane)
        ending = await lane.close()
        self._ends += 1
        if self._ends > _ENDS_BORNE:
            raise ModelUnavailable(
                f"{self._settings.file}: the process of the model ended {self._ends} times (last with {ending}); "
                "every answer so far is kept: free memory or take a smaller model, then run again"
            )


def _differ_much(threads: int, other_threads: int) -> bool:
    """Return whether it pays to load the model again for other threads: twice as many, or half."""
    return max(threads, other_threads) >= 2 * min(threads, other_threads)


async def _ends_now(lane: _Lane) -> bool:
    """Return whether the process has ended, which is known a little later than the end of its connection."""
    for _ in range(_LOOKS):
        if lane.child.ended:
            return True
        await asyncio.sleep(_LOOK_S)
    return lane.child.ended


def fixed_part(messages: list[Message], count: int) -> list[Message]:
    """Return what prompts of one kind have in common: the first messages, and the next one without its text."""
    return [*messages[:count], {**messages[count], "content": ""}]


async def _exchange(
    lane: _Lane, path: str, body: Mapping[str, Any], fixed: list[Message]
) -> tuple[dict[str, Any], Mapping[str, str]]:
    known = lane.fixed == fixed
    lane.fixed = None
    first = {"model": body["model"], "messages": fixed, "max_tokens": 1, "temperature": 0, "cache_prompt": known}
    try:
        await lane.wire.post(path, first)
        held = True
    except ParameterRefused:  # a template that takes no empty message
        held = False
    try:
        reply = await lane.wire.post(path, {**body, "cache_prompt": held})
    except ParameterRefused as refused:
        raise _explained(refused, lane.wire.url) from None
    lane.fixed = fixed if held else None
    return reply


def _explained(refused: ParameterRefused, url: str) -> CallFailed:
    if "context size" not in str(refused.error.get("message")):
        return refused
    problem = f"the prompt has more than {CONTEXT:,} tokens: make chunks shorter (chunk.size), or name a server"
    return CallFailed("too-long", f"{url}: {problem}")
