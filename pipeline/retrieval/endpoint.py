"""JSON over HTTP: one request, one answer, and every way in which that fails in one line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx2

from pipeline.errors import RetrieverFailed

MOST_BYTES = 64 * 2**20
"""No answer is read beyond this."""


class Endpoint:
    """An address that takes JSON and answers JSON. Redirects are not followed: the texts are for this server alone."""

    def __init__(self, name: str, url: str, *, headers: Mapping[str, str] | None = None, timeout_s: float = 30) -> None:
        """Take the name of the system it belongs to, the address and how long a request may take, in seconds.

        Raises:
            RetrieverFailed: The address is none.
        """
        self._name, self._timeout_s = name, timeout_s
        self._url = url.rstrip("/")
        try:
            self._host = urlsplit(url).hostname or ""
            self._client = httpx2.Client(
                timeout=timeout_s,
                follow_redirects=False,
                headers={"Accept-Encoding": "identity", **(headers or {})},
                trust_env=self._host not in {"localhost", "127.0.0.1", "::1"},  # no proxy stands before this machine
            )
            httpx2.URL(url)
        except (httpx2.InvalidURL, ValueError, UnicodeError):
            raise RetrieverFailed(name, "its address, or a header or proxy for it, is none") from None

    def __enter__(self) -> Self:
        """Return this endpoint."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close its connections."""
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def post(self, body: object, path: str = "") -> Any:  # noqa: ANN401  JSON
        """Return the JSON of the answer to a body; raises as ``send``."""
        return self.send("POST", path, json.dumps(body, ensure_ascii=True).encode(), "application/json")

    def send(self, method: str, path: str = "", body: bytes | None = None, kind: str | None = None) -> Any:  # noqa: ANN401
        """Return the JSON of the answer.

        Args:
            method: ``GET``, ``POST``, ``PUT`` or ``DELETE``.
            path: what follows the address, beginning with a slash.
            body: what is sent.
            kind: the content type of the body.

        Raises:
            RetrieverFailed: The server cannot be reached, does not answer in time, refuses, or answers no JSON.
        """
        status, content = self._exchange(method, path, body, {"Content-Type": kind} if kind else {})
        if status in {401, 403}:
            raise self._failed(f"refuses the key (HTTP {status}): set the right one in the environment")
        if not 200 <= status < 300:
            raise self._failed(f"answered HTTP {status}")
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise self._failed("answered what is no JSON") from None

    def _exchange(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        try:
            with self._client.stream(method, self._url + path, content=body, headers=headers) as answer:
                content = bytearray()
                for piece in answer.iter_bytes():
                    content += piece
                    if len(content) > MOST_BYTES:
                        raise self._failed(f"answered more than {MOST_BYTES // 2**20} MB")
                return answer.status_code, bytes(content)
        except httpx2.TimeoutException:
            raise self._failed(f"did not answer in {self._timeout_s:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            raise self._failed(f"cannot be reached ({type(error).__name__})") from None

    def _failed(self, what: str) -> RetrieverFailed:
        return RetrieverFailed(self._name, f"{self._host} {what}")


def asking(endpoint: Endpoint) -> Callable[[str, int], Any]:
    """Return what asks an endpoint: ``{"query": ..., "k": ...}`` goes out, ``{"results": [...]}`` or a list comes."""

    def ask(query: str, k: int) -> Any:  # noqa: ANN401  JSON
        answer = endpoint.post({"query": query, "k": k})
        return answer["results"] if isinstance(answer, dict) and "results" in answer else answer

    return ask
