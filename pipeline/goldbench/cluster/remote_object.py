"""An object on a node of a cluster: it is made there, called from here, and found lost if its node is gone."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from goldbench.cluster.installed_versions import versions_here
from goldbench.errors import GoldbenchError, Message
from goldbench.text.display import one_line

MOST_LOSSES = 5
"""Stop after this many losses in a row without an answer between them."""
_PATIENCE_S = 120.0
"""Treat a node as lost this many seconds after the limit of its call."""
_PATIENCE_TO_PLACE_S = 120.0
"""Stop if no node has made an object within this many seconds."""


class Lost(Exception):
    """An object is gone: its process, or the node that it was on, has ended; it is made again on another one."""


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
        self._actor = actor
        self._made = made
        self._checked = False

    def begin(self, method: str, *arguments: object) -> Promise:
        """Call a method of the object and return at once; calls are answered in their order.

        Args:
            method: Its name.
            arguments: Its arguments; they are copied to the node.

        Raises:
            Lost: The object is gone.
        """
        with explained():
            return Promise(self, self._actor.call.remote(method, *arguments))

    def call(self, method: str, *arguments: object, seconds: float | None = None) -> Any:  # noqa: ANN401
        """Call a method and wait for its answer; see `begin` and `Promise.result`."""
        return self.begin(method, *arguments).result(seconds)

    def check(self) -> None:
        """Wait until the object is there; raises as `Promise.result`."""
        if not self._checked:
            with explained():
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


class Holder:
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


def _awaited(reference: Any, seconds: float | None) -> Any:  # noqa: ANN401  Ray's handle, and any answer
    with explained():
        import ray

        return ray.get(reference, timeout=None if seconds is None else seconds + _PATIENCE_S)


@contextlib.contextmanager
def explained() -> Iterator[None]:
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
        reason = one_line(str(error.cause))[:200]
        remedy = Message("the log of Ray on that node says more, or use {engine='local'}")
        raise GoldbenchError(Message("a node of the Ray cluster failed ({}); {}", reason, remedy)) from None
    except exceptions.RayError as error:
        raise Lost(one_line(str(error))[:200] or type(error).__name__) from None
