"""The test server does what it is told, or every test on it proves nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.model_server.fixture import ServerHandle, start_server
from tests.model_server.oracle import good_answer, passage_in
from tests.model_server.replies import KINDS, message_for

PASSAGE = "The pump starts when the upper valve opens. Operators inspect every bearing in spring, before the season."
MARK = "0123456789abcdef"
PROMPT = f"Language of the query and of the answer: en\n<<<PASSAGE {MARK}>>>\n{PASSAGE}\n<<<END {MARK}>>>"
SCHEMA = {"type": "object", "properties": {"skip_reason": {"type": "null"}, "candidates": {"type": "array"}}}


def _post(server: ServerHandle, path: str, body: dict[str, Any]) -> dict[str, Any]:
    data = json.dumps(body).encode()
    request = urllib.request.Request(f"{server.base_url}{path}", data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.loads(response.read())


def _ask(server: ServerHandle, user: str = PROMPT, **more: Any) -> dict[str, Any]:
    return _post(server, "/chat/completions", {"model": "m", "messages": [{"role": "user", "content": user}], **more})


def test_the_passage_is_found_between_its_delimiters():
    assert passage_in(PROMPT) == PASSAGE
    assert passage_in(PROMPT.replace("valve", "valve deadbeef01 and deadbeef01")) == PASSAGE.replace(
        "valve", "valve deadbeef01 and deadbeef01"
    )


def test_a_good_answer_quotes_the_passage_and_copies_no_run_of_it():
    candidate = good_answer(SCHEMA, "", PROMPT)["candidates"][0]
    assert candidate["evidence"] in PASSAGE
    assert candidate["subject"] in candidate["query"]
    words = candidate["query"].split()
    runs = {" ".join(words[i : i + 4]) for i in range(len(words) - 3)}
    assert not any(run in PASSAGE for run in runs)


@pytest.mark.parametrize("banned", ["这", "影响"])
def test_a_good_answer_keeps_the_constraints_it_is_told(banned: str):
    passage = "水泵在上游阀门打开时启动。操作人员每年春季检查轴承和密封件。"
    prompt = PROMPT.replace(PASSAGE, passage).replace(": en", ": zh")
    rules = (
        "The query has at most 15 characters.\n"
        f"The query contains none of these: {banned}, 根据.\n"
        "The query has no punctuation at all.\n"
    )
    query = good_answer(SCHEMA, rules, prompt)["candidates"][0]["query"]
    assert len(query) <= 15
    assert banned not in query
    assert not set(query) & set("？?。，")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_reply_can_be_made(kind: str):
    message = message_for(kind, good_answer(SCHEMA, "", PROMPT))
    assert (message is None) == (kind == "empty-choices")


def test_equal_questions_get_equal_answers(model_server: ServerHandle):
    assert _ask(model_server)["choices"] == _ask(model_server)["choices"]
    assert model_server.stats()["paid_twice"] == 1


def test_a_question_without_a_schema_is_answered_in_plain_words(model_server: ServerHandle):
    said = _ask(model_server, "What starts the pump?")["choices"][0]["message"]["content"]
    assert said
    assert said[0] not in '{["'


def test_content_in_parts_is_the_content(model_server: ServerHandle):
    parts = [{"type": "text", "text": PROMPT[:40]}, {"type": "text", "text": PROMPT[40:]}]
    tokens = [_ask(model_server, content)["usage"]["prompt_tokens"] for content in (parts, PROMPT, "")]
    assert tokens[0] == pytest.approx(tokens[1], abs=1)
    assert tokens[2] < tokens[0] / 2


def test_rules_apply_as_counted(model_server: ServerHandle):
    model_server.script({"when": {"every": 3}, "do": {"status": 503}}, {"when": {"nth": [1]}, "do": {"status": 429}})
    statuses = []
    for number in range(6):
        try:
            _ask(model_server, f"{number}")
            statuses.append(200)
        except urllib.error.HTTPError as error:
            statuses.append(error.code)
    assert statuses == [429, 200, 503, 200, 200, 503]


def test_an_unknown_setting_is_refused(model_server: ServerHandle):
    with pytest.raises(urllib.error.HTTPError):
        model_server.script(latency=5)


def test_a_server_that_is_down_refuses_connections_and_comes_back(model_server: ServerHandle):
    model_server.down()
    with pytest.raises(urllib.error.URLError):
        _ask(model_server)
    model_server.up()
    assert _ask(model_server)["choices"]


def test_a_batch_is_answered_in_any_order_with_its_errors_apart(model_server: ServerHandle):
    model_server.script({"when": {"kind": "batch-line", "contains": "poison"}, "do": {"status": 400}}, batch_s=0.05)
    asked = {"method": "POST", "url": "/v1/chat/completions"}
    lines = [
        {"custom_id": str(n), **asked, "body": {"model": "m", "messages": [{"role": "user", "content": text}]}}
        for n, text in enumerate(("one", "poison", "three"))
    ]
    field = "--b\r\nContent-Disposition: form-data; name="
    content = "\n".join(map(json.dumps, lines))
    form = f'{field}"purpose"\r\n\r\nbatch\r\n{field}"file"; filename="in.jsonl"\r\n\r\n{content}\r\n--b--\r\n'
    upload = urllib.request.Request(
        f"{model_server.base_url}/files", form.encode(), {"content-type": "multipart/form-data; boundary=b"}
    )
    with urllib.request.urlopen(upload, timeout=60) as response:
        file = json.loads(response.read())
    order = {"input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    batch = _post(model_server, "/batches", order)
    time.sleep(0.3)
    with urllib.request.urlopen(f"{model_server.base_url}/batches/{batch['id']}", timeout=60) as response:
        batch = json.loads(response.read())
    assert batch["status"] == "completed"
    assert batch["request_counts"] == {"total": 3, "completed": 2, "failed": 1}
    with urllib.request.urlopen(
        f"{model_server.base_url}/files/{batch['output_file_id']}/content", timeout=60
    ) as response:
        rows = [json.loads(line) for line in response.read().splitlines()]
    assert [row["custom_id"] for row in rows] == ["2", "0"]


@pytest.mark.slow
def test_the_server_ends_with_whoever_started_it():
    code = (
        "import os; from tests.model_server.fixture import start_server; "
        "print(start_server().process.pid, flush=True); os._exit(1)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100).stdout
    from psutil import pid_exists

    for _ in range(100):
        if not pid_exists(int(out)):
            return
        time.sleep(0.05)
    pytest.fail("the server outlived its starter")


def test_a_server_takes_its_script_from_the_command_line(tmp_path):
    (tmp_path / "script.json").write_text(json.dumps({"settings": {"latency_ms": 120}}))
    server = start_server("--script", str(tmp_path / "script.json"))
    start = time.monotonic()
    _ask(server)
    assert time.monotonic() - start >= 0.12
    server.stop()


def test_texts_with_words_in_common_are_alike_to_its_embedding_model(model_server: ServerHandle):
    texts = ["start the pump", "the pump starts, start it", "an owl", "owl an", ""]
    data = _post(model_server, "/embeddings", {"input": texts, "model": "e", "dimensions": 256})["data"]
    rows = [row["embedding"] for row in data]
    likeness = [sum(a * b for a, b in zip(rows[0], row, strict=True)) for row in rows]
    assert likeness[0] == pytest.approx(1)
    assert likeness[1] > 0.5 > likeness[2]
    assert rows[2] == pytest.approx(rows[3])
    assert sum(x * x for x in rows[4]) == pytest.approx(1)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_its_reranker_puts_the_passage_with_the_querys_words_first(model_server: ServerHandle, version: str):
    documents = ["an owl", "the pump starts", "start the pump"]
    body = {"model": "r", "query": "start the pump", "documents": documents, "top_n": 2}
    url = model_server.base_url.removesuffix("v1") + f"{version}/rerank"
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        rows = json.loads(response.read())["results"]
    assert [row["index"] for row in rows] == [2, 1]
    assert model_server.stats()["texts"] == 3
