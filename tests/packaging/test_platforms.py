"""Nothing that only POSIX systems have is needed: the modules and functions are hidden, and the work goes on."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from goldbench.review.security import key_note, session_key
from tests.conftest import IMPORT_PATH, ROOT, SETTINGS, Goldbench

HIDING = """
import os, signal, sys

MODULES = {"fcntl", "grp", "pwd", "resource", "termios", "tty", "pty", "syslog", "readline"}
FUNCTIONS = '''chown chroot confstr fchdir fchmod fchown fork forkpty getegid geteuid getgid getgroups getpgid getpgrp
getpriority getsid getuid killpg lchown link lockf major minor mkfifo mknod nice pread pwrite readv
sched_getaffinity sched_setaffinity sched_yield sendfile setegid seteuid setgid setgroups setpgid setsid setuid
statvfs sync sysconf tcgetpgrp ttyname wait3 wait4 writev'''.split()
FLAGS = "O_CLOEXEC O_DIRECTORY O_DSYNC O_NOCTTY O_NOFOLLOW O_NONBLOCK O_SYNC".split()
SIGNALS = "SIGALRM SIGHUP SIGKILL SIGPIPE SIGQUIT SIGUSR1 SIGUSR2 SIGCHLD alarm pause pthread_sigmask setitimer".split()

# What the standard library itself needs on this system is imported before its parts are hidden.
import asyncio, getpass, http.server, logging, multiprocessing.connection, multiprocessing.popen_spawn_posix, platform
import pathlib, random, selectors, shutil, socket, sqlite3, ssl, subprocess, tempfile, threading, uuid

platform.uname()
os.process_cpu_count = os.cpu_count  # what newer Pythons do on a system that does not tell the processors of a process
shutil._use_fd_functions = False  # it has looked for these functions before they are hidden
subprocess.Popen.kill = lambda process: process.send_signal(9)
for name in MODULES:
    sys.modules[name] = None  # as if it did not exist
for name in FUNCTIONS + FLAGS:
    if hasattr(os, name):
        delattr(os, name)
for name in SIGNALS:
    if hasattr(signal, name):
        delattr(signal, name)
"""
"""Runs at the start of every Python process that finds it, the project's own worker processes among them."""

EVERYTHING = """
import importlib, pkgutil, sys
import goldbench

failed = {}
for module in pkgutil.walk_packages(goldbench.__path__, "goldbench."):
    if module.name.startswith("goldbench.exports.standalone."):  # they import the tool
        continue
    try:
        importlib.import_module(module.name)
    except Exception as error:
        failed[module.name] = repr(error)
assert not failed, failed
assert not any(sys.modules[name] for name in ("fcntl", "resource", "pwd", "grp", "termios"))
print(len([name for name in sys.modules if name.startswith("goldbench.")]))
"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> dict[str, str]:
    """The environment variables of a process on a system without any of it."""
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "sitecustomize.py").write_text(HIDING, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    return {**kept, "PYTHONPATH": os.pathsep.join([str(tmp_path / "hidden"), str(ROOT)]), "COLUMNS": "200"}


def run(elsewhere: dict[str, str], folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, env=elsewhere, capture_output=True, encoding="utf-8", timeout=100, check=False
    )


@pytest.mark.slow
def test_every_module_can_be_imported(elsewhere: dict[str, str], tmp_path: Path) -> None:
    done = run(elsewhere, tmp_path, "-c", EVERYTHING)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 300


@pytest.mark.slow
def test_the_main_job_is_done_and_the_missing_limit_is_one_line(elsewhere: dict[str, str], tmp_path: Path) -> None:
    documents = ROOT / "data" / "example" / "documents" / "support"
    built = run(elsewhere, tmp_path, "-m", "goldbench", "build", documents, "--out", "set", "--queries", 20)
    assert built.returncode == 0, built.stderr
    notes = [line for line in built.stderr.splitlines() if "memory" in line]
    assert notes == ["Note: this system cannot limit memory; a damaged file may take all of it."]
    read = {record["source"] for record in map(json.loads, lines(tmp_path / "set" / "0-documents.jsonl"))}
    assert "choosing-a-model.html" in read
    for command in (
        ["retrieve", "set", "--system", "bm25", "-o", "bm25.trec"],
        ["score", "set", "--run", "bm25=bm25.trec", "--per-query", "queries.jsonl"],
        ["card", "set"],
    ):
        done = run(elsewhere, tmp_path, "-m", "goldbench", *command)
        assert done.returncode == 0, (command, done.stderr)
    assert (tmp_path / "set" / "card.json").is_file()


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@pytest.mark.slow
def test_no_line_is_said_where_memory_is_limited(goldbench: Goldbench) -> None:
    pytest.importorskip("resource", reason="this system cannot limit memory")
    documents = ROOT / "data" / "example" / "documents" / "support"
    assert "cannot limit memory" not in goldbench("build", documents, "--out", "set", "--queries", 5).stderr


def test_a_key_that_others_can_read_is_one_line(tmp_path: Path) -> None:
    key = tmp_path / "review.key"
    session_key(key)
    if os.name == "posix":
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        assert key_note(key) is None
    key.chmod(0o644)
    note = key_note(key)
    assert note is not None
    assert str(key) in note


def test_what_goes_into_a_pipe_is_utf_8_whatever_the_terminal_speaks(tmp_path: Path) -> None:
    """Windows gives a pipe the code page of the machine, which lacks most scripts."""
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n", encoding="utf-8")
    (tmp_path / "run.trec").write_text("q Q0 d 1 1.0 x\n", encoding="utf-8")
    code = (
        "import io, sys; sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='cp1252', write_through=True); "
        "sys.argv = ['goldbench', 'score', 'qrels.tsv', '--run', '检索=run.trec', '--format', 'json']; "
        "from goldbench.__main__ import main; main()"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONIOENCODING"}
    environment["PYTHONPATH"] = IMPORT_PATH
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, timeout=60, check=True
    )
    assert "检索" in done.stdout.decode("utf-8")
