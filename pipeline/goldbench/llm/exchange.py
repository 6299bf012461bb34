"""How one HTTP exchange ends: with a reply, or with an error that says what the next step is and what it cost."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import Enum
from typing import Any

from goldbench.errors import AnswerRejected, CallFailed, ModelUnavailable
from goldbench.ports import Likelihood, Usage


class ExchangeFault(Enum):
    """Why an exchange gave no answer, as far as the gate and the retries care."""

    UNREACHABLE = "unreachable"
    """No connection was made: nothing was sent."""
    BROKEN = "broken"
    """The connection broke, or the server failed while it answered."""
    OVERLOADED = "overloaded"
    """The server wants fewer calls, or was too slow."""
    REFUSED = "refused"
    """The server understood the call and refused it."""
    LEARNED = "learned"
    """The server does not take a parameter; the next attempt goes without it."""


@dataclass(eq=False)
class ExchangeFailed(Exception):
    """An exchange failed and another attempt may work. ``kind`` is a short stable word without content.

    ``is_free`` says that the server certainly bills nothing; ``usage`` is what it says that the attempt cost;
    ``after_s`` how long a call that ran out of time was waited for, in seconds.
    """

    cause: ExchangeFault
    kind: str
    _: KW_ONLY
    retry_after_s: float | None = None
    after_s: float = 0.0
    usage: Usage | None = None
    is_free: bool = False


class ParameterRefused(CallFailed):
    """The server refused the request as wrong (HTTP 400 or 422). ``error`` holds its words, which are never shown."""

    def __init__(self, status: int, error: Mapping[str, Any]) -> None:
        self.error = error
        super().__init__(f"http-{status}", f"the server refuses the call as wrong (HTTP {status})")


class PathUnknown(ModelUnavailable):
    """The server does not know the model or the path (HTTP 404). ``error`` holds its words, which are never shown."""

    def __init__(self, message: str, error: Mapping[str, Any]) -> None:
        self.error = error
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Reply:
    """The text of a reply as it came and what it cost; ``repr`` leaves the text out."""

    text: str = field(repr=False)
    model: str
    usage: Usage
    likelihood: Likelihood | None = None


class ReplyRejected(AnswerRejected):
    """A reply cannot be used; ``problems`` holds what to tell the model about a misfit."""

    def __init__(self, kind: str, message: str, *, reply: Reply, problems: tuple[str, ...] = ()) -> None:
        super().__init__(kind, message)
        self.reply = reply
        self.problems = problems


def is_refusal(status: int) -> bool:
    """Whether a server that answers with this HTTP status certainly did no work on the call.

    Only a refusal is certain: a server may bill a call that it began before it failed (5xx) or gave up (408).
    """
    return 300 <= status < 500 and status != 408


def costs_nothing(error: Exception) -> bool:
    """Whether a call that ended with this error certainly costs nothing. A prompt that a filter reads may cost."""
    if isinstance(error, ExchangeFailed):
        return error.is_free
    if isinstance(error, CallFailed):
        return error.kind == "too-long" or error.kind.startswith("http-4")
    return isinstance(error, ModelUnavailable)


_LONGEST_TOLD_S = 1_000_000.0
"""The longest wait that is told, some twelve days."""


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds the server asks to wait, None where it does not say; a date is not read."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with contextlib.suppress(ValueError):
            seconds = float(headers.get(name, "")) * unit_s
            if seconds >= 0:
                return min(seconds, _LONGEST_TOLD_S)
    return None
