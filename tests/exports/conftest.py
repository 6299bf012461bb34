"""What reads exports: the tools in the environments that ``make tools`` makes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import IMPORT_PATH, python_of
from tests.exports.sample_exports import write_set

Read = Callable[..., Any]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    return write_set(tmp_path / "run")


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Run lines of Python in an environment and return what they put into ``found``; skip where it is not installed.

    The process has no network but loopback, no key, and a home of its own. ``file`` is a path that the lines may name.
    """

    def run(environment: str, lines: str, file: Path | None = None, **settings: str) -> Any:
        python = python_of(environment)
        answer = tmp_path / "found.json"
        end = f"with open({str(answer)!r}, 'w') as out:\n    json.dump(found, out)"
        script = f"{_HEAD}\nfile = {str(file)!r}\n{lines}\n{end}"
        (tmp_path / "home").mkdir(exist_ok=True)
        quiet = {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "RAGAS_DO_NOT_TRACK": "true", "LANGSMITH_TRACING": "false"}
        done = subprocess.run(
            [python, "-W", "ignore", "-c", script],
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path / "home"),
                "PYTHONPATH": IMPORT_PATH,
                **quiet,
                **settings,
            },
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(answer.read_bytes())

    return run


_HEAD = """
import json, socket
connect = socket.socket.connect
def near(self, address):
    if isinstance(address, tuple) and address[0] not in {"127.0.0.1", "::1", "localhost"}:
        raise OSError(f"no network in tests: {address}")
    return connect(self, address)
socket.socket.connect = near
"""
