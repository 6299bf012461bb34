"""The layer of a dry run: what it counts, what it recalls, and that it leaves no trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldbench.errors import NotAsked
from goldbench.llm.rehearsal import Planning
from goldbench.llm.server_settings import ModelSettings
from goldbench.llm.store import read_unchanged
from goldbench.llm.token_counts import estimate_tokens
from tests.llm.conftest import Opener, verdict_request
from tests.model_server.fixture import ServerHandle


def settings(server: ServerHandle | None = None, **more: object) -> ModelSettings:
    url = server.base_url if server else "http://127.0.0.1:9/v1"
    return ModelSettings(name="test-model", base_url=url, **more)  # type: ignore[arg-type]


def everything(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def ask(planning: Planning, *numbers: int) -> None:
    for number in numbers:
        with pytest.raises(NotAsked):
            await planning.complete(verdict_request(number))


async def test_a_question_put_twice_is_one_request(tmp_path: Path):
    with read_unchanged(tmp_path / "absent.sqlite") as store:
        planning = Planning(settings=settings(usd_per_million_input=1e6, usd_per_million_output=0), store=store)
        await ask(planning, 1, 2, 1)
        (row,) = planning.report()
        (half,) = planning.report(batch=True)
    assert (row.stage, row.requests, row.replayed) == ("grade", 2, 0)
    assert row.usd == row.input_tokens == 2 * half.usd  # type: ignore[operator]
    assert not everything(tmp_path)


async def test_stored_answers_are_recalled_and_correct_the_estimate(
    tmp_path: Path, open_path: Opener, model_server: ServerHandle
):
    async with open_path() as path:
        for number in range(5):
            await path.complete(verdict_request(number))
    per_call = model_server.stats()["input_tokens"] / 5
    before = everything(tmp_path)
    with read_unchanged(tmp_path / "answers.sqlite") as store:
        planning = Planning(settings=settings(model_server), store=store)
        for number in range(5):
            assert (await planning.complete(verdict_request(number))).replayed
        await ask(planning, *range(5, 9))
        (row,) = planning.report()
    assert everything(tmp_path) == before
    assert (row.requests, row.replayed) == (4, 5)
    assert row.input_tokens == pytest.approx(4 * per_call, rel=0.02)
    assert row.output_tokens == pytest.approx(4 * model_server.stats()["output_tokens"] / 5, abs=2)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Hello, my name is GPT-4o. I'm a new type of language model, it's nice to meet you!", 24),
        ("你好，我的名字是GPT-4o。我是一种新型的语言模型，很高兴见到你!", 24),
        ("Привет, меня зовут GPT-4o. Я — новая языковая модель, приятно познакомиться!", 23),
    ],
)
def test_an_estimate_is_near_what_a_vendor_published_for_its_vocabulary(text: str, tokens: int):
    # OpenAI, «Hello GPT-4o», 2024: the same greeting in twenty languages and its tokens in o200k.
    assert estimate_tokens(text) == pytest.approx(tokens, rel=0.2)
