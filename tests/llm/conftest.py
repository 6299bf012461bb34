"""A small answer schema, requests for it, and a path to the model server."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from goldbench.llm import budget
from goldbench.llm.model_path import ModelPath, open_model
from goldbench.llm.server_settings import ModelSettings
from goldbench.llm.store import AnswerStore
from goldbench.ports import ChatRequest
from tests.model_server.fixture import ServerHandle


class Verdict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: str = Field(min_length=3, description="Why.")
    grade: int = Field(ge=0, le=3)


def verdict_request(number: int = 0, **changes: Any) -> ChatRequest[Verdict]:
    values: dict[str, Any] = {
        "stage": "grade",
        "prompt": "grade.v1",
        "system": "You grade passages.",
        "user": f"Passage number {number}.",
        "answer": Verdict,
        "max_tokens": 100,
    }
    return ChatRequest(**{**values, **changes})


async def comes_about(holds: Callable[[], bool]) -> None:
    """Wait until something holds, while other tasks go on."""
    for _ in range(3000):
        if holds():
            return
        await asyncio.sleep(0.02)
    pytest.fail("it did not come about")


@pytest.fixture
def pass_time(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let the budget's clock go forward by so many seconds at once."""
    passed_s = 0.0

    def advance(seconds: float) -> None:
        nonlocal passed_s
        passed_s += seconds

    monkeypatch.setattr(budget, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + passed_s))
    return advance


Opener = Callable[..., contextlib.AbstractAsyncContextManager[ModelPath]]


@pytest.fixture
def open_path(model_server: ServerHandle, tmp_path: Path) -> Opener:
    """Open a path to the model server; ``store=False`` goes without a store, other arguments are settings."""

    @contextlib.asynccontextmanager
    async def opened(*, store: bool = True, replay: bool = False, **settings: Any) -> AsyncIterator[ModelPath]:
        defaults = {"name": "test-model", "base_url": model_server.base_url, "never_reached_s": 2.0}
        chosen = ModelSettings(**{**defaults, **settings})
        with contextlib.ExitStack() as stack:
            answers = stack.enter_context(AnswerStore(tmp_path / "answers.sqlite")) if store else None
            async with open_model(chosen, answers=answers, replay=replay) as path:
                yield path

    return opened
