"""The client of one server, by the ``openai`` SDK: a body goes out, JSON or one of the project's errors comes back."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import Any, TypeVar

import httpx2
import openai
from openai import RequestOptions

from goldbench.errors import CallFailed, GoldbenchError, ModelUnavailable
from goldbench.llm.connections import chain, proxy_for, tls_problem, trusted
from goldbench.llm.exchange import (
    ExchangeFailed,
    ExchangeFault,
    ParameterRefused,
    PathUnknown,
    is_refusal,
    retry_after_s,
)
from goldbench.llm.reply_body import context_exceeded, error_inside, error_of, parse_body
from goldbench.llm.server_settings import ModelSettings, address_of, headers_of_key, without_key

R = TypeVar("R")

MOST_BYTES = 16 * 2**20
MOST_FILE_BYTES = 2**30
"""The most bytes of a reply, and of a file of replies: the vectors of a request take some megabytes, the results of a
batch some hundred. The connection is dropped beyond them, so that no server can fill the memory."""
MOST_ERROR_BYTES = 64 * 2**10
"""How much of the body of an error is read; the rest is not."""

_CONNECT_S = 10.0
RETRIED = frozenset({408, 409, 425, 429})
_OVERLOAD = frozenset({429, 503, 529})
_QUOTA = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"})


class TooLong(httpx2.HTTPError):
    """A reply is longer than allowed; the connection is dropped."""


class Client:
    """A client of one server with one pool of connections, for one event loop.

    Every method raises as ``post`` does; the message of a ``ModelError`` begins with the server's URL.
    """

    def __init__(self, client: openai.AsyncOpenAI, settings: ModelSettings) -> None:
        self._client = client
        self._settings = settings
        self.url = settings.shown_url()
        self._options: RequestOptions = {"headers": _key_headers(settings)}

    async def post(self, path: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, str]]:
        """Return the JSON of the response and its headers.

        Raises:
            ExchangeFailed: Another attempt may work.
            ParameterRefused: The server refuses the request as wrong (HTTP 400 or 422).
            CallFailed: This call cannot work (another 4xx).
            ModelUnavailable: No call can work: wrong key, wrong model, no money.
        """
        response = await self._send(self._client.post(path, body=body, options=self._options, cast_to=httpx2.Response))
        reply = self._json(response)
        if inside := error_inside(reply):
            raise self.failure(*inside, response.headers)
        return reply, response.headers

    async def get(self, path: str) -> dict[str, Any]:
        """Return the JSON of a resource."""
        return self._json(await self._fetch(path))

    async def read(self, path: str) -> bytes:
        """Return the bytes of a resource."""
        return (await self._fetch(path)).content

    async def upload(self, name: str, content: bytes) -> dict[str, Any]:
        """Send a file of batch lines and return the server's description of it."""
        response = await self._send(
            self._client.files.with_raw_response.create(
                file=(name, content, "application/jsonl"), purpose="batch", extra_headers=self._options["headers"]
            )
        )
        return self._json(response.http_response)

    async def _fetch(self, path: str) -> httpx2.Response:
        return await self._send(self._client.get(path, options=self._options, cast_to=httpx2.Response))

    async def _send(self, call: Awaitable[R]) -> R:
        failure: ExchangeFailed | CallFailed | ModelUnavailable
        try:
            return await call
        except openai.APIStatusError as error:
            failure = self.failure(error.status_code, error_of(error.body), error.response.headers)
        except (openai.APIConnectionError, httpx2.HTTPError, OSError) as error:
            problem = tls_problem(error)
            failure = _from_connection(error)
            if problem:
                failure = ModelUnavailable(f"{problem}, then run again").at(self.url)
        except (openai.OpenAIError, ValueError, TypeError) as error:
            failure = CallFailed("client", f"the call cannot be made ({type(error).__name__})").at(self.url)
        # Raised outside the except blocks: the SDK's own errors carry bodies and must not be chained.
        raise failure

    def _json(self, response: httpx2.Response) -> dict[str, Any]:
        reply = parse_body(without_key(response.content, self._settings.api_key))
        if reply is None:
            raise ExchangeFailed(ExchangeFault.BROKEN, "not-json")
        return reply

    def failure(
        self, status: int, error: Mapping[str, Any], headers: Mapping[str, str]
    ) -> ExchangeFailed | CallFailed | ModelUnavailable:
        """Return the error that an HTTP status stands for, as ``post`` raises it.

        Args:
            status: The status, 300 or more.
            error: The words of the server.
            headers: The headers of the response.
        """
        failure = self._failure(status, error, headers)
        return failure if isinstance(failure, ExchangeFailed) else failure.at(self.url)

    def _failure(
        self, status: int, error: Mapping[str, Any], headers: Mapping[str, str]
    ) -> ExchangeFailed | CallFailed | ModelUnavailable:
        hopeless = self._hopeless(status, error)
        if hopeless is not None:
            message = f"{hopeless}, then run again"
            return PathUnknown(message, error) if status == 404 else ModelUnavailable(message)
        if status in {400, 422} or context_exceeded(error):
            return ParameterRefused(status, error)
        if status >= 500 or status in RETRIED:
            cause = (
                ExchangeFault.OVERLOADED
                if status in _OVERLOAD
                else ExchangeFault.BROKEN
                if status >= 500
                else ExchangeFault.REFUSED
            )
            return ExchangeFailed(
                cause,
                "rate-limit" if status == 429 else f"http-{status}",
                retry_after_s=retry_after_s(headers),
                is_free=is_refusal(status),
            )
        kind = "content-filter" if status == 403 else f"http-{status}"
        return CallFailed(kind, f"the server refuses the call (HTTP {status})")

    def _key_refused(self, status: int) -> str:
        variable = self._settings.api_key_env
        if not self._settings.api_key:
            return f"the server wants a key (HTTP {status}): set {variable}, or model.api_key_env to where it is"
        return (
            f"the server refuses the key (HTTP {status}): set the right one in {variable}, or model.key_header if "
            f"{self._settings.header_of_key} is wrong"
        )

    def _hopeless(self, status: int, error: Mapping[str, Any]) -> str | None:
        """Return why no other call can work and what to do about it, None where one may work."""
        settings = self._settings
        code = str(error.get("code") or error.get("type") or "")
        message = str(error.get("message") or "").lower()
        if 300 <= status < 400:
            return f"the server redirects (HTTP {status}): set base_url to where the API is"
        if code in _QUOTA or status == 402 or (status == 429 and "exceeded your current quota" in message):
            return "the account has no credit left: top it up"
        is_flagged = "moderation" in message or "flagged" in message
        if status in {401, 403} and not is_flagged:
            return self._key_refused(status)
        if status == 404 or (status == 400 and "invalid model name" in message):
            if settings.lacks_version:
                return "Azure needs a version with /deployments/: end base_url with ?api-version=2024-10-21"
            return f"the server does not know model {settings.name!r} or the path (HTTP {status}): correct them"
        return None


