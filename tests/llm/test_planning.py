"""The layer of a dry run: what it counts, what it recalls, and that it leaves no trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import AnswerRejected, NotAsked
from pipeline.llm.planning import Planning, recollect
from pipeline.llm.settings import ModelSettings, Prices
from pipeline.llm.tokens import estimate_tokens
from tests.llm.conftest import Opener, verdict_request
from tests.model_server.fixture import ServerHandle


def settings(server: ServerHandle | None = None, **more: object) -> ModelSettings:
    url = server.base_url if server else "http://127.0.0.1:9/v1"
    return ModelSettings(model="test-model", base_url=url, **more)  # type: ignore[arg-type]


def everything(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.iterdir()}


async def ask(planning: Planning, *numbers: int) -> None:
    for number in numbers:
        with pytest.raises(NotAsked):
            await planning.complete(verdict_request(number))


async def test_a_question_put_twice_is_one_request(tmp_path: Path):
    with recollect(tmp_path / "absent.sqlite") as store:
        planning = Planning(settings=settings(prices=Prices(1e6, 0)), store=store)
        await ask(planning, 1, 2, 1)
        (row,) = planning.report()
        (half,) = planning.report(share_of_price=0.5)
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
    with recollect(tmp_path / "answers.sqlite") as store:
        planning = Planning(settings=settings(model_server), store=store)
        for number in range(5):
            assert (await planning.complete(verdict_request(number))).replayed
        await ask(planning, *range(5, 9))
        (row,) = planning.report()
    assert everything(tmp_path) == before
    assert (row.requests, row.replayed) == (4, 5)
    assert row.input_tokens == pytest.approx(4 * per_call, rel=0.02)
    assert row.output_tokens == pytest.approx(4 * model_server.stats()["output_tokens"] / 5, abs=2)


async def test_a_stored_rejection_stays_one(tmp_path: Path, open_path: Opener, model_server: ServerHandle):
    model_server.script({"do": {"reply": "refusal"}})
    async with open_path() as path:
        with pytest.raises(AnswerRejected):
            await path.complete(verdict_request())
    with recollect(tmp_path / "answers.sqlite") as store:
        planning = Planning(settings=settings(model_server), store=store)
        with pytest.raises(AnswerRejected) as caught:
            await planning.complete(verdict_request())
    assert caught.value.kind == "refusal"


async def test_a_store_in_use_by_a_run_can_be_read(tmp_path: Path, open_path: Opener, model_server: ServerHandle):
    async with open_path() as path:
        await path.complete(verdict_request(1))
        with recollect(tmp_path / "answers.sqlite") as store:
            planning = Planning(settings=settings(model_server), store=store)
            assert (await planning.complete(verdict_request(1))).replayed


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        # English prose has 1.2 to 1.4 tokens a word in byte-pair vocabularies, Chinese 0.6 to 1.1 a character.
        ("The quick brown fox jumps over the lazy dog.", 9, 11),
        ("水泵在上游阀门打开时启动", 7, 13),
        ("1234567890", 3, 5),
        ("", 0, 0),
        ("\ud800", 0, 3),
    ],
)
def test_an_estimate_lies_where_real_vocabularies_do(text: str, low: float, high: float):
    assert low <= estimate_tokens(text) <= high
