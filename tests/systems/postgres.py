"""A PostgreSQL of one's own, in a temporary folder, at a loopback port; ended with the test."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

USERS = ("postgres", "nobody")


@contextlib.contextmanager
def postgres(programs: Path) -> Iterator[str]:
    """Give the address of an empty database of the PostgreSQL with these programs."""
    user = _user()
    data = Path(tempfile.mkdtemp(prefix="goldbench-postgres-"))  # pytest closes its own folders to other users
    if user:
        shutil.chown(data, user)
    _run(user, programs / "initdb", "-D", data, "-U", "goldbench", "-A", "trust", "-E", "UTF8", "--locale=C")
    port = _started(user, programs, data)
    try:
        yield f"postgresql://goldbench@127.0.0.1:{port}/postgres"
    finally:
        _run(user, programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(data, ignore_errors=True)


def _started(user: str | None, programs: Path, data: Path, tries: int = 3) -> int:
    """Start a database at a free port, and at another one if somebody takes that meanwhile."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = f"-h 127.0.0.1 -p {port} -k {data} -c max_connections=80 -c shared_buffers=32MB -c fsync=off"
    try:
        _run(user, programs / "pg_ctl", "-D", data, "-w", "-l", data / "log", "-o", options, "start")
    except subprocess.CalledProcessError:
        if tries == 1:
            raise
        return _started(user, programs, data, tries - 1)
    return port


def _user() -> str | None:
    """Return whom it runs as: PostgreSQL refuses root."""
    import pwd

    if os.geteuid() != 0:
        return None
    known = {account.pw_name for account in pwd.getpwall()}
    return next(name for name in USERS if name in known)


def _run(user: str | None, *command: object) -> None:
    subprocess.run(
        [str(part) for part in command], user=user, check=True, stdout=subprocess.DEVNULL, cwd="/", timeout=200
    )
