"""Post alerts to a web hook; a post is tried several times, and its failure does not end the command.

The URL is a secret, because anybody who has it may post, so messages show only its host.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx2
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential, wait_random

from goldbench.pipeline.errors import UsageError

ATTEMPTS = 4
_SECONDS = 10.0
_LONGEST_WAIT = 20.0
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})


class _Failed(Exception):
    """One attempt failed. ``again`` says whether another may succeed, ``wait`` what the server asks for, in seconds."""

    def __init__(self, reason: str, *, again: bool = True, wait: float | None = None) -> None:
        self.reason, self.again, self.wait = reason, again, wait
        super().__init__(reason)


def check_address(url: str) -> None:
    """Refuse a URL that cannot be posted to, before the run is scored.

    Raises:
        UsageError: The URL is not http or https, or has no host.
    """
    try:
        address = httpx2.URL(url)
        known = address.scheme in {"http", "https"} and bool(address.host.encode("idna"))
        known = known and (address.port or 0) < 2**16
    except (httpx2.InvalidURL, ValueError):
        known = False
    if not known:
        raise UsageError("not a valid URL; it should begin with https://", parameter="webhook")


def tell(url: str, message: Mapping[str, Any], *, first_wait: float = 1.0, patience: float = _SECONDS) -> str | None:
    """Post the message as JSON and return None, or the reason in a few words if it was not delivered.

    Args:
        url: URL to post to; redirects are not followed.
        message: The message; chat services show its ``text``.
        first_wait: Seconds before the second attempt; each further wait doubles, up to 20 seconds.
        patience: Seconds that one attempt may take in all, even if the server keeps sending.
    """
    growing = wait_exponential(multiplier=first_wait, max=_LONGEST_WAIT) + wait_random(0, first_wait)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.wait if isinstance(error, _Failed) else None
        return growing(state) if asked is None else min(asked, _LONGEST_WAIT)

    attempts = Retrying(
        stop=stop_after_attempt(ATTEMPTS), wait=wait, retry=retry_if_exception(_worth_another), reraise=True
    )
    try:
        attempts(lambda: asyncio.run(_post(url, message, patience)))
    except _Failed as error:
        return error.reason
    return None


def _worth_another(error: BaseException) -> bool:
    return isinstance(error, _Failed) and error.again


async def _post(url: str, message: Mapping[str, Any], patience: float) -> None:
    """Post once; the body of the reply is not read."""
    host = httpx2.URL(url).host
    try:
        async with asyncio.timeout(patience):  # the client's own timeouts are for each read
            async with (
                httpx2.AsyncClient(timeout=patience, follow_redirects=False) as client,
                client.stream("POST", url, json=message) as response,
            ):
                status, wait = response.status_code, response.headers.get("retry-after", "")
    except (TimeoutError, httpx2.TimeoutException):
        raise _Failed(f"{host} did not answer in {patience:.0f} s") from None
    except (httpx2.HTTPError, UnicodeError):
        raise _Failed(f"{host} cannot be reached") from None
    if 200 <= status < 300:
        return
    raise _Failed(f"{host} answered {status}", wait=float(wait) if wait.isdecimal() else None, again=status in _AGAIN)
