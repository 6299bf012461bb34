"""The API key is in no process list."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.conftest import IMPORT_PATH, ROOT, SETTINGS

KEY = "sk-CANARYcanary0123456789"


def _run(folder: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    """Run the command and return its exit code and output; the process list is read all the while."""
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    settings = {**kept, "PYTHONPATH": IMPORT_PATH, "COLUMNS": "200", "GOLDBENCH_DEBUG": "1", **environment}
    process = subprocess.Popen(
        [sys.executable, "-m", "goldbench", *arguments],
        cwd=folder, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    seen: list[str] = []

    def watch() -> None:
        while process.poll() is None:
            seen.extend(_command_lines(process.pid))
            time.sleep(0.05)

    watcher = threading.Thread(target=watch)
    watcher.start()
    said, _ = process.communicate(timeout=100)
    watcher.join()
    return process.returncode, said + "\n".join(seen)


def _command_lines(pid: int) -> Iterator[str]:
    """Yield the command lines of a process and those below it."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                yield " ".join(one.cmdline())


@pytest.mark.slow
def test_the_key_of_the_bundled_models_process_is_in_no_process_list(tmp_path: Path) -> None:
    from tests.llm.local.installed import needs_local_model

    needs_local_model()
    documents = str(ROOT / "data/example/documents/manual")
    command = ("build", documents, "--out", "local", "--queries", "2", "--model", "local", "--answers", "local.sqlite")
    _, said = _run(tmp_path, *command, OPENAI_API_KEY=KEY)
    assert KEY not in said
    lines = [line for line in said.splitlines() if "goldbench.llm.local.model_process" in line]
    assert lines
    assert all(line.split()[-1] == "goldbench.llm.local.model_process" for line in lines)  # no argument at all
