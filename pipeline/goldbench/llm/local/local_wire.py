"""Calls to a model that this machine runs: child processes that start when they are needed and end with the path."""

from __future__ import annotations

import asyncio
import contextlib
import logging
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
_CRASHES_BORNE = 1
"""How many processes may end by themselves before the run ends."""
_LOOKS, _LOOK_S = 10, 0.05

Message = dict[str, Any]


@dataclass(slots=True, eq=False)
class _Lane:
    """A process, the client of its server, and the fixed part of the last prompt, which the process still holds."""

    child: ModelChild
    wire: Client
    resources: contextlib.AsyncExitStack
    fixed: list[Message] | None = None

    async def close(self) -> str:
        await self.resources.aclose()
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
        self._layout: Layout | None = None
        self._lanes: list[_Lane] = []
        self._idle: list[_Lane] = []
        self._crashes = 0

    async def post(self, path: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, str]]:
        """Return the JSON of the response and its headers; raises as ``Client.post`` does.

        Raises:
            ModelUnavailable: The model cannot be loaded, or its process ended a second time.
        """
        sent = {name: value for name, value in body.items() if name != FIXED}
        fixed = fixed_part(body["messages"], body[FIXED])
        while True:
            async with self._borrowed(fixed) as lane:
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
    async def _borrowed(self, fixed: list[Message]) -> AsyncIterator[_Lane]:
        """Lend a process: one that holds the fixed part of the prompt, a new one, or any other."""
        if self._layout is None:
            self._layout = layout_now(self._settings)
            _log.info("the machine bears %d processes of %d threads", self._layout.processes, self._layout.threads)
        lane = next((lane for lane in self._idle if lane.fixed == fixed), None)
        if lane is None and (len(self._lanes) < self._layout.processes or not self._idle):
            lane = await self._start(self._layout)
            self._resize(min(self._layout.processes, len(self._lanes) + 1))
        else:
            lane = lane or self._idle[0]
            self._idle.remove(lane)
        try:
            yield lane
        finally:
            if lane in self._lanes:
                self._idle.append(lane)

    async def _start(self, layout: Layout) -> _Lane:
        assert self._settings.file is not None
        child = await start_child(
            self._settings.file,
            self._settings.name,
            context=CONTEXT,
            threads=layout.threads,
            gpu_layers=layout.gpu_layers,
        )
        resources = contextlib.AsyncExitStack()
        server = self._settings.model_copy(update={"base_url": child.url, "api_key": child.key})
        lane = _Lane(child, await resources.enter_async_context(open_client(server)), resources)
        self._lanes.append(lane)
        return lane

    async def _bury(self, lane: _Lane) -> None:
        """Forget a process that has ended.

        Raises:
            ModelUnavailable: It is not the first one.
        """
        self._lanes.remove(lane)
        ending = await lane.close()
        self._crashes += 1
        if self._crashes > _CRASHES_BORNE:
            raise ModelUnavailable(
                f"{self._settings.file}: the process of the model ended {self._crashes} times (last with {ending}); "
                "every answer so far is kept: free memory or take a smaller model, then run again"
            )


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
        is_held = True
    except ParameterRefused:  # a template that takes no empty message
        is_held = False
    try:
        response = await lane.wire.post(path, {**body, "cache_prompt": is_held})
    except ParameterRefused as refused:
        raise _explained(refused, lane.wire.url) from None
    lane.fixed = fixed if is_held else None
    return response


def _explained(refused: ParameterRefused, url: str) -> CallFailed:
    if "context size" not in str(refused.error.get("message")):
        return refused
    problem = f"the prompt has more than {CONTEXT:,} tokens: make chunks shorter (chunk.size), or name a server"
    return CallFailed("too-long", f"{url}: {problem}")
