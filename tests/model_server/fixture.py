"""The pytest fixture ``model_server``: the server in a process of its own, on a free port, stopped after the test."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).resolve().parents[2]


class ServerHandle:
    """A running server, spoken to over its control port."""

    def __init__(self, process: subprocess.Popen[str], base_url: str, control_url: str) -> None:
        self.process, self.base_url, self._control_url = process, base_url, control_url

    def stats(self) -> dict[str, Any]:
        """Return what the server saw since the last reset."""
        return dict(self._call("stats"))

    def requests(self) -> list[dict[str, Any]]:
        """Return the last requests, oldest first: kind, prompt hash, seconds since the reset, body."""
        return list(self._call("requests"))

    def script(self, *rules: dict[str, Any], **settings: Any) -> None:
        """Put other rules and settings in force (see scenario.py); the counts of the rules begin anew."""
        self._call("script", {"rules": list(rules), "settings": settings})

    def reset(self) -> None:
        """Forget every count, and give up every call that is still being answered."""
        self._call("reset", {})

    def down(self) -> None:
        """Stop listening and cut every connection; the control port stays."""
        self._call("down", {})

    def up(self) -> None:
        """Listen again, on the same port."""
        self._call("up", {})

    def stop(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.wait(60)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()

    def _call(self, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._control_url}/{path}", data, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=250) as response:
            return json.loads(response.read())


def start_server(*arguments: str) -> ServerHandle:
    """Start a server with these command line arguments and wait until it listens."""
    command = [sys.executable, "-m", "tests.model_server", "--port", "0", "--until-stdin-closes", *arguments]
    process = subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"the model server did not start: exit code {process.wait(60)}")
    said = json.loads(line)
    return ServerHandle(process, said["base_url"], said["control_url"])


@pytest.fixture(scope="session")
def _model_server_process() -> Iterator[ServerHandle]:
    server = start_server()
    yield server
    server.stop()


@pytest.fixture
def model_server(_model_server_process: ServerHandle) -> ServerHandle:
    """A model server with no rule, no latency and all counts at zero."""
    _model_server_process.up()
    _model_server_process.script()
    _model_server_process.reset()
    return _model_server_process
