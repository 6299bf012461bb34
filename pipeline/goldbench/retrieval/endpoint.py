"""JSON over HTTP: one request, one answer; every failure is one line that names the host."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2

from goldbench.errors import RetrieverFailed
from goldbench.llm.connections import is_loopback

MOST_BYTES = 64 * 2**20
"""Limits an answer in bytes; a longer one is refused, and the rest is not read."""


class Endpoint:
    """A URL that takes JSON and answers JSON. Redirects are not followed: the texts are for this server alone."""

    def __init__(self, url: str, *, headers: Mapping[str, str], timeout_s: float) -> None:
        """Open a client for the URL.

        Args:
            url: Begins with http:// or https://.
            headers: Sent with every request.
            timeout_s: Seconds that a request may take.

        Raises:
            RetrieverFailed: The URL, or a header or proxy for it, is not valid.
        """
        self._timeout_s = timeout_s
        self._url = url.rstrip("/")
        try:
            self._host = urlsplit(url).hostname or ""
            self._client = httpx2.Client(
                timeout=timeout_s,
                headers={"Accept-Encoding": "identity", **headers},  # a packed answer may unpack to gigabytes
                trust_env=not is_loopback(self._host),
            )
            httpx2.URL(url)
        except (httpx2.InvalidURL, ValueError, UnicodeError):
            raise RetrieverFailed("its URL, or a header or proxy for it, is not valid") from None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def search(self, query: str, k: int) -> Any:  # noqa: ANN401  the results as JSON
        """Send ``{"query": ..., "k": ...}`` and return the results: a list, or ``results`` of an object.

        Raises:
            RetrieverFailed: The server does not answer, or its answer holds no results.
        """
        answer = self.send("POST", body=json.dumps({"query": query, "k": k}).encode())
        if isinstance(answer, dict) and not all(isinstance(value, int | float) for value in answer.values()):
            if "results" not in answer:
                raise self._failed('answered no key "results"; expected {"results": [{"id": ..., "score": ...}]}')
            return answer["results"]
        return answer

    def send(self, method: str, path: str = "", *, body: bytes | None = None, kind: str = "application/json") -> Any:  # noqa: ANN401
        """Return the JSON of the answer.

        Args:
            method: ``GET``, ``POST``, ``PUT`` or ``DELETE``.
            path: Appended to the URL; begins with a slash.
            body: The content of the request.
            kind: The content type of the body.

        Raises:
            RetrieverFailed: The server cannot be reached, does not answer in time, refuses, or does not answer JSON.
        """
        headers = {} if body is None else {"Content-Type": kind}
        try:
            status, content = self._exchange(method, path, body, headers)
            if status in {401, 403}:
                raise self._failed(f"refuses the key (HTTP {status}): set the right one in the environment")
            if not 200 <= status < 300:
                raise self._failed(f"answered HTTP {status}")
        except httpx2.TimeoutException:
            raise self._failed(f"did not answer in {self._timeout_s:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            raise self._failed(f"cannot be reached ({type(error).__name__})") from None
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise self._failed("did not answer with JSON") from None

    def _exchange(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        end = time.monotonic() + self._timeout_s
        with self._client.stream(method, self._url + path, content=body, headers=headers) as answer:
            content = bytearray()
            for piece in answer.iter_bytes():
                content += piece
                if len(content) > MOST_BYTES:
                    raise self._failed(f"answered more than {MOST_BYTES // 2**20} MB")
                if time.monotonic() > end:  # the limit of the client is one for each piece
                    raise self._failed(f"did not answer in {self._timeout_s:g} s")
            return answer.status_code, bytes(content)

    def _failed(self, what: str) -> RetrieverFailed:
        return RetrieverFailed(f"{self._host} {what}")
