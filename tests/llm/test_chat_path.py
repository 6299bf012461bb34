"""One question to a real server, in all the ways in which it can be answered."""

from __future__ import annotations

import pytest

from goldbench.errors import AnswerRejected, CallFailed, ModelUnavailable
from tests.llm.conftest import Opener, Verdict, verdict_request
from tests.model_server.fixture import ServerHandle


async def test_a_misfit_is_shown_to_the_model_once_and_both_replies_are_booked(
    open_path: Opener, model_server: ServerHandle
):
    model_server.script({"when": {"nth": [1]}, "do": {"content": '{"reason": "because", "grade": 7}'}})
    async with open_path() as path:
        completion = await path.complete(verdict_request())
        booked = path.usage()["grade"]
    assert isinstance(completion.answer, Verdict)
    messages = model_server.requests()[-1]["body"]["messages"]
    assert messages[-2] == {"role": "assistant", "content": '{"reason": "because", "grade": 7}'}
    assert "grade: less_than_equal" in messages[-1]["content"]
    stats = model_server.stats()
    assert completion.usage.input_tokens == stats["input_tokens"] == booked.input_tokens
    assert completion.usage.output_tokens == stats["output_tokens"] == booked.output_tokens
    assert booked.requests == stats["requests"] == 2


async def test_a_second_misfit_is_final(open_path: Opener, model_server: ServerHandle):
    model_server.script({"do": {"reply": "wrong-json"}})
    async with open_path() as path:
        with pytest.raises(AnswerRejected) as caught:
            await path.complete(verdict_request())
    assert caught.value.kind == "misfit"
    assert "reason: missing" in str(caught.value)
    assert "questions" not in str(caught.value)
    assert model_server.stats()["requests"] == 2


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("refusal", "refusal"),
        ("content-filter", "content-filter"),
        ("cut-off", "cut-off"),
        ("loop", "loop"),
        ("empty-choices", "empty"),
    ],
)
async def test_what_cannot_be_repaired_is_not_asked_again(
    open_path: Opener, model_server: ServerHandle, reply: str, kind: str
):
    model_server.script({"do": {"reply": reply}})
    async with open_path() as path:
        with pytest.raises(AnswerRejected) as caught:
            await path.complete(verdict_request())
    assert caught.value.kind == kind
    assert model_server.stats()["requests"] == 1


async def test_an_exhausted_quota_is_not_waited_for(open_path: Opener, model_server: ServerHandle):
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    model_server.script({"do": {"status": 429, "headers": {"retry-after": "60"}, "body": body}})
    async with open_path() as path:
        with pytest.raises(ModelUnavailable, match="no credit left"):
            await path.complete(verdict_request())


async def test_a_request_the_server_calls_wrong_fails_alone(open_path: Opener, model_server: ServerHandle):
    body = {"error": {"message": "maximum context length is 8192 tokens", "code": "context_length_exceeded"}}
    model_server.script({"when": {"contains": "number 1."}, "do": {"status": 400, "body": body}})
    async with open_path() as path:
        await path.complete(verdict_request(0))
        with pytest.raises(CallFailed) as caught:
            await path.complete(verdict_request(1))
        await path.complete(verdict_request(2))
    assert caught.value.kind == "too-long"
    assert "the context of 8,192 tokens" in str(caught.value)
    assert model_server.stats()["requests"] == 3


async def test_the_key_of_the_settings_is_sent_and_no_other(
    open_path: Opener, model_server: ServerHandle, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    model_server.script(api_key="sk-of-the-settings")
    async with open_path(api_key="sk-of-the-settings", store=False) as path:
        await path.complete(verdict_request())
    model_server.script(api_key="sk-of-the-environment")
    async with open_path(api_key=None, store=False) as path:
        with pytest.raises(ModelUnavailable, match=r"wants a key .* set OPENAI_API_KEY"):
            await path.complete(verdict_request())


async def test_a_text_that_no_encoding_can_carry_is_sent_all_the_same(open_path: Opener, model_server: ServerHandle):
    async with open_path() as path:
        await path.complete(verdict_request(0, user="a\ud800b\x00c"))
    assert model_server.requests()[-1]["body"]["messages"][-1]["content"] == "a\ufffdb\x00c"
