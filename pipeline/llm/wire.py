"""One HTTP exchange through the ``openai`` client: body in, reply out, every failure put into our own words."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit

import aiohttp
import httpx2
import openai
from openai import RequestOptions

from pipeline.errors import CallFailed, GoldsetError, ModelUnavailable, UsageError
from pipeline.llm.bounded import TooLong, bound
from pipeline.llm.faults import Cause, ExchangeFailed
from pipeline.llm.headers import allowance, retry_after_s
from pipeline.llm.proxies import uses_proxies
from pipeline.llm.server_settings import ModelSettings

R = TypeVar("R")

_CONNECT_S = 10.0
RETRIED = frozenset({408, 409, 425, 429})
_OVERLOAD = frozenset({429, 503, 529})
_QUOTA = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"})


class ParameterRefused(Exception):
    """The server turned the request down as wrong; ``error`` is what it said, never shown."""

    def __init__(self, status: int, error: dict[str, Any], request_id: str | None) -> None:
        self.status, self.error, self.request_id = status, error, request_id
        super().__init__(f"http-{status}")


class NotThere(Exception):
    """The server knows no such file or batch, or no such path."""


class Wire:
    """A client of one server: one event loop, one pool of connections."""

    def __init__(self, client: openai.AsyncOpenAI, settings: ModelSettings) -> None:
        self._client, self._settings = client, settings
        # Said outright, because the client would otherwise look for a key in the environment.
        key = settings.api_key
        self._options: RequestOptions = {"headers": {"Authorization": f"Bearer {key}" if key else openai.Omit()}}

    async def post(self, path: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, str]]:
        """Return the JSON of the response and its headers.

        Raises:
            ExchangeFailed: another attempt may work.
            ParameterRefused: 400 or 422.
            CallFailed: another 4xx: this call cannot work.
            ModelUnavailable: no call can work: wrong key, wrong model, no money.
        """
        response = await self._exchange(
            self._client.post(path, body=body, options=self._options, cast_to=httpx2.Response)
        )
        return self._json(response), response.headers

    async def get(self, path: str) -> dict[str, Any]:
        """Return the JSON of a resource; raises as ``post``, and ``NotThere``."""
        return self._json(await self._fetch(path))

    async def read(self, path: str) -> bytes:
        """Return the bytes of a resource; raises as ``post``, and ``NotThere``."""
        return (await self._fetch(path)).content

    async def upload(self, name: str, content: bytes) -> dict[str, Any]:
        """Send a file of batch lines and return what the server says of it; raises as ``post``, and ``NotThere``."""
        file = (name, content, "application/jsonl")
        sending = self._client.files.with_raw_response.create(
            file=file, purpose="batch", extra_headers=self._options["headers"]
        )
        response = await self._exchange(sending, missing=True)
        return self._json(response.http_response)

    async def _fetch(self, path: str) -> httpx2.Response:
        getting = self._client.get(path, options=self._options, cast_to=httpx2.Response)
        return await self._exchange(getting, missing=True)

    async def _exchange(self, call: Awaitable[R], *, missing: bool = False) -> R:
        failure: Exception
        try:
            return await call
        except openai.NotFoundError as error:
            failure = NotThere() if missing else self._from_status(error)
        except openai.APIStatusError as error:
            failure = self._from_status(error)
        except (openai.APIConnectionError, aiohttp.ClientError, httpx2.HTTPError, OSError) as error:
            failure = _from_connection(error)
        except (openai.OpenAIError, ValueError, TypeError) as error:
            failure = CallFailed("client", f"{self._where()}: the call cannot be made ({type(error).__name__})")
        raise failure  # outside the except blocks: the client's own errors carry bodies and must not be chained

    def _json(self, response: httpx2.Response) -> dict[str, Any]:
        found = _parsed(response.content)
        if found is None:
            raise ExchangeFailed(Cause.BROKEN, "not-json")
        return found

    def _from_status(self, error: openai.APIStatusError) -> Exception:
        status, headers = error.status_code, error.response.headers
        said = error.body if isinstance(error.body, dict) else {}
        code, message = str(said.get("code") or said.get("type") or ""), str(said.get("message") or "").lower()
        hopeless = self._hopeless(status, code, message, headers.get("location", ""))
        if hopeless is not None:
            return hopeless
        if status in {400, 422}:
            return ParameterRefused(status, said, error.request_id)
        if status >= 500 or status in RETRIED:
            cause = Cause.OVERLOADED if status in _OVERLOAD else Cause.BROKEN if status >= 500 else Cause.REFUSED
            kind = "rate-limit" if status == 429 else f"http-{status}"
            wait_s = retry_after_s(headers)
            left = allowance(headers)
            return ExchangeFailed(cause, kind, retry_after_s=wait_s, request_id=error.request_id, allowance=left)
        kind = "content-filter" if status == 403 else f"http-{status}"
        return CallFailed(kind, f"{self._where()} refuses the call: HTTP {status}", request_id=error.request_id)

    def _hopeless(self, status: int, code: str, message: str, location: str) -> ModelUnavailable | None:
        """Return what to raise when no other call will fare better, None where one may."""
        if 300 <= status < 400:
            what = f"redirects {redirected_to(self._settings.base_url, location)} (HTTP {status}): set base_url to "
            return ModelUnavailable(f"{self._where()} {what}where the API is, then run again")
        if code in _QUOTA or status == 402 or (status == 429 and "exceeded your current quota" in message):
            return ModelUnavailable(f"{self._where()} says the account has no credit left: top it up, then run again")
        if status in {401, 403} and not ("moderation" in message or "flagged" in message):
            what = f"refuses the key (HTTP {status}): set the right one, then run again"
            return ModelUnavailable(f"{self._where()} {what}")
        if status == 404:
            what = f"does not know model {self._settings.name!r} or the path (HTTP 404)"
            return ModelUnavailable(f"{self._where()} {what}")
        return None

    def _where(self) -> str:
        return self._settings.shown_url()


def redirected_to(url: str, location: str) -> str:
    """Return where a redirect leads, fit for a message: without user name and query, ``elsewhere`` where it is odd."""
    try:
        parts = urlsplit(urljoin(url, location))
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "elsewhere"
    shown = f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
    plain = parts.scheme in {"http", "https"} and parts.hostname and re.fullmatch(r"[\x21-\x7e]{1,200}", shown)
    return f"to {shown}" if location and plain else "elsewhere"


def _parsed(content: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _from_connection(error: Exception) -> ExchangeFailed:
    chain: list[BaseException] = [error]
    while (below := chain[-1].__cause__) is not None and len(chain) < 8:
        chain.append(below)
    if any(isinstance(one, TooLong) for one in chain):
        return ExchangeFailed(Cause.BROKEN, "too-long")
    if any(isinstance(one, httpx2.DecodingError) for one in chain):
        return ExchangeFailed(Cause.BROKEN, "not-json")  # a false content-encoding
    if any(isinstance(one, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)) for one in chain):
        return ExchangeFailed(Cause.UNREACHABLE, "connect")
    if any(isinstance(one, TimeoutError) for one in chain):
        return ExchangeFailed(Cause.OVERLOADED, "timeout")
    return ExchangeFailed(Cause.BROKEN, "connection")


@contextlib.asynccontextmanager
async def open_wire(settings: ModelSettings) -> AsyncIterator[Wire]:
    """Open a client for the server of these settings; the key is theirs alone, never taken from the environment.

    Raises:
        UsageError: a variable of the environment names a proxy that is none.
    """
    limits = httpx2.Limits(max_connections=max(100, settings.concurrency), max_keepalive_connections=None)
    timeout = httpx2.Timeout(None, connect=_CONNECT_S)
    trusts_environment = uses_proxies(settings.base_url)
    try:
        http = openai.DefaultAioHttpClient(
            limits=limits,
            timeout=timeout,
            headers={"Accept-Encoding": "identity"},
            trust_env=trusts_environment,
            follow_redirects=False,  # the prompts are for this server alone
            event_hooks={"response": [bound]},
        )
        client = openai.AsyncOpenAI(
            base_url=settings.base_url,
            api_key=settings.api_key or "none",
            max_retries=0,
            timeout=timeout,
            http_client=http,
        )
    except httpx2.InvalidURL:
        raise UsageError("NO_PROXY holds something that is no host: correct it or unset it") from None
    except (openai.OpenAIError, ValueError) as error:
        raise GoldsetError(f"the client for {settings.shown_url()} cannot be made ({type(error).__name__})") from None
    async with client:
        yield Wire(client, settings)
