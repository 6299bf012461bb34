"""A model tried before a run: what it is told, what it costs, and that a bad model is called bad."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldbench.grade.tryout import sample
from tests.conftest import Goldbench
from tests.generate.test_build import corpus
from tests.model_server.fixture import ServerHandle


@pytest.fixture
def url(model_server: ServerHandle) -> tuple[str, ...]:
    chunks, queries = sample()
    texts = {chunk.chunk_id: chunk.text for chunk in chunks}
    model_server.script(judge={"truth": {query.text: {texts[query.chunk_id]: 3} for query in queries}})
    return ("--base-url", model_server.base_url, "--model", "test-model")


def test_a_good_model_is_measured_and_its_replies_are_not_paid_for_twice(
    goldbench_inside: Goldbench, model_server: ServerHandle, url: tuple[str, ...]
) -> None:
    done = goldbench_inside("doctor", "--try", *url)
    assert done.returncode == 0, done.stderr
    lines = {line[4:].partition(": ")[0]: line for line in done.stdout.splitlines()}
    assert lines["writing, prompt style long"].startswith("ok  ")
    assert "replies fit for 5 of 5 passages; evidence is found in 5 of 5 queries" in done.stdout
    assert "tokens per second" in lines["speed"]
    assert lines["judging"].endswith("passed: accepted 0 of 6 planted fakes, recognised 2 of 2 planted answers")
    asked = model_server.stats()["requests"]
    assert 13 <= asked <= 25
    assert "judge checks: 8 requests" in done.stdout
    again = goldbench_inside("doctor", "--try", *url)
    assert model_server.stats()["requests"] == asked + 1  # the server is always asked what it takes
    assert "every reply came from the store" in again.stdout


def test_a_useless_model_is_called_useless_with_what_to_try(
    goldbench_inside: Goldbench, tmp_path: Path, model_server: ServerHandle, url: tuple[str, ...]
) -> None:
    corpus(tmp_path / "docs", 6)
    model_server.script({"do": {"reply": "endless"}})
    done = goldbench_inside("doctor", "docs", "--try", *url)
    assert done.returncode == 1
    assert "bad writing, prompt style short: this model cannot write queries" in done.stdout
    assert "repeats itself (5)" in done.stdout
    assert "bad judging: judge checks failed" in done.stdout
    assert "loop 8; let another model grade" in done.stdout


def test_a_try_needs_a_model_and_documents_are_for_a_try(goldbench_inside: Goldbench, tmp_path: Path) -> None:
    without = goldbench_inside("doctor", "--try")
    assert (without.returncode, "--try needs a model" in without.stderr) == (2, True)
    (tmp_path / "docs").mkdir()
    stray = goldbench_inside("doctor", "docs")
    assert (stray.returncode, "documents are for --try alone" in stray.stderr) == (2, True)


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
    assert "ok writing, prompt style long" in table


def test_a_model_that_cannot_write_grades_is_tried_by_yes_or_no(
    goldbench_inside: Goldbench, model_server: ServerHandle, url: tuple[str, ...]
) -> None:
    chunks, queries = sample()
    texts = {chunk.chunk_id: chunk.text for chunk in chunks}
    truth = {query.text: {texts[query.chunk_id]: 3} for query in queries}
    model_server.script(judge={"truth": truth, "up": 1.0}, probabilities="openai")
    done = goldbench_inside("doctor", "--try", *url)
    lines = {line[4:].partition(": ")[0]: line for line in done.stdout.splitlines()}
    assert lines["judging"].startswith("bad ")
    assert "accepted 0 of 6 planted fakes, recognised 2 of 2 planted answers" in lines["judging by yes or no"]
