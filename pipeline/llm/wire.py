"""One HTTP exchange through the ``openai`` client: a body goes out, JSON or one of the project's errors comes back."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import Any, Protocol, TypeVar
from urllib.parse import urljoin, urlsplit

import httpx2
import openai
from openai import RequestOptions

from goldbench.pipeline.errors import CallFailed, GoldbenchError, ModelError, ModelUnavailable
from goldbench.pipeline.llm.bodies import MOST_BYTES, TooLong, beside, bound_body, expect, most_bytes, parsed
from goldbench.pipeline.llm.certificates import chain, trouble, trusted
from goldbench.pipeline.llm.exchange_end import (
    Cause,
    ExchangeFailed,
    NotThere,
    ParameterRefused,
    PathUnknown,
    is_refusal,
)
from goldbench.pipeline.llm.headers import allowance, retry_after_s
from goldbench.pipeline.llm.proxies import proxy_for
from goldbench.pipeline.llm.reply_body import context_exceeded, error_inside, error_of
from goldbench.pipeline.llm.server_settings import ModelSettings, address_of, headers_of_key, without_key
from goldbench.pipeline.llm.transport import Connections

R = TypeVar("R")

_CONNECT_S = 10.0
_NO_DATABASE = "no_db_connection"
"""What LiteLLM's proxy without a database says of a key that is not its master key."""
RETRIED = frozenset({408, 409, 425, 429})
_OVERLOAD = frozenset({429, 503, 529})
_QUOTA = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"})


class Exchanges(Protocol):
    """Sends a body and returns the JSON of the response with its headers, as ``Wire`` does."""

    @property
    def url(self) -> str:
        """The server, fit for a message."""

    async def post(self, path: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, str]]:
        """Return the JSON of the response and its headers; raises as ``Wire.post`` does."""


class Wire:
    """A client of one server with one pool of connections, for one event loop.

    Every method raises as ``post`` does; the message of a ``ModelError`` begins with the server's URL.
    """

    def __init__(self, client: openai.AsyncOpenAI, settings: ModelSettings) -> None:
        self._client, self._settings, self.url = client, settings, settings.shown_url()
        self._options: RequestOptions = {"headers": _key_headers(settings)}

    async def post(self, path: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, str]]:
        """Return the JSON of the response and its headers.

        Raises:
            ExchangeFailed: Another attempt may work.
            ParameterRefused: The server refuses the request as wrong (HTTP 400 or 422).
            CallFailed: This call cannot work (another 4xx).
            ModelUnavailable: No call can work: wrong key, wrong model, no money.
        """
        sending = self._client.post(path, body=body, options=self._options, cast_to=httpx2.Response)
        response = await self._exchange(sending, most=most_bytes(body, self._settings.reasoning_tokens))
        found = await self._json(response)
        if inside := error_inside(found):
            failure = self._failure(*inside, response.headers)
            raise failure.at(self.url) if isinstance(failure, ModelError) else failure
        return found, response.headers

    async def get(self, path: str) -> dict[str, Any]:
        """Return the JSON of a resource; raises ``NotThere`` on a 404."""
        return await self._json(await self._fetch(path))

    async def read(self, path: str) -> bytes:
        """Return the bytes of a resource; raises ``NotThere`` on a 404."""
        return (await self._fetch(path)).content

    async def upload(self, name: str, content: bytes) -> dict[str, Any]:
        """Send a file of batch lines and return the server's description of it; raises ``NotThere`` on a 404."""
        file = (name, content, "application/jsonl")
        sending = self._client.files.with_raw_response.create(
            file=file, purpose="batch", extra_headers=self._options["headers"]
        )
        response = await self._exchange(sending, missing=True)
        return await self._json(response.http_response)

    async def _fetch(self, path: str) -> httpx2.Response:
        getting = self._client.get(path, options=self._options, cast_to=httpx2.Response)
        return await self._exchange(getting, missing=True)

    async def _exchange(self, call: Awaitable[R], *, missing: bool = False, most: int = MOST_BYTES) -> R:
        failure: Exception
        expect(most)
        try:
            return await call
        except openai.NotFoundError as error:
            failure = NotThere() if missing else self._from_status(error)
        except openai.APIStatusError as error:
            failure = self._from_status(error)
        except (openai.APIConnectionError, httpx2.HTTPError, OSError) as error:
            problem = trouble(error)
            failure = ModelUnavailable(f"{problem}, then run again") if problem else _from_connection(error)
        except (openai.OpenAIError, ValueError, TypeError) as error:
            failure = CallFailed("client", f"the call cannot be made ({type(error).__name__})")
        # Raised outside the except blocks: the client's own errors carry bodies and must not be chained.
        raise failure.at(self.url) if isinstance(failure, ModelError) else failure

    async def _json(self, response: httpx2.Response) -> dict[str, Any]:
        content = without_key(response.content, self._settings.api_key)
        found = await beside(parsed, content, size=len(content))
        if found is None:
            raise ExchangeFailed(Cause.BROKEN, "not-json")
        return found

    def _from_status(self, error: openai.APIStatusError) -> Exception:
        return self._failure(error.status_code, error_of(error.body), error.response.headers)

    def _failure(self, status: int, said: Mapping[str, Any], headers: Mapping[str, str]) -> Exception:
        hopeless = self._hopeless(status, said, headers.get("location", ""))
        if hopeless is not None:
            message = f"{hopeless}, then run again"
            return PathUnknown(message, said) if status == 404 else ModelUnavailable(message)
        if status in {400, 422} or context_exceeded(said):
            return ParameterRefused(status, said)
        if status >= 500 or status in RETRIED:
            cause = Cause.OVERLOADED if status in _OVERLOAD else Cause.BROKEN if status >= 500 else Cause.REFUSED
            kind = "rate-limit" if status == 429 else f"http-{status}"
            return ExchangeFailed(
                cause,
                kind,
                retry_after_s=retry_after_s(headers),
                allowance=allowance(headers),
                refused=is_refusal(status),
            )
        kind = "content-filter" if status == 403 else f"http-{status}"
        return CallFailed(kind, f"the server refuses the call (HTTP {status})")

    def _key_refused(self, status: int) -> str:
        variable = self._settings.api_key_env
        if not self._settings.api_key:
            return f"the server wants a key (HTTP {status}): set {variable}, or model.api_key_env to where it is"
        header = self._settings.header_of_key
        return (
            f"the server refuses the key (HTTP {status}): set the right one in {variable}, or model.key_header if "
            f"{header} is wrong"
        )

    def _hopeless(self, status: int, said: Mapping[str, Any], location: str) -> str | None:
        """Return why no other call can work and what to do about it, None where one may work."""
        code, message = str(said.get("code") or said.get("type") or ""), str(said.get("message") or "").lower()
        if 300 <= status < 400:
            there = redirected_to(self._settings.address, location, key=self._settings.api_key)
            return f"the server redirects {there} (HTTP {status}): set base_url to where the API is"
        if code in _QUOTA or status == 402 or (status == 429 and "exceeded your current quota" in message):
            return "the account has no credit left: top it up"
        flagged = "moderation" in message or "flagged" in message
        if (status in {401, 403} and not flagged) or (status == 400 and said.get("type") == _NO_DATABASE):
            return self._key_refused(status)
        if status == 404 or (status == 400 and "invalid model name" in message):
            if status == 404 and self._settings.lacks_version:
                return "Azure needs a version with /deployments/: end base_url with ?api-version=2024-10-21"
            return f"the server does not know model {self._settings.name!r} or the path (HTTP {status}): correct them"
        return None


