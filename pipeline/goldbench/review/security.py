"""Access to the page: only for the browser of a person who opened a link from the terminal.

A link holds a token that works once and is exchanged for a signed cookie. Other pages on this machine share the cookie,
so the Origin and Sec-Fetch headers of a request must match as well; a foreign name that resolves to this machine fails
at the Host header.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import os
import secrets
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from goldbench.errors import OutputError

BODY = 256 * 1024
"""Bytes of a request's body; larger requests are refused."""

TOO_LARGE = f"the request is too large: at most {BODY:,} bytes"

RATE, BURST = 50.0, 250.0
"""Requests of one person per second, and at once; further ones are refused. Only a runaway loop sends more."""

PERSON = "Goldbench-Person"
"""The header in which a page names the person it was opened for, as a URL writes it.

Two people who open their links in one browser share its cookie: without the header, the page of the first would store
decisions in the name of the second.
"""

SESSION_S = 30 * 24 * 3600
"""Seconds for which a cookie is valid."""

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def session_key(path: Path) -> bytes:
    """Return the key that signs cookies; a missing one is created, readable by its owner only.

    The key outlives the server, so that a page that stayed open while the server was down can send its queue.

    Raises:
        OutputError: It can be neither read nor written, or is not a key.
    """
    try:
        if not path.exists():
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(secrets.token_hex(32))
        key = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        raise OutputError(f"{path}: the key of the page's cookies can be neither read nor written") from None
    if len(key) < 64:
        raise OutputError(f"{path}: not a valid key; remove it, and a new one is created")
    return key.encode()


def key_note(path: Path) -> str | None:
    """Return one line if others can read the key: on Windows, and where files have no permissions; else None."""
    if path.stat().st_mode & 0o077 == 0:
        return None
    return f"{path}: other users may be able to read this key of the page's cookies; keep the folder private"


class Links:
    """Tokens of links; each works once, and its use creates a new one for the same person."""

    def __init__(self, annotators: Sequence[str], *, tell: Callable[[str, str], None]) -> None:
        self._lock, self._tell = threading.Lock(), tell
        self._open = {secrets.token_urlsafe(24): name for name in annotators}

    def all(self) -> list[tuple[str, str]]:
        """Return each person's name and token."""
        return [(name, token) for token, name in self._open.items()]

    def person(self, token: str) -> str | None:
        """Return the person of a link, which stays valid; None if it is unknown or used."""
        with self._lock:
            return self._open.get(self._known(token) or "")

    def spend(self, token: str) -> str | None:
        """Return the person of a link and end the link; None if it is unknown or used."""
        with self._lock:
            found = self._known(token)
            if found is None:
                return None
            name = self._open.pop(found)
            fresh = secrets.token_urlsafe(24)
            self._open[fresh] = name
        self._tell(name, fresh)
        return name

    def _known(self, token: str) -> str | None:
        given = token.encode("utf-8", "replace")
        return next((known for known in self._open if hmac.compare_digest(known.encode(), given)), None)


