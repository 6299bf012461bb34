"""The one door to Ray: a cluster, and objects that are placed on its nodes and called there.

The cluster is that of ``RAY_ADDRESS``; without it one is started on this machine, which listens on the loopback
interface alone, asks for a token, and ends with this process. Ray prints nothing, reports no usage and starts no
dashboard. What is placed on a node inherits no environment variable with a key from this process.
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
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldbench.pipeline.cluster.installed_versions import deciding_versions, versions_here
from goldbench.pipeline.cluster.losses import Lost
from goldbench.pipeline.errors import GoldbenchError, UsageError, require
from goldbench.pipeline.text.display import one_line

ADDRESS = "RAY_ADDRESS"
_STORE_BYTES = 200 * 2**20
"""Memory of the local cluster for what is under way between processes; more of it is kept on disk."""
_PATIENCE_S = 120.0
"""Treat a node as lost this many seconds after the limit of its call."""
_PATIENCE_TO_PLACE_S = 120.0
"""Stop if no node has made an object within this many seconds."""
_PATIENCE_TO_CONNECT_S = 10.0
_LONGEST_FOLDER = 40
"""Characters of the path below which Ray makes sockets, whose paths may have at most 107."""
_NO_OUTPUT: Mapping[str, Any] = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.CRITICAL}
_CONFIGURATION = "ray_bootstrap_config.yaml"
"""Read in the home folder of a cluster; without it Ray asks the metadata servers of three clouds where it runs."""
_KEPT = ("PATH", "USER", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYTHONPATH")
"""The environment variables that the local cluster gets; none of them holds a key."""


@dataclass(frozen=True, slots=True)
class Promise:
    """An answer that is on its way."""

    remote: RemoteObject
    reference: Any

    def result(self, seconds: float | None = None) -> Any:  # noqa: ANN401  whatever the method returns
        """Wait for the answer and return it.

        Args:
            seconds: How long the call may take; None waits as long as the node is there.

        Raises:
            Lost: The object is gone.
            GoldbenchError: The method raised it, no node took the object, or the node has other versions of the
                packages.
        """
        self.remote.check()
        return _awaited(self.reference, seconds)


class RemoteObject:
    """An object on a node.

    Args:
        actor: The actor that holds it.
        made: Reference to the answer of `hold`.
    """

    def __init__(self, actor: Any, made: Any) -> None:  # noqa: ANN401  Ray's handles
        self._actor, self._made = actor, made
        self._checked = False

    def begin(self, method: str, *arguments: object) -> Promise:
        """Call a method of the object and return at once; calls are answered in their order.

        Args:
            method: Its name.
            arguments: Its arguments; they are copied to the node.

        Raises:
            Lost: The object is gone.
        """
        with _explained():
            return Promise(self, self._actor.call.remote(method, *arguments))

    def call(self, method: str, *arguments: object, seconds: float | None = None) -> Any:  # noqa: ANN401
        """Call a method and wait for its answer; see `begin` and `Promise.result`."""
        return self.begin(method, *arguments).result(seconds)

    def check(self) -> None:
        """Wait until the object is there; raises as `Promise.result`."""
        if not self._checked:
            with _explained():
                import ray

                if not ray.wait([self._made], timeout=_PATIENCE_TO_PLACE_S)[0]:
                    raise GoldbenchError(
                        f"no node of the Ray cluster took a worker within {_PATIENCE_TO_PLACE_S:.0f} s; "
                        "check `ray status`"
                    )
            _awaited(self._made, 0)
            self._checked = True

    def kill(self) -> None:
        """End the object and its process at once; calls that wait find that it is lost."""
        import ray

        if ray.is_initialized():  # if not, Ray would start or join a cluster to find the object
            with contextlib.suppress(Exception):  # the object is gone already
                ray.kill(self._actor)


def _awaited(reference: Any, seconds: float | None) -> Any:  # noqa: ANN401  Ray's handle, and any answer
    with _explained():
        import ray

        return ray.get(reference, timeout=None if seconds is None else seconds + _PATIENCE_S)


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Turn the errors of Ray into errors of goldbench.

    Raises:
        Lost: The object is gone, or this process has left the cluster.
        GoldbenchError: A method failed on its node.
    """
    import ray
    from ray import exceptions

    if not ray.is_initialized():  # otherwise Ray would start or join a cluster of its own choice
        raise Lost("Ray was shut down")
    try:
        yield
    except exceptions.RayTaskError as error:
        if isinstance(error.cause, GoldbenchError):
            raise error.cause from None
        raise GoldbenchError(
            f"a node of the Ray cluster failed ({one_line(str(error.cause))[:200]}); "
            "the log of Ray on that node says more, or use --engine local"
        ) from None
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
        connection: The connection to it; see `_connection`.
    """

    def __init__(self, processors: int, connection: tuple[str, str]) -> None:
        self.processors, self.connection = processors, connection
        self._versions = deciding_versions()
        self._placed: Counter[str] = Counter()

    def place(self, maker: Callable[..., object], *arguments: object) -> RemoteObject:
        """Make an object on one of the nodes, which get objects in proportion to their processors.

        An error in making it is raised by its first call. No processor is reserved: an object never waits for one.

        Args:
            maker: Makes it; a function or class of a module.
            arguments: The arguments of the maker.

        Raises:
            Lost: This process has left the cluster.
        """
        with _explained():
            import ray
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            node = self._next_node(ray.nodes())
            on_node = NodeAffinitySchedulingStrategy(node, soft=True)  # on another one if it is gone
            actor = ray.remote(num_cpus=0, scheduling_strategy=on_node)(_Holder).remote()
            return RemoteObject(actor, actor.hold.remote(maker, self._versions, arguments))

    def _next_node(self, nodes: Sequence[Mapping[str, Any]]) -> str:
        processors = {node["NodeID"]: node["Resources"].get("CPU", 0.0) for node in nodes if node["Alive"]}
        if any(processors.values()):
            processors = {name: count for name, count in processors.items() if count}
        chosen: str = min(processors, key=lambda name: (self._placed[name] + 1) / (processors[name] or 1.0))
        self._placed[chosen] += 1
        return chosen


_cluster: Cluster | None = None
_connecting = threading.Lock()


def check_available() -> None:
    """Refuse ``--engine ray`` where it cannot be used.

    Raises:
        UsageError: This is Windows.
        MissingExtra: Ray is not installed.
    """
    if sys.platform == "win32":
        raise UsageError("--engine ray: not available on Windows; use --engine local")
    require("ray", "ray")


def cluster() -> Cluster:
    """Return the cluster of this process, which is connected to or started if there is none.

    Raises:
        MissingExtra: Ray is not installed.
        UsageError: ``RAY_ADDRESS`` holds an address that cannot be used, or this is Windows.
        GoldbenchError: The cluster cannot be reached or started.
    """
    global _cluster  # noqa: PLW0603  Ray knows one cluster per process
    check_available()
    with _connecting:
        if _cluster is None or not _is_connected() or _cluster.connection != _connection():
            _cluster = _connected()
        return _cluster


def _is_connected() -> bool:
    return "ray" in sys.modules and sys.modules["ray"].is_initialized()


def _connection() -> tuple[str, str]:
    """Return what tells connections apart: the node of this process, and the number that the cluster gave it."""
    import ray

    context = ray.get_runtime_context()
    return context.get_node_id(), context.get_job_id()


def _connected() -> Cluster:
    """Return the cluster that the caller connected to; connect to one, or start one, if there is none."""
    address, is_callers = _address(), _is_connected()
    try:
        if not is_callers:
            _connect(address)
        import ray

        return Cluster(max(1, int(ray.cluster_resources().get("CPU", 1))), _connection())
    except Exception as error:  # noqa: BLE001  Ray raises many kinds
        if not is_callers:
            _disconnect()
        told = one_line(str(getattr(error, "strerror", None) or error))[:200] or type(error).__name__
        if address:
            problem = f"the Ray cluster at {address} cannot be reached ({told}); check {ADDRESS}"
        else:
            problem = f"Ray cannot be started ({told})"
        raise GoldbenchError(f"{problem}, or use --engine local") from None
    except BaseException:
        if not is_callers:
            _disconnect()
        raise


def _address() -> str | None:
    """Return the address of a cluster that runs, None to start one on this machine.

    Raises:
        UsageError: It is an address of Ray's client.
    """
    address = os.environ.get(ADDRESS, "")
    if address.startswith("ray://"):
        raise UsageError(f"{ADDRESS}: not a valid address: {address!r}; run goldbench on a node, with HOST:PORT")
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
    kept = {name: value for name, value in before.items() if name in _KEPT}
    os.environ.clear()
    os.environ.update(kept | own)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
