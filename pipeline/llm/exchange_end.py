"""How one HTTP exchange ends: with a reply, or with a fault that the layers react to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from goldbench.pipeline.errors import AnswerRejected, CallFailed, ModelUnavailable
from goldbench.pipeline.llm.headers import Allowance
from goldbench.pipeline.ports import Likelihood, Usage


class Cause(Enum):
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


class ExchangeFailed(Exception):
    """An exchange failed and another attempt may work. ``kind`` is a short stable word without content.

    ``after_s`` is how long a call that ran out of time was waited for, in seconds; ``usage`` what the server says that
    the attempt cost; ``refused`` whether it certainly did no work on it and bills nothing.
    """

    def __init__(
        self,
        cause: Cause,
        kind: str,
        *,
        retry_after_s: float | None = None,
        allowance: Allowance | None = None,
        after_s: float = 0.0,
        usage: Usage | None = None,
        refused: bool = False,
    ) -> None:
        self.cause, self.kind, self.retry_after_s, self.allowance = cause, kind, retry_after_s, allowance
        self.after_s, self.usage, self.refused = after_s, usage, refused
        super().__init__(kind)


class ParameterRefused(CallFailed):
    """The server refused the request as wrong (HTTP 400 or 422). ``error`` holds its words, which are never shown."""

    def __init__(self, status: int, error: Mapping[str, Any]) -> None:
        self.status, self.error = status, error
        super().__init__(f"http-{status}", f"the server refuses the call as wrong (HTTP {status})")


class PromptTooLong(CallFailed):
    """The server answers with this HTTP status that prompt and reply do not fit the model's context."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__("too-long", message)


class PathUnknown(ModelUnavailable):
    """The server does not know the model or the path (HTTP 404). ``error`` holds its words, which are never shown."""

    def __init__(self, message: str, error: Mapping[str, Any]) -> None:
        self.error = error
        super().__init__(message)


class NotThere(Exception):
    """The server does not know a file, a batch or a path."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The text of a reply as it came and what it cost; ``repr`` leaves the text out."""

    text: str = field(repr=False)
    model: str
    usage: Usage
    allowance: Allowance | None = field(default=None, repr=False)
    likelihood: Likelihood | None = None


class ReplyRejected(AnswerRejected):
    """A reply cannot be used; ``problems`` holds what to tell the model about a misfit."""

    def __init__(self, kind: str, message: str, *, reply: Reply, problems: tuple[str, ...] = ()) -> None:
        super().__init__(kind, message)
        self.reply, self.problems = reply, problems


def is_refusal(status: int) -> bool:
    """Whether a server that answers with this HTTP status certainly did no work on the call.

    Only a refusal is certain: a server may bill a call that it began before it failed (5xx) or gave up (408).
    """
    return 300 <= status < 500 and status != 408


def was_refused(error: Exception) -> bool:
    """Whether a call that ended with this error certainly costs nothing. A prompt that a filter reads may cost."""
    if isinstance(error, ExchangeFailed):
        return error.refused or error.cause is Cause.UNREACHABLE
    if isinstance(error, PromptTooLong):
        return is_refusal(error.status)
    refused = isinstance(error, CallFailed) and re.fullmatch(r"http-4\d\d", error.kind)
    return isinstance(error, ModelUnavailable) or bool(refused)
