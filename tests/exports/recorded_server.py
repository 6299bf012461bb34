"""Servers of LangSmith and Phoenix on loopback that store what their clients send, and answer as they do."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit


class Recorded(http.server.ThreadingHTTPServer):
    """A server on loopback that stores what is sent and answers by a function of path and body."""

    def __init__(self, answer: Callable[[str, str, Any], Any]) -> None:
        self.answer, self.sent = answer, list[tuple[str, str, Any]]()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Recorded

    def do_GET(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        raw = self.rfile.read(length)
        kind = self.headers.get("content-type", "")
        body = json.loads(raw) if raw and "json" in kind else raw.decode("latin-1")
        path = urlsplit(self.path).path
        self.server.sent.append((self.command, path, body))
        found = self.server.answer(self.command, path, body)
        answer = (found if isinstance(found, str) else json.dumps(found)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_GET  # noqa: N815  as the class has it

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as the class has it
        pass


@contextmanager
def recorded(answer: Callable[[str, str, Any], Any]) -> Iterator[Recorded]:
    server = Recorded(answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


NUMBER = "00000000-0000-0000-0000-00000000000{}"


def langsmith(method: str, path: str, body: Any) -> Any:
    if path == "/info":
        return {"version": "1", "instance_flags": {"dataset_examples_multipart_enabled": False}}
    if path == "/examples/bulk":
        return [{"id": NUMBER.format(number)} for number in range(len(body))]
    found = {"id": NUMBER.format(9), "name": "mine", "created_at": "2026-01-01T00:00:00Z"}
    return found if method == "POST" else [found]


def phoenix(method: str, path: str, body: Any) -> Any:
    if path == "/arize_phoenix_version":
        return "20.0.0"
    if path == "/v1/datasets/upload":
        return {"data": {"dataset_id": "RGF0YXNldDox", "version_id": "RGF0YXNldFZlcnNpb246MQ=="}}
    if path.endswith("/examples"):
        return {"data": {"dataset_id": "RGF0YXNldDox", "version_id": "RGF0YXNldFZlcnNpb246MQ==", "examples": []}}
    return {
        "data": {
            "id": "RGF0YXNldDox", "name": "gold", "description": None, "metadata": {}, "example_count": 0,
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        }
    }  # fmt: skip
