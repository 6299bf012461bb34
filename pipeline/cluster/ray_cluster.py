"""The one door to Ray: a cluster, and objects that are placed on its nodes and called there.

The cluster is that of ``RAY_ADDRESS``; without it one is started on this machine, which listens on the loopback
interface alone, asks for a token, and ends with this process. Ray prints nothing, reports no usage and starts no
dashboard. What is placed on a node inherits no environment variable with a key from this process.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldbench.pipeline.cluster.installed_versions import installed_versions, versions_here
from goldbench.pipeline.errors import GoldbenchError, UsageError, require
from goldbench.pipeline.text.display import one_line

ADDRESS = "RAY_ADDRESS"
_STORE_BYTES = 200 * 2**20
"""Memory of the local cluster for what is under way between processes; more of it is kept on disk."""
_PATIENCE_S = 120.0
"""Seconds in addition to what a call may take, after which its node counts as gone."""
_PATIENCE_TO_CONNECT_S = 10.0
_LONGEST_FOLDER = 40
"""Characters of the path below which Ray makes sockets, whose paths may have at most 107."""
_TELLING_NOTHING: Mapping[str, Any] = {
    "log_to_driver": False,
    "configure_logging": False,
    "logging_level": logging.CRITICAL,
}
_CONFIGURATION = "ray_bootstrap_config.yaml"
"""Read in the home folder of a cluster; without it Ray asks the metadata servers of three clouds where it runs."""
_KEPT = ("PATH", "USER", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYTHONPATH")
"""The environment variables that the local cluster gets; none of them holds a key."""


class Lost(Exception):
    """An object is gone: its process, or the node that it was on, has ended."""


@dataclass(frozen=True, slots=True)
class Promise:
    """An answer that is on its way."""

    placed: Placed
    reference: Any

    def result(self, seconds: float | None = None) -> Any:  # noqa: ANN401  whatever the method returns
        """Wait for the answer and return it.

        Args:
            seconds: How long the call may take; None waits as long as the node is there.

        Raises:
            Lost: The object is gone.
            GoldbenchError: The method raised it, or the node has other versions of the packages.
        """
        self.placed.check()
        return _awaited(self.reference, seconds)


class Placed:
    """An object on a node.

    Args:
        actor: The actor that holds it.
        made: The answer that it is made.
    """

    def __init__(self, actor: Any, made: Any) -> None:  # noqa: ANN401  Ray's handles
        self._actor, self._made = actor, made
        self._checked = False

    def begin(self, method: str, *arguments: object) -> Promise:
        """Call a method of the object and return at once; calls are answered in their order.

        Args:
            method: Its name.
            arguments: Its arguments; they are copied to the node.
        """
        return Promise(self, self._actor.call.remote(method, *arguments))

    def call(self, method: str, *arguments: object, seconds: float | None = None) -> Any:  # noqa: ANN401
        """Call a method and wait for its answer; see `begin` and `Promise.result`."""
        return self.begin(method, *arguments).result(seconds)

    def check(self) -> None:
        """Wait until the object is there; raises as `Promise.result`."""
        if not self._checked:
            _awaited(self._made, None)
            self._checked = True

    def kill(self) -> None:
        """End the object and its process at once; calls that wait find that it is lost."""
        import ray

        with contextlib.suppress(Exception):  # the cluster is gone already
            ray.kill(self._actor)


def _awaited(reference: Any, seconds: float | None) -> Any:  # noqa: ANN401  Ray's handle, and any answer
    import ray
    from ray import exceptions

    try:
        return ray.get(reference, timeout=None if seconds is None else seconds + _PATIENCE_S)
    except exceptions.RayTaskError as error:
        if isinstance(error.cause, GoldbenchError):
            raise error.cause from None
        raise GoldbenchError(f"a node of the Ray cluster failed ({one_line(str(error.cause))[:200]})") from None
    except exceptions.RayError as error:
        raise Lost(one_line(str(error))[:200] or type(error).__name__) from None


class _Holder:
    """The actor: holds an object on a node."""

    def __init__(self) -> None:
        self._held: object = None

    def hold(self, maker: Callable[..., object], versions: Mapping[str, str], arguments: tuple[object, ...]) -> None:
        """Make the object.

        Args:
            maker: Makes it.
            versions: The versions of the packages that the machine of the command has.
            arguments: The arguments of the maker.

        Raises:
            GoldbenchError: This node has other versions.
        """
        own = versions_here(versions)
        if own != versions:
            name = next(name for name in versions if own[name] != versions[name])
            raise GoldbenchError(
                f"node {socket.gethostname()} of the Ray cluster has {name} {own[name]}, this machine "
                f"{versions[name]}: install the same versions on both"
            )
        self._held = maker(*arguments)

    def call(self, method: str, *arguments: object) -> Any:  # noqa: ANN401  whatever the method returns
        """Call a method of the object.

        Args:
            method: Its name.
            arguments: Its arguments.
        """
        return getattr(self._held, method)(*arguments)


class Cluster:
    """A cluster that this process is connected to.

    Args:
        processors: The processors of all its nodes, 1 or more.
    """

    def __init__(self, processors: int) -> None:
        self.processors = processors
        self._versions = installed_versions("goldbench", "ray")

    def place(self, maker: Callable[..., object], *arguments: object) -> Placed:
        """Make an object on one of the nodes, which take turns; its faults are found by its first call.

        Args:
            maker: Makes it; a function or class of a module.
            arguments: The arguments of the maker.
        """
        import ray

        kind = ray.remote(max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD")(_Holder)
        actor = kind.remote()
        return Placed(actor, actor.hold.remote(maker, self._versions, arguments))


@functools.cache
def cluster() -> Cluster:
    """Return the cluster of this process, connected to or started when it is first asked for.

    Raises:
        MissingExtra: Ray is not installed.
        UsageError: ``RAY_ADDRESS`` holds an address that cannot be used.
        GoldbenchError: The cluster cannot be reached or started.
    """
    require("ray", "ray")
    address = os.environ.get(ADDRESS)
    if address and address.startswith("ray://"):
        raise UsageError(f"{ADDRESS}: not a valid address: {address!r}; run goldbench on a node, with HOST:PORT")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    logging.getLogger("ray").setLevel(logging.CRITICAL)  # what is wrong is told in one line by this module
    try:
        _connect(address)
    except Exception as error:  # noqa: BLE001  Ray raises many kinds
        _disconnect()
        told = one_line(str(getattr(error, "strerror", None) or error))[:200] or type(error).__name__
        if address:
            problem = f"the Ray cluster at {address} cannot be reached ({told}); check {ADDRESS}"
        else:
            problem = f"Ray cannot be started ({told})"
        raise GoldbenchError(f"{problem}, or use --engine local") from None
    except BaseException:
        _disconnect()
        raise
    import ray

    return Cluster(max(1, int(ray.cluster_resources().get("CPU", 1))))


def _connect(address: str | None) -> None:
    if "ray" in sys.modules and sys.modules["ray"].is_initialized():  # the caller's own
        return
    with _handlers_kept():
        if address:
            _check_reachable(address)
            import ray

            atexit.register(_disconnect)
            ray.init(address=address, **_TELLING_NOTHING)
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
        import ray  # reads how it proves who it is when it is imported

        atexit.register(_disconnect)  # before the folder goes
        ray.init(
            address="local",
            include_dashboard=False,
            object_store_memory=_STORE_BYTES,
            _temp_dir=str(folder),
            **_TELLING_NOTHING,
        )


def _disconnect() -> None:
    import ray

    with contextlib.suppress(Exception):
        ray.shutdown()


def _new_folder() -> Path:
    """Return a new folder whose path is short enough for the sockets in it."""
    usual = Path(tempfile.gettempdir())
    place = usual if len(str(usual)) <= _LONGEST_FOLDER else Path("/tmp")  # noqa: S108  a private folder is made in it
    return Path(tempfile.mkdtemp(prefix="goldbench-", dir=place))


@contextlib.contextmanager
def _handlers_kept() -> Iterator[None]:
    """Put back the handlers of signals that Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
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
    kept = {name: value for name, value in before.items() if name in _KEPT}
    os.environ.clear()
    os.environ.update(kept | own)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
