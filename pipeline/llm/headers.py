"""What a server's headers say about when to come back and how much is left."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from pipeline.llm.faults import Allowance

_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_DURATION = re.compile(rf"(?:{_DURATION_PART.pattern})+")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def retry_after_s(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Return how many seconds the server asks to wait, None where it does not say.

    ``retry-after-ms`` goes before ``retry-after``, which is a number of seconds or an HTTP date; a date is counted
    from the response's own ``date`` where there is one, so that a wrong clock here does no harm.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("retry-after")
    seconds = _number(said)
    if seconds is not None or said is None:
        return seconds
    until = _date(said)
    if until is None:
        return duration_s(said)
    start = _date(headers.get("date", "")) or now or datetime.now(UTC)
    return max(0.0, (until - start).total_seconds())


def duration_s(text: str) -> float | None:
    """Return the seconds of a duration such as ``6m0s``, ``120ms`` or ``1.5``, None where it is none."""
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
