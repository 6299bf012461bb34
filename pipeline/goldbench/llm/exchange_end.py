"""How one HTTP exchange ends: with a reply, or with a fault; and what a server's headers say of its limits."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Any

from goldbench.errors import AnswerRejected, CallFailed, ModelUnavailable
from goldbench.ports import Likelihood, Usage

_DURATION_PART = re.compile(r"(?<![\d.])(\d++(?:\.\d++)?)(ms|s|m|h|d)")
_DURATION = re.compile(rf"(?:{_DURATION_PART.pattern})+")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of a server's limits: a number, and the seconds until it is full again. None where not given."""

    requests: int | None = None
    requests_reset_s: float | None = None
    tokens: int | None = None
    tokens_reset_s: float | None = None


def retry_after_s(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Return how many seconds the server asks to wait, None where it does not say.

    ``retry-after-ms`` overrides ``retry-after``, which is a number of seconds or an HTTP date. A date is counted from
    the response's own ``date`` header where there is one, so that a wrong clock here does no harm.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    until = _date(value)
    if until is None:
        return duration_s(value)
    start = _date(headers.get("date", "")) or now or datetime.now(UTC)
    return max(0.0, (until - start).total_seconds())


def duration_s(text: str) -> float | None:
    """Return the seconds of a duration such as ``6m0s``, ``120ms`` or ``1.5``, None for any other text."""
    text = text.strip()
    seconds = _number(text)
    if seconds is not None or not _DURATION.fullmatch(text):
        return seconds
    return sum(float(amount) * _SECONDS[unit] for amount, unit in _DURATION_PART.findall(text))


def allowance(headers: Mapping[str, str]) -> Allowance | None:
    """Return what the ``x-ratelimit-*`` headers say is left, None where there are none."""
    requests = _number(headers.get("x-ratelimit-remaining-requests"))
    tokens = _number(headers.get("x-ratelimit-remaining-tokens"))
    if requests is None and tokens is None:
        return None
    return Allowance(
        requests=None if requests is None else int(requests),
        requests_reset_s=duration_s(headers.get("x-ratelimit-reset-requests", "")),
        tokens=None if tokens is None else int(tokens),
        tokens_reset_s=duration_s(headers.get("x-ratelimit-reset-tokens", "")),
    )


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


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


@dataclass(eq=False)
class ExchangeFailed(Exception):
    """An exchange failed and another attempt may work. ``kind`` is a short stable word without content.

    ``after_s`` is how long a call that ran out of time was waited for, in seconds; ``usage`` what the server says that
    the attempt cost; ``refused`` whether it certainly did no work on it and bills nothing.
    """

    cause: Cause
    kind: str
    _: KW_ONLY
    retry_after_s: float | None = None
    allowance: Allowance | None = None
    after_s: float = 0.0
    usage: Usage | None = None
    refused: bool = False


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
