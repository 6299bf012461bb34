"""Calls to the real bundled model in its real child processes."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from pydantic import BaseModel, Field

from goldbench.config import config_of
from goldbench.errors import CallFailed
from goldbench.generate.writers import with_local_models
from goldbench.llm.local import local_wire
from goldbench.llm.local.machine import Layout
from goldbench.llm.model_path import open_model
from goldbench.llm.server_settings import ModelSettings
from goldbench.llm.store import AnswerStore
from goldbench.ports import ChatRequest
from tests.llm.local.installed import needs_local_model


class Colour(BaseModel):
    colour: str = Field(max_length=12)


def _request(number: int = 0, *, system: str = "You name colours.", variant: int = 0) -> ChatRequest[Colour]:
    asked = f"Thing {number}: which colour has {['grass', 'snow', 'blood', 'the sea'][number % 4]}?"
    return ChatRequest("try", "try.v1", system, asked, Colour, temperature=0.8, max_tokens=24, variant=variant)


def _settings(**changes: object) -> ModelSettings:
    needs_local_model()
    config = with_local_models(config_of({"model": {"name": "local", **changes}}, {}))
    return ModelSettings.of(config.model)


def _children() -> list[psutil.Process]:
    """The processes that run the model: not others of this test process, such as readers that end just now."""

    def runs_the_model(process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.Error):
            return "model_process" in " ".join(process.cmdline()[-1:])
        return False

    return [one for one in psutil.Process().children(recursive=True) if runs_the_model(one)]


async def test_the_model_answers_is_free_of_charge_and_its_process_ends_with_the_path(tmp_path: Path) -> None:
    settings = _settings(max_usd=0)
    with AnswerStore(tmp_path / "answers.sqlite") as answers:
        async with open_model(settings, answers=answers) as path:
            assert not _children()  # started when it is needed
            first = await path.complete(_request())
            assert _children()
        assert not _children()
        assert first.answer.colour
        assert first.model.startswith("SmolLM2-135M-Instruct.Q4_1@")
        assert first.usage.usd == 0
        async with open_model(settings, answers=answers) as path:
            again = await path.complete(_request())
            assert again.replayed
            assert again.answer == first.answer
            assert not _children()  # every answer came from the store


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_a_reply_depends_neither_on_order_nor_on_neighbours_nor_on_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local_wire, "layout_now", lambda settings, **_: Layout(min(2, settings.calls_at_once), 1))
    other = "You are a painter who names colours in one word, and knows the names of four hundred of them."
    requests = [_request(number, system=system) for number in range(4) for system in ("You name colours.", other)]

    async def replies(order: list[int], settings: ModelSettings) -> list[str]:
        async with open_model(settings) as path:
            found = await asyncio.gather(*(path.complete(requests[one]) for one in order), return_exceptions=True)
        by_number = dict(zip(order, found, strict=True))
        return [repr(by_number[number]) for number in range(len(requests))]

    one_process, up_to_two = _settings(concurrency=1), _settings(concurrency=2)
    forward = list(range(len(requests)))
    expected = await replies(forward, one_process)
    assert len({reply for reply in expected if "colour=" in reply}) > 2
    assert await replies(forward[::-1], one_process) == expected
    assert await replies([*forward[::2], *forward[1::2]], up_to_two) == expected


async def test_a_prompt_that_is_too_long_is_called_that_and_changes_no_later_request(tmp_path: Path) -> None:
    async with open_model(_settings()) as path:
        with pytest.raises(CallFailed) as refused:
            await path.complete(replace(_request(), user="grass " * 9000))
        assert str(refused.value) == (
            "this machine: the prompt has more than 8,192 tokens: make chunks shorter (chunk.size), or name a server"
        )
        after = await path.complete(_request())
    async with open_model(_settings()) as path:
        assert await path.complete(_request()) == after
