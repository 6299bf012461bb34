"""The connection to a Ray cluster: one that runs, or one that is started on this machine and ends with this process.

The cluster that is started listens on the loopback interface alone and asks for a token. Ray prints nothing, reports no
usage and starts no dashboard. What runs on a node inherits no environment variable with a key from this process.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import logging
import os
import secrets
import shutil
import signal
import site
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from goldbench.errors import GoldbenchError, Message, UsageError
from goldbench.text.display import one_line

_ADDRESS = "RAY_ADDRESS"
_STORE_BYTES = 200 * 2**20
"""Memory of the local cluster for what is under way between processes; more of it is kept on disk."""
_PATIENCE_TO_CONNECT_S = 10.0
_LONGEST_FOLDER = 40
"""Characters of the path below which Ray makes sockets, whose paths may have at most 107."""
_NO_OUTPUT: Mapping[str, Any] = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.CRITICAL}
_CONFIGURATION = "ray_bootstrap_config.yaml"
"""Read in the home folder of a cluster; without it Ray asks the metadata servers of three clouds where it runs."""
_KEPT = ("PATH", "USER", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYTHONPATH")
"""The environment variables that the local cluster gets; none of them holds a key."""


def is_connected() -> bool:
    """Return whether this process is connected to a cluster."""
    return "ray" in sys.modules and sys.modules["ray"].is_initialized()


def connection() -> tuple[str, str]:
    """Return what tells connections apart: the node of this process, and the number that the cluster gave it."""
    import ray

    context = ray.get_runtime_context()
    return context.get_node_id(), context.get_job_id()


def connect() -> tuple[int, tuple[str, str]]:
    """Connect to the cluster of ``RAY_ADDRESS``, or start one; return its processors, 1 or more, and `connection`.

    If this process is connected to a cluster already, it stays so.

    Raises:
        UsageError: ``RAY_ADDRESS`` holds an address that cannot be used.
        GoldbenchError: The cluster cannot be reached or started.
    """
    address = _address()
    is_callers = is_connected()
    try:
        if not is_callers:
            _connect(address)
        import ray

        return max(1, int(ray.cluster_resources().get("CPU", 1))), connection()
    except BaseException as error:
        if not is_callers:
            _disconnect()
        if not isinstance(error, Exception):
            raise
        reason = one_line(str(getattr(error, "strerror", None) or error))[:200] or type(error).__name__
        if address:
            problem = f"the Ray cluster at {address} cannot be reached ({reason}); check {_ADDRESS}"
        else:
            problem = f"Ray cannot be started ({reason})"
        raise GoldbenchError(Message("{}, or use {engine='local'}", problem)) from None


def _address() -> str | None:
    """Return the address of a cluster that runs, None to start one on this machine.

    Raises:
        UsageError: It is an address of Ray's client.
    """
    address = os.environ.get(_ADDRESS, "")
    if address.startswith("ray://"):
        raise UsageError(f"{_ADDRESS}: not a valid address: {address!r}; run goldbench on a node, with HOST:PORT")
    return None if address in {"", "local"} else address


def _connect(address: str | None) -> None:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    logging.getLogger("ray").setLevel(logging.CRITICAL)  # what is wrong is told in one line by this module
    with _handlers_kept():
        if address:
            _check_reachable(address)
            import ray

            _read_authentication()
            atexit.register(_disconnect)
            ray.init(address=address, **_NO_OUTPUT)
        else:
            _start()


def _check_reachable(address: str) -> None:
    """Connect to a node and leave it again: Ray itself tries for minutes.

    Raises:
        OSError: Nothing listens at the address.
    """
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE_TO_CONNECT_S).close()


def _start() -> None:
    """Start a cluster on this machine."""
    folder = _new_folder()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with _environment_of_cluster(folder):
        import ray  # reads RAY_AUTH_* at import

        _read_authentication()
        atexit.register(_disconnect)  # before the folder goes
        ray.init(
            address="local",
            include_dashboard=False,
            object_store_memory=_STORE_BYTES,
            _temp_dir=str(folder),
            **_NO_OUTPUT,
        )


def _read_authentication() -> None:
    """Make Ray read RAY_AUTH_* if it was imported before, and forget the token of an earlier cluster."""
    with contextlib.suppress(ImportError, AttributeError):  # no public function does this
        internals: Any = importlib.import_module("ray._raylet")
        internals.Config.initialize("")
        internals.AuthenticationTokenLoader.instance().reset_cache()


def _disconnect() -> None:
    with contextlib.suppress(Exception):
        import ray

        ray.shutdown()


def _new_folder() -> Path:
    """Return a new folder whose path is short enough for the sockets in it."""
    usual = Path(tempfile.gettempdir())
    parent = usual if len(str(usual)) <= _LONGEST_FOLDER else Path("/tmp")  # noqa: S108  a private folder is made in it
    return Path(tempfile.mkdtemp(prefix="goldbench-", dir=parent))


@contextlib.contextmanager
def _handlers_kept() -> Iterator[None]:
    """Put back the handlers of signals that Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            if handler is not None:  # None stands for a handler that was not set in Python
                signal.signal(number, handler)


@contextlib.contextmanager
def _environment_of_cluster(folder: Path) -> Iterator[None]:
    """Leave only harmless variables in the environment, which the processes of the cluster inherit, while they start.

    Args:
        folder: The folder of the cluster, which gets its token and its configuration.
    """
    (folder / _CONFIGURATION).write_text("{}", "ascii")
    token = folder / "token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32), "ascii")
    before = dict(os.environ)
    own = {
        "HOME": str(folder),
        "PYTHONUSERBASE": site.getuserbase(),
        "TMPDIR": str(folder),
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # the loopback interface on every system
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    variables = {name: value for name, value in before.items() if name in _KEPT}
    os.environ.clear()
    os.environ.update(variables | own)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
