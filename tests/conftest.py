"""What every test stands on: no key or server from outside, no socket but loopback, the shared collections."""

from __future__ import annotations

import gc
import importlib.util
import io
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from goldbench.__main__ import main
from tests.forked_commands import start

pytest_plugins = ["tests.model_server.fixture"]

settings.register_profile("goldbench", deadline=None)  # time is measured in benchmarks
settings.load_profile("goldbench")

ROOT = Path(__file__).parent.parent
IMPORT_PATH = f"{ROOT}{os.pathsep}{ROOT / 'pipeline'}"
"""PYTHONPATH of processes that import goldbench or modules of the tests."""
SETTINGS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "GOLDBENCH_DEBUG")
TERMINAL = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE")


posix = pytest.mark.skipif(os.name != "posix", reason="needs the signals, pipes, links or permissions of POSIX systems")


def pytest_configure() -> None:
    """Start all tests alike: without keys, servers, a terminal's width and colours, and with interrupts that arrive."""
    for name in (*SETTINGS, *TERMINAL):
        os.environ.pop(name, None)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets its background commands ignore it


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the seed of the order in which the tests ran, also where -q hides the header that names it."""
    seed = config.getoption("randomly_seed", None)
    if seed is not None:
        terminalreporter.write_line(f"Order of the tests: pytest --randomly-seed={seed}")


@pytest.hookimpl(trylast=True)  # after those are gone that are not to run
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files of the longest slow tests first, in turns at the start and in the middle.

    Two workers begin there, and nobody waits at the end for a test of minutes. The tests of a file stay together.
    """
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    ordered = sorted(files.values(), key=lambda tests: -max(map(_longest, tests)))
    items[:] = itertools.chain.from_iterable((*ordered[::2], *ordered[1::2]))


def _longest(item: pytest.Item) -> float:
    """Return the seconds after which a slow test is ended, 0 for the limit of all tests."""
    marker = item.get_closest_marker("timeout") if item.get_closest_marker("slow") else None
    return marker.args[0] if marker and marker.args else 0.0


def pytest_runtest_setup() -> None:
    from pytest_socket import socket_allow_hosts

    socket_allow_hosts(["127.0.0.1", "localhost", "::1"], allow_unix_socket=True)


@pytest.fixture(autouse=True)
def _garbage_collector() -> Iterator[None]:
    """Undo what a command does for its own process: it disables the collector, or makes it rare."""
    threshold = gc.get_threshold()
    yield
    gc.enable()
    gc.set_threshold(*threshold)
    gc.unfreeze()


@pytest.fixture
def collections() -> Path:
    """The real collections, where they are."""
    folder = Path(os.environ.get("GOLDBENCH_COLLECTIONS", ROOT / ".." / "shared" / "data")).resolve()
    if not folder.is_dir():
        pytest.skip(f"the real collections are not at {folder}; set GOLDBENCH_COLLECTIONS")
    return folder


def python_of(environment: str) -> Path:
    """Return the interpreter of an environment that ``make tools`` makes; skip where it is not installed."""
    home = ROOT / ".venv-tools" / environment
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        if os.environ.get("REQUIRE_TOOLS"):
            pytest.fail(f"{environment} is not installed, and REQUIRE_TOOLS is set")
        pytest.skip(f"the environment {environment} is not installed; run make tools")
    return python


def needs(package: str) -> None:
    """Skip a test whose package is not installed; fail if ``REQUIRE_MODELS`` says that it must be."""
    if importlib.util.find_spec(package) is None:
        if os.environ.get("REQUIRE_MODELS"):
            pytest.fail(f"{package} is not installed, and REQUIRE_MODELS is set")
        pytest.skip(f"{package} is not installed")


Goldbench = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def goldbench(tmp_path: Path) -> Goldbench:
    """Run the command as a process of its own, in an empty folder; it is forked where its environment allows that."""

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        words, kept = (
            [*map(str, arguments)],
            {name: value for name, value in os.environ.items() if name not in SETTINGS},
        )
        whole = {**kept, "PYTHONPATH": IMPORT_PATH, "COLUMNS": "200", **environment}
        process = start(words, tmp_path, whole)
        said = process.communicate(timeout=250)  # on a busy machine; a test ends after 300 s
        assert process.returncode is not None
        return subprocess.CompletedProcess(words, process.returncode, *said)

    return run


@pytest.fixture
def goldbench_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Goldbench:
    """Run the command in this process: for tests of what it says, not of the process it is."""

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        argv = ["goldbench", *map(str, arguments)]
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with monkeypatch.context() as patched:
            patched.chdir(tmp_path)
            for name, value in {"COLUMNS": "200", **environment}.items():
                patched.setenv(name, value)
            for name, value in (("argv", argv), ("stdout", out), ("stderr", err), ("stdin", io.StringIO())):
                patched.setattr(sys, name, value)
            try:
                main()
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
            finally:
                for number, handler in handlers.items():
                    signal.signal(number, handler)
        said = (stream.buffer.getvalue().decode("utf-8") for stream in (out, err))  # type: ignore[attr-defined]
        return subprocess.CompletedProcess(argv, code, *said)

    return run
