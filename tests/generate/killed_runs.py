"""A build that is killed several times before it ends."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from tests.forked_commands import Running
from tests.generate.test_build_under_fire import ended, started
from tests.model_server.fixture import ServerHandle


def kill_several_times(folder: Path, command: tuple[object, ...], server: ServerHandle, *, kills: int) -> None:
    """Start a command ``kills`` times and kill it after its first requests, then let it end; nothing is paid twice."""
    for kill in range(kills):
        before, process = server.stats()["requests"], started(folder, *command)
        while server.stats()["requests"] < before + 4 + kill and process.poll() is None:
            time.sleep(0.02)
        kill_now(process)
    assert ended(started(folder, *command), 120) == 0
    assert server.stats()["repeated"] <= 4 * kills


def kill_now(process: Running) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()
