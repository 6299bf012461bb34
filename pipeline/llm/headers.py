"""Reading a server's headers: when to come back, and how much of its limits is left."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

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
    given = headers.get("retry-after")
    seconds = _number(given)
    if seconds is not None or given is None:
        return seconds
    until = _date(given)
    if until is None:
        return duration_s(given)
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
