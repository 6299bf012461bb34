"""What a server takes, found out before a run."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Goldbench
from tests.model_server.fixture import ServerHandle


@pytest.fixture
def url(model_server: ServerHandle) -> tuple[str, ...]:
    return ("--base-url", model_server.base_url, "--model", "test-model")


def test_a_try_needs_a_model(goldbench_inside: Goldbench) -> None:
    without = goldbench_inside("doctor", "--try")
    assert (without.returncode, "--try needs a model" in without.stderr) == (2, True)


def test_what_a_server_takes_is_a_table_with_the_settings(
    goldbench_inside: Goldbench, model_server: ServerHandle, url: tuple[str, ...]
) -> None:
    done = goldbench_inside("doctor", "--try", *url)
    table = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "server found (setting)" in table
    assert "ok answer fits its schema" in table
    assert "ok response format JSON Schema, with its limits" in table
    assert "parameters takes max_tokens, temperature" in table
    assert "ok usage reported with each answer" in table
    assert "preflight: 1 request," in done.stdout


def test_the_server_is_asked_though_the_store_knows_its_answers(
    goldbench_inside: Goldbench, model_server: ServerHandle, url: tuple[str, ...]
) -> None:
    model_server.script({"when": {"contains": '"response_format"'}, "do": {"status": 400, "body": {"error": "no"}}})
    assert "response format none;" in " ".join(goldbench_inside("doctor", "--try", *url).stdout.split())
    model_server.script()
    assert "JSON Schema, with its limits" in goldbench_inside("doctor", "--try", *url).stdout
    model_server.script({"do": {"status": 401, "body": {"error": "no"}}})
    refused = goldbench_inside("doctor", "--try", *url)
    assert (refused.returncode, "the server wants a key (HTTP 401): set OPENAI_API_KEY" in refused.stderr) == (2, True)


@pytest.mark.parametrize("body", [{"choices": []}, {"detail": "no"}, {"choices": [{"message": {"content": None}}]}])
def test_a_server_without_an_answer_gets_no_traits(
    goldbench_inside: Goldbench, model_server: ServerHandle, url: tuple[str, ...], body: dict[str, object]
) -> None:
    model_server.script({"do": {"status": 200, "body": json.dumps(body)}})
    said = goldbench_inside("doctor", "--try", *url)
    assert "place of the answer" not in said.stdout
    assert "response format" not in said.stdout


def test_what_is_odd_about_a_server_is_named(goldbench_inside: Goldbench, model_server: ServerHandle) -> None:
    stream = {"error": {"message": "This model only support stream mode, please enable the stream parameter."}}
    model_server.script(
        {"when": {"lacks": '"stream":true'}, "do": {"status": 400, "body": stream}},
        {"when": {"contains": '"response_format"'}, "do": {"status": 501, "body": "not implemented"}},
        usage=False,
        reasoning=True,
    )
    done = goldbench_inside("doctor", "--try", "--base-url", model_server.base_url, "--model", "test-model")
    table = "\n".join(" ".join(line.split()) for line in done.stdout.splitlines())
    for line in (
        "response format none; the schema stands in the prompt",
        "parameters takes max_completion_tokens; refuses temperature",
        "stream the server only streams; its events are put together",
        "thoughts the model thinks before it answers, which costs tokens (model.max_answer_tokens)",
        "usage not reported: caps and costs are estimates (model.max_requests)",
        "context not listed by the server (--chunk-size)",
    ):
        assert line in table
