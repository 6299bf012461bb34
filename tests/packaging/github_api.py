"""The part of GitHub's API that comments need, on loopback: lists, writes and updates comments, or refuses."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

BOT = "github-actions[bot]"


class GitHub:
    """Comments of pull requests, and the requests that came."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.requests: list[tuple[str, str]] = []
        self.tokens: set[str | None] = set()
        self.refuses: int | None = None
        self.says: bytes | None = None
        """What it sends in place of every answer."""
        self.url = ""

    def comment(self, body: str, *, login: str = BOT) -> dict[str, Any]:
        """Add a comment as a person or an app writes it."""
        made = {"id": 1000 + len(self.comments), "body": body, "user": {"login": login}}
        self.comments.append(made)
        return made

    def answer(self, method: str, address: str, sent: Any) -> tuple[int, object]:
        """Return status and JSON."""
        parts, path = urlsplit(address), urlsplit(address).path
        if self.refuses:
            return self.refuses, {"message": "Resource not accessible by integration"}
        if method == "GET" and path == "/repos/owner/name/issues/7/comments":
            query = {name: int(values[0]) for name, values in parse_qs(parts.query).items()}
            start = (query["page"] - 1) * query["per_page"]
            return 200, self.comments[start : start + query["per_page"]]
        if method == "POST" and path == "/repos/owner/name/issues/7/comments":
            if len(sent["body"]) > 65_536:
                return 422, {"message": "Body is too long"}
            return 201, self.comment(sent["body"])
        found = [one for one in self.comments if path == f"/repos/owner/name/issues/comments/{one['id']}"]
        if method == "PATCH" and found:
            found[0]["body"] = sent["body"]
            return 200, found[0]
        return 404, {"message": "Not Found"}


@contextmanager
def github() -> Iterator[GitHub]:
    """Serve it until the end of the block."""
    state = GitHub()

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            sent = json.loads(self.rfile.read(size)) if size else None
            state.requests.append((self.command, self.path))
            state.tokens.add(self.headers.get("Authorization"))
            if state.says is not None:
                self.wfile.write(state.says)
                self.close_connection = True
                return
            status, found = state.answer(self.command, self.path, sent)
            block = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(block)))
            self.end_headers()
            self.wfile.write(block)

        do_GET = do_POST = do_PATCH = handle_any  # noqa: N815  named by http.server

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
