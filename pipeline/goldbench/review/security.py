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
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from goldbench.errors import OutputError

PERSON_HEADER = "Goldbench-Person"
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

    def __init__(self, annotators: Sequence[str], tell: Callable[[str, str], None]) -> None:
        self._lock = threading.Lock()
        self._tell = tell
        self._names: dict[str, str] = {}
        for name in annotators:
            self._add(name)

    def _add(self, name: str) -> None:
        token = secrets.token_urlsafe(24)
        self._names[token] = name
        self._tell(name, token)

    def spend(self, token: str) -> str | None:
        """Return the person of a link and end the link; None if it is unknown or used."""
        with self._lock:
            name = self._names.pop(token, None)
            if name is not None:
                self._add(name)
            return name


class Sessions:
    """Signed cookies that hold a name and the time of issue."""

    def __init__(self, key: bytes, annotators: Sequence[str]) -> None:
        self._key = key
        self._names = frozenset(annotators)

    def issue(self, annotator: str) -> str:
        """Return a new cookie for a person."""
        body = base64.urlsafe_b64encode(f"{int(time.time())} {annotator}".encode()).decode().rstrip("=")
        return f"{body}.{self._sign(body)}"

    def annotator(self, cookie: str | None) -> str | None:
        """Return the person of a cookie; None if it is missing, changed, expired or of an unknown person."""
        body, _, signature = (cookie or "").partition(".")
        if not body or not hmac.compare_digest(signature.encode(), self._sign(body).encode()):
            return None
        issued, _, name = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode().partition(" ")
        return name if name in self._names and time.time() - int(issued) <= SESSION_S else None

    def _sign(self, body: str) -> str:
        return hmac.new(self._key, body.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class Door:
    """The address of a page, and who may open it.

    ``network`` allows other names of this machine; ``page`` names the page in the cookie and in messages to strangers.
    """

    port: int
    links: Links
    sessions: Sessions
    host: str = "127.0.0.1"
    network: bool = False
    page: str = "review"

    @property
    def cookie(self) -> str:
        """The cookie's name, which has the port because pages on other ports share this host's cookies."""
        return f"goldbench_{self.page}_{self.port}"

    def has_name(self, host: str) -> bool:
        """Return whether a Host header names this server."""
        name, _, port = host.rpartition(":")
        if port != str(self.port):
            return False
        return name in {"127.0.0.1", "localhost", "[::1]", self.host} or (self.network and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def name_for_links(host: str) -> str:
    """Return the host name for links to an address to listen at."""
    if host in {"0.0.0.0", "::"}:  # noqa: S104  compared, not bound
        return socket.gethostname().lower()
    return f"[{host}]" if ":" in host else host.lower()


class Guard:
    """Middleware that checks every request before a route sees it."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        request = HTTPConnection(scope)
        refusal = self._refuse_foreign(request) or self._refuse_stranger(request)
        await (refusal or self._app)(scope, receive, send_with_headers)

    def _refuse_foreign(self, request: HTTPConnection) -> JSONResponse | None:
        """Refuse a request of another page, above all a post that it could send without a preflight."""
        headers = request.headers
        method = request.scope["method"]
        host = headers.get("host", "").lower()
        if not self._door.has_name(host):
            return _refuse(421, "this server does not have that name")
        if method not in {"GET", "HEAD", "POST"}:
            return _refuse(405, "only GET and POST are allowed")
        origin = headers.get("origin", "" if method == "POST" else f"http://{host}")
        opens_page = method == "GET" and headers.get("sec-fetch-mode", "navigate") == "navigate"
        is_own = opens_page or headers.get("sec-fetch-site", "none") in {"same-origin", "none"}
        if origin.lower() != f"http://{host}" or not is_own:
            return _refuse(403, "requests from other pages are not answered")
        if method == "POST" and headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _refuse(415, "a POST must be application/json")
        return None

    def _refuse_stranger(self, request: HTTPConnection) -> JSONResponse | None:
        """Refuse a request without a valid cookie, except for the start page and static files."""
        annotator = self._door.sessions.annotator(request.cookies.get(self._door.cookie))
        request.scope["annotator"] = annotator
        path = request.scope["path"]
        if annotator is None and path != "/" and not path.startswith("/static/"):
            return _refuse(401, "the session has ended or never began: open the link that the terminal shows")
        if annotator is not None and unquote(request.headers.get(PERSON_HEADER, "")) not in {"", annotator}:
            problem = (
                f"this browser now belongs to {annotator}: open your own link again, best in a browser of your own"
            )
            return _refuse(401, problem)
        return None


def _refuse(status: int, error: str) -> JSONResponse:
    return JSONResponse({"error": error}, status)