def _key_headers(settings: ModelSettings) -> dict[str, str | openai.Omit]:
    """Return the header with the key. Both are always set: the client would otherwise look for a key elsewhere."""
    sent = headers_of_key(settings.api_key, settings.header_of_key) if settings.api_key else {}
    return {"Authorization": openai.Omit(), **sent}


def redirected_to(url: str, location: str, *, key: str | None = None) -> str:
    """Return where a redirect leads: scheme, host and port alone, because a key may stand in the rest.

    Args:
        url: The base URL of the server that redirects.
        location: Where it redirects to.
        key: The key; a host that holds it is not shown.
    """
    try:
        here, there = urlsplit(url), urlsplit(urljoin(url, location))
        port = f":{there.port}" if there.port else ""
    except ValueError:
        return "elsewhere"
    shown = f"{there.scheme}://{there.hostname}{port}"
    plain = there.scheme in {"http", "https"} and there.hostname and re.fullmatch(r"[\x21-\x7e]{1,200}", shown)
    if not location or not plain or (key and key.lower() in shown.lower()):
        return "elsewhere"
    same = (here.scheme, here.hostname, here.port) == (there.scheme, there.hostname, there.port)
    return "to another path" if same else f"to {shown}"


def _from_connection(error: Exception) -> ExchangeFailed:
    below = chain(error)
    if any(isinstance(one, TooLong) for one in below):
        return ExchangeFailed(Cause.BROKEN, "too-long")
    if any(isinstance(one, httpx2.DecodingError) for one in below):
        return ExchangeFailed(Cause.BROKEN, "not-json")  # a false content-encoding
    if any(isinstance(one, (httpx2.ConnectError, httpx2.ConnectTimeout)) for one in below):
        return ExchangeFailed(Cause.UNREACHABLE, "connect")
    if any(isinstance(one, (TimeoutError, httpx2.TimeoutException)) for one in below):
        return ExchangeFailed(Cause.OVERLOADED, "timeout")
    return ExchangeFailed(Cause.BROKEN, "connection")


@contextlib.asynccontextmanager
async def open_wire(settings: ModelSettings) -> AsyncIterator[Wire]:
    """Open a client for the server of these settings; the key comes from them alone, never from the environment.

    Raises:
        UsageError: A variable of the environment names a proxy that is not valid, or a file without certificates.
    """
    address, query = address_of(settings.address)
    timeout = httpx2.Timeout(None, connect=_CONNECT_S)
    connection = functools.partial(
        httpx2.AsyncHTTPTransport,
        verify=trusted(),
        proxy=proxy_for(settings.address),
        trust_env=False,
        limits=httpx2.Limits(max_connections=1),
    )
    try:
        http = openai.DefaultAsyncHttpxClient(
            transport=Connections(connection),
            timeout=timeout,
            headers={"Accept-Encoding": "identity"},
            trust_env=False,
            follow_redirects=False,  # the prompts are for this server alone
            event_hooks={"response": [bound_body]},
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
        yield Wire(client, settings)
