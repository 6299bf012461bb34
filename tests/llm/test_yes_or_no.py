"""How likely yes is: read from the likeliest first tokens of a reply, and stored as the reply itself."""

from __future__ import annotations

import math

import pytest

from goldbench.errors import AnswerRejected
from goldbench.llm.likelihoods import yes_probability
from goldbench.ports import ChatRequest
from goldbench.records.replies import YesNo
from tests.llm.conftest import Opener
from tests.model_server.fixture import ServerHandle

PROMPT = (
    "<<<PASSAGE 0123456789abcdef>>>\nPumps are greased weekly.\n<<<END 0123456789abcdef>>>\n\nQuery: pumps?\n\nYes?"
)
REQUEST = ChatRequest(
    stage="grade", prompt="grade-yes-no.v1", system="Check.", user=PROMPT, answer=YesNo, max_tokens=1, yes_or_no=True
)


def listed(*tokens: tuple[str, float]) -> dict[str, object]:
    rows = [{"token": token, "logprob": math.log(share)} for token, share in tokens]
    return {"logprobs": {"content": [{**rows[0], "top_logprobs": rows}]}}


@pytest.mark.parametrize(
    ("tokens", "probability"),
    [
        ([("Yes", 0.4), (" yes", 0.2), ("No", 0.2)], 0.75),
        ([("是", 0.6), ("否", 0.2), ("Yes", 0.2)], 0.8),
        ([("▁Yes", 0.5), ("ĠNo", 0.5)], 0.5),
        ([("<think>", 0.9), ("Yes", 0.1)], None),
    ],
)
def test_spellings_count_together_and_another_beginning_says_nothing(
    tokens: list[tuple[str, float]], probability: float | None
) -> None:
    found = yes_probability(listed(*tokens))
    assert found == (None if probability is None else pytest.approx(probability))


@pytest.mark.parametrize(
    "choice",
    [{"logprobs": None}, {"logprobs": {"content": [{"token": "Yes"}]}},
     {"logprobs": {"content": [{"top_logprobs": [{"token": "Yes", "logprob": float("nan")}]}]}}],
)  # fmt: skip
def test_without_listed_tokens_there_is_no_probability(choice: dict[str, object]) -> None:
    assert yes_probability(choice) is None


@pytest.mark.parametrize("form", ["openai", "llama"])
async def test_a_probability_is_stored_and_paid_for_once(
    open_path: Opener, model_server: ServerHandle, form: str
) -> None:
    model_server.script(judge={"truth": {"pumps?": {"Pumps are greased weekly.": 3}}}, probabilities=form)
    async with open_path() as path:
        fresh, again = await path.complete(REQUEST), await path.complete(REQUEST)
    assert 0.8 < fresh.answer.yes < 0.95
    assert (again.replayed, again.answer) == (True, fresh.answer)
    assert model_server.stats()["requests"] == 1
    body = model_server.requests()[-1]["body"]
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"]) == (1, True, 5)
    assert "response_format" not in body


@pytest.mark.parametrize(("form", "requests"), [("refused", 2), (None, 1)], ids=["refused", "not listed"])
async def test_a_server_without_probabilities_is_asked_no_second_time(
    open_path: Opener, model_server: ServerHandle, form: str | None, requests: int
) -> None:
    model_server.script(probabilities=form)
    async with open_path() as path:
        for _ in range(2):
            with pytest.raises(AnswerRejected) as caught:
                await path.complete(REQUEST)
            assert caught.value.kind == "no-probability"
    assert model_server.stats()["requests"] == requests
