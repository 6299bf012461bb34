"""What differs between systems: what only POSIX has, permissions, and the encoding of a pipe."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from goldbench.review.security import key_note, session_key
from tests.conftest import IMPORT_PATH, ROOT, SETTINGS

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


@pytest.mark.slow
def test_the_main_job_is_done_without_posix_and_the_missing_limit_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "sitecustomize.py").write_text(HIDING, encoding="utf-8")
    environment = {
        **{name: value for name, value in os.environ.items() if name not in SETTINGS},
        "PYTHONPATH": os.pathsep.join([str(tmp_path / "hidden"), IMPORT_PATH]),
        "COLUMNS": "200",
    }

    def run(*arguments: object) -> str:
        command = [sys.executable, "-m", "goldbench", *map(str, arguments)]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", timeout=100, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    notes = run("build", ROOT / "data" / "example" / "documents" / "support", "--out", "set", "--queries", 20)
    assert len([line for line in notes.splitlines() if "memory" in line]) == 1
    documents = (tmp_path / "set" / "0-documents.jsonl").read_text(encoding="utf-8")
    assert "choosing-a-model.html" in documents
    run("retrieve", "set", "--system", "bm25", "-o", "bm25.trec")
    run("score", "set", "--run", "bm25=bm25.trec", "--per-query", "queries.jsonl")
    run("card", "set")
    assert (tmp_path / "set" / "card.json").is_file()


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
