"""The layers between a question and its HTTP exchange.

Each layer has one method, ``complete(request, below)``, and knows nothing of the others. ``stacked`` puts layers above
an exchange; ``goldbench.pipeline.llm.model_path`` shows the stacks, top layer first.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")

Call: TypeAlias = Callable[[Q], Coroutine[Any, Any, A]]
"""Takes a request and returns its answer: an exchange, or an exchange with layers above it."""


class Request(Protocol):
    """A request as far as every layer knows it."""

    @property
    def stage(self) -> str:
        """The account that the call is booked to."""

    @property
    def texts(self) -> Sequence[str]:
        """The texts that identify the call."""


class Layer(Protocol):
    """The method that every layer of this package has."""

    async def complete(self, request: Any, below: Call[Any, Any]) -> Any:  # noqa: ANN401  each layer names its types
        """Answer a request, usually by calling ``below`` with it; raises as the layers below do."""


def stacked(layers: Sequence[Layer], exchange: Call[Any, Any]) -> Call[Any, Any]:
    """Return one call that passes a request through the layers, the first one first, to the exchange."""
    call = exchange
    for layer in reversed(layers):
        call = functools.partial(layer.complete, below=call)
    return call


def call_label(request: Request) -> str:
    """Return a name that tells calls apart and holds none of their content: the stage and a hash of the texts."""
    digest = hashlib.blake2b(digest_size=4)
    for text in request.texts:
        digest.update(text.encode("utf-8", "replace"))
    return f"{request.stage} {digest.hexdigest()}"


async def every(calls: Iterable[Coroutine[Any, Any, A]]) -> list[A]:
    """Return the results in order once every call has ended; raises the first error only then."""
    done = await asyncio.gather(*calls, return_exceptions=True)
    results = [outcome for outcome in done if not isinstance(outcome, BaseException)]
    for outcome in done:
        if isinstance(outcome, BaseException):
            raise outcome
    return results