class Sessions:
    """Signed cookies that hold a name and the time of issue."""

    def __init__(self, key: bytes, annotators: Sequence[str], *, clock: Callable[[], float] = time.time) -> None:
        self._key, self._names, self._clock = key, frozenset(annotators), clock

    def issue(self, annotator: str) -> str:
        """Return a new cookie for a person."""
        body = base64.urlsafe_b64encode(f"{int(self._clock())} {annotator}".encode()).decode().rstrip("=")
        return f"{body}.{self._sign(body)}"

    def annotator(self, cookie: str | None) -> str | None:
        """Return the person of a cookie; None if it is missing, changed, expired or of an unknown person."""
        body, _, signature = (cookie or "").partition(".")
        if not body or not hmac.compare_digest(signature.encode(), self._sign(body).encode()):
            return None
        issued, _, name = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode().partition(" ")
        return name if name in self._names and self._clock() - int(issued) <= SESSION_S else None

    def _sign(self, body: str) -> str:
        return hmac.new(self._key, body.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


@dataclass(slots=True)
class Bucket:
    """The requests left to a person, and the time of the last one."""

    left: float
    at: float


@dataclass
class Rates:
    """Limits on the requests of one person, and on those of everybody without a cookie or a link, together."""

    rate: float = RATE
    burst: float = BURST
    clock: Callable[[], float] = time.monotonic
    _buckets: dict[str | None, Bucket] = field(default_factory=dict)

    def allows(self, name: str | None) -> bool:
        """Count a request of a person, or of somebody unknown (None); return False if it is one too many."""
        now = self.clock()
        bucket = self._buckets.setdefault(name, Bucket(self.burst, now))
        bucket.left, bucket.at = min(self.burst, bucket.left + (now - bucket.at) * self.rate), now
        if bucket.left < 1:
            return False
        bucket.left -= 1
        return True


class Guard:
    """Middleware that checks every request before a route sees it."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: frozenset[str],
        any_address: bool,
        sessions: Sessions,
        links: Links,
        cookie: str,
        rates: Rates,
        complain: Callable[[str], None],
    ) -> None:
        self._app, self._hosts, self._any_address = app, hosts, any_address
        self._sessions, self._links, self._cookie = sessions, links, cookie
        self._rates, self._complain = rates, complain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks WebSocket
            await send({"type": "websocket.close", "code": 1008})
            return
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        if refusal:
            await refusal(scope, receive, sending)
            return
        try:
            await self._app(scope, _bounded(receive), sending)
        except ClientDisconnect:  # nobody waits for an answer, and half a request stores nothing
            return
        except Exception as error:  # noqa: BLE001  its message may hold people's text: only its type is reported
            last = traceback.extract_tb(error.__traceback__)[-1]
            self._complain(f"internal error, {type(error).__name__} at {Path(last.filename).name}:{last.lineno}")
            if not started:
                await _refused(500, "internal error; nothing was stored")(scope, receive, sending)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        headers = Headers(scope=scope)
        if not self._is_here(headers.get("host", "").lower()):
            return _refused(421, "this server does not have that name")
        if not _from_here(headers, navigating=scope["method"] == "GET"):
            return _refused(403, "requests from other pages are not answered")
        return _unlike_ours(scope["method"], headers) or self._unknown(scope)

    def _unknown(self, scope: Scope) -> JSONResponse | None:
        """Refuse a request without a valid cookie, except for the start page and static files.

        A valid link counts as its person's request: those who have neither cookie nor link cannot keep anybody out.
        """
        request = HTTPConnection(scope)
        annotator = self._sessions.annotator(request.cookies.get(self._cookie))
        scope["annotator"] = annotator
        invited = annotator or self._links.person(request.query_params.get("token", ""))
        if not self._rates.allows(invited):
            return _refused(429, "too many requests; try again in a second")
        if annotator is None and scope["path"] != "/" and not scope["path"].startswith("/static/"):
            return _refused(401, "the session has ended or never began: open the link that the terminal shows")
        if annotator is not None and unquote(request.headers.get(PERSON, "")) not in {"", annotator}:
            return _refused(
                401, f"this browser now belongs to {annotator}: open your own link again, best in a browser of your own"
            )
        return None

    def _is_here(self, host: str) -> bool:
        if host in self._hosts:
            return True
        name, _, port = host.rpartition(":")
        if not self._any_address or f"localhost:{port}" not in self._hosts:
            return False
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True


def _from_here(headers: Headers, *, navigating: bool) -> bool:
    """Return whether a request comes from the review page, or opens it."""
    here = f"http://{headers.get('host', '').lower()}"
    if headers.get("origin", here).lower() != here:
        return False
    opened = navigating and headers.get("sec-fetch-mode", "navigate") == "navigate"
    return opened or headers.get("sec-fetch-site", "none") in {"same-origin", "none"}


def _unlike_ours(method: str, headers: Headers) -> JSONResponse | None:
    """Refuse what the review page never sends, above all a post that a foreign page could send without a preflight."""
    if method not in {"GET", "HEAD", "POST"}:
        return _refused(405, "only GET and POST are allowed")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > BODY:
        return _refused(413, TOO_LARGE)
    if method == "POST" and "origin" not in headers:
        return _refused(403, "a POST must have an Origin header")
    if method == "POST" and headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return _refused(415, "a POST must be application/json")
    return None


def _bounded(receive: Receive) -> Receive:
    total = 0

    async def receiving() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > BODY:
            raise HTTPException(413, TOO_LARGE)
        return message

    return receiving


def _refused(status: int, error: str) -> JSONResponse:
    return JSONResponse({"error": error}, status, {"Retry-After": "1"} if status == 429 else None)
