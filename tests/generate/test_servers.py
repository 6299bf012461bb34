"""A build with every server that there is a conversation of: the full count, or one line with the setting to change."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Goldbench
from tests.generate.test_build import corpus
from tests.model_server.conversations import CONVERSATIONS
from tests.model_server.fixture import ServerHandle

LITELLM = os.environ.get("GOLDBENCH_LITELLM") or shutil.which("litellm")
KEY = "sk-1234567890abcdef"

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_build_reaches_its_count_or_ends_with_the_setting(
    goldbench_inside: Goldbench, tmp_path: Path, model_server: ServerHandle, name: str
):
    server = CONVERSATIONS[name]
    corpus(tmp_path / "docs", 12)
    model_server.script(*server.rules, **server.settings)
    url = model_server.base_url.removesuffix("/v1") + server.path
    key = server.settings.get("api_key", "")
    command = ("build", "docs", "--out", "run", "--queries", 4, "--base-url", url, "--model", "m")
    done = goldbench_inside(*command, OPENAI_API_KEY=key)
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    if server.ends:
        assert done.returncode == 2, said
        assert all(part in done.stderr for part in server.ends), said
    else:
        assert done.returncode == 0, said
        assert "4 queries in run/dataset.json" in said
    assert not key or key not in said


@pytest.fixture
def litellm(tmp_path: Path, model_server: ServerHandle) -> Iterator[str]:
    """The base URL of a real proxy of LiteLLM in front of the model server."""
    if not LITELLM:
        pytest.skip("LiteLLM's proxy is not installed: name its command in GOLDBENCH_LITELLM")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = tmp_path / "litellm.yaml"
    config.write_text(
        "model_list:\n  - model_name: m\n    litellm_params:\n      model: openai/test-model\n"
        f"      api_base: {model_server.base_url}\n      api_key: sk-behind\n"
        f"general_settings:\n  master_key: {KEY}\n"
    )
    command = [LITELLM, "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    environment.pop("PYTHONPATH", None)
    with (tmp_path / "litellm.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health/liveliness", timeout=2).close()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def test_a_build_through_the_real_proxy_of_litellm(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle, litellm: str
):
    corpus(tmp_path / "docs", 12)
    build = ("build", "docs", "--queries", 4, "--base-url", litellm, "--model")
    refused = {"when": {"contains": "response_format"}, "do": {"status": 500}}
    for number, (rules, settings) in enumerate([((), {}), ((), {"json_schema": False}), ((refused,), {})]):
        model_server.script(*rules, **settings)
        where = ("--out", f"run{number}", "--answers", f"answers{number}.sqlite")
        done = goldbench(*build, "m", *where, OPENAI_API_KEY=KEY)
        assert f"4 queries in run{number}/dataset.json" in done.stdout + done.stderr
    for model, key, said in (("m", "sk-not-the-key", "refuses the key"), ("other", KEY, "does not know model 'other'")):
        done = goldbench(*build, model, "--out", "none", "--answers", "none.sqlite", OPENAI_API_KEY=key)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
