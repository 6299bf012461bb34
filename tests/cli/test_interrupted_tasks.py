"""An interrupt ends the tasks of a command with one line, wherever it falls."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import pytest

from goldbench.cli.process import run
from goldbench.generate.bounded_work import bounded
from tests.conftest import IMPORT_PATH, posix

COMMAND = """
import asyncio, os, signal
from goldbench.generate.bounded_work import bounded
from goldbench.cli import process

async def connection():
    pass

async def work(item):
    await asyncio.sleep(0)
    if item == 3:
        begun = connection()
        os.kill(os.getpid(), signal.SIGINT)
        await begun
    await asyncio.sleep(30)

process._run = lambda: process.run(bounded(work, range(8), limit=8, take=lambda _: None))
process.main()
"""


@posix
def test_an_interrupt_in_a_task_prints_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND],
        cwd=tmp_path,
        env={"PYTHONPATH": IMPORT_PATH},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.stderr == "goldbench: interrupted; run the same command again to continue\n"
    assert done.returncode == 130


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


async def in_the_loop() -> None:
    asyncio.get_running_loop().call_soon(interrupt)
    await asyncio.sleep(30)


async def in_another_task() -> None:
    async def work(item: int) -> None:
        await asyncio.sleep(0.01)
        if item == 2:
            interrupt()
        await asyncio.sleep(30)

    await bounded(work, range(5), limit=5, take=lambda _: None)


async def in_a_stage_that_waits_for_nothing() -> None:
    interrupt()
    time.sleep(30)  # noqa: ASYNC251  as a stage does


async def while_all_wait() -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", f"import os, signal, time; time.sleep(0.3); os.kill({os.getpid()}, signal.SIGINT)"
    )
    try:
        await asyncio.sleep(30)
    finally:
        await child.wait()


@posix
@pytest.mark.parametrize("where", [in_the_loop, in_another_task, in_a_stage_that_waits_for_nothing, while_all_wait])
def test_an_interrupt_ends_the_work_after_its_clean_up(where: Callable[[], object]) -> None:
    cleaned: list[bool] = []
    told: list[object] = []

    async def command() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        try:
            await where()  # type: ignore[misc]
        finally:
            interrupt()  # is ignored
            await asyncio.sleep(0.01)
            cleaned.append(True)

    with pytest.raises(KeyboardInterrupt):
        run(command())
    assert cleaned == [True]
    assert not told


async def in_spite_of_it() -> None:
    asyncio.get_running_loop().call_soon(interrupt)
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(30)


async def while_a_thread_ends() -> None:
    def wait() -> None:
        time.sleep(0.2)
        interrupt()

    asyncio.get_running_loop().run_in_executor(None, wait)
    await asyncio.sleep(0.01)


class _Dropped:
    def __del__(self) -> None:
        interrupt()
        len("an exception is dropped here")


async def in_a_finalizer() -> None:
    _Dropped()
    await asyncio.sleep(0.1)  # Python drops what is raised in a finalizer, so the work goes on


@posix
@pytest.mark.parametrize("work", [in_a_finalizer, in_spite_of_it, while_a_thread_ends])
def test_an_interrupt_that_the_work_may_not_notice_still_ends_the_command(
    work: Callable[[], Coroutine[object, object, None]],
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(work())


def test_without_an_interrupt_results_errors_and_handlers_are_as_they_were() -> None:
    async def answer() -> int:
        return 7

    async def cancelled() -> None:
        raise asyncio.CancelledError

    before = signal.getsignal(signal.SIGINT)
    assert run(answer()) == 7
    with pytest.raises(asyncio.CancelledError):
        run(cancelled())
    assert signal.getsignal(signal.SIGINT) is before