def _key_headers(settings: ModelSettings) -> dict[str, str | openai.Omit]:
    """Return the header with the key. Both are always set: the SDK would otherwise look for a key elsewhere."""
    sent = headers_of_key(settings.api_key, settings.header_of_key) if settings.api_key else {}
    return {"Authorization": openai.Omit(), **sent}


def _from_connection(error: Exception) -> ExchangeFailed:
    kinds: list[tuple[tuple[type[BaseException], ...], ExchangeFault, str]] = [
        ((TooLong,), ExchangeFault.BROKEN, "too-long"),
        ((httpx2.DecodingError,), ExchangeFault.BROKEN, "compressed"),
        ((httpx2.ConnectError, httpx2.ConnectTimeout), ExchangeFault.UNREACHABLE, "connect"),
        ((TimeoutError, httpx2.TimeoutException), ExchangeFault.OVERLOADED, "timeout"),
    ]
    errors = chain(error)
    for types, cause, kind in kinds:
        if any(isinstance(each, types) for each in errors):
            return ExchangeFailed(cause, kind)
    return ExchangeFailed(ExchangeFault.BROKEN, "connection")


async def read_body(response: httpx2.Response) -> None:
    """Read the body of a response under a bound, a hook of the client; a body with an error may be cut."""
    is_error = response.status_code >= 300
    most = MOST_FILE_BYTES if response.request.url.path.endswith("/content") else MOST_BYTES
    most = MOST_ERROR_BYTES if is_error else most
    if response.headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        raise httpx2.DecodingError("the body is compressed, which was not asked for and may be without bound")
    body = bytearray()
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    try:
        async for piece in response.stream:
            body += piece
            if len(body) > most:
                if not is_error:
                    raise TooLong("the reply is too long")
                break
    finally:
        await response.stream.aclose()
    response.stream = httpx2.ByteStream(bytes(body[:most]))


@contextlib.asynccontextmanager
async def open_client(settings: ModelSettings) -> AsyncIterator[Client]:
    """Open a client for the server of these settings; the key comes from them alone, never from the environment.

    Raises:
        UsageError: A variable of the environment names a proxy that is not valid, or a file without certificates.
    """
    address, query = address_of(settings.address)
    timeout = httpx2.Timeout(None, connect=_CONNECT_S)
    proxy = proxy_for(settings.address)
    certificates = trusted()
    try:
        http = openai.DefaultAsyncHttpxClient(
            verify=certificates,
            proxy=proxy,
            trust_env=False,
            timeout=timeout,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
            headers={"Accept-Encoding": "identity"},
            follow_redirects=False,  # the prompts are for this server alone
            event_hooks={"response": [read_body]},
        )
        client = openai.AsyncOpenAI(
            base_url=address,
            default_query=query,
            api_key=settings.api_key or "none",
            max_retries=0,
            timeout=timeout,
            http_client=http,
        )
    except (openai.OpenAIError, ValueError) as error:
        raise GoldbenchError(f"{settings.shown_url()}: no client can be made ({type(error).__name__})") from None
    async with client:
        yield Client(client, settings)
