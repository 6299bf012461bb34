"""A hub on loopback: it takes commits of data sets and gives their files, as the client of the real one asks."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

SHA = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """What the hub was told: the files of each data set, whether new ones are private, and the requests."""

    address: str = ""
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    private: dict[str, bool] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    refuse: bool = False


@contextlib.contextmanager
def loopback_hub() -> Iterator[Hub]:
    """Serve a hub until the end of the block."""
    hub = Hub()

    class Handler(_Handler):
        known = hub

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    known: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        body = self._body()
        path = self._noted()
        if self.known.refuse:
            self._json({"error": "Invalid username or password."}, status=401)
        elif path == "/api/repos/create":
            self._create(json.loads(body))
        elif path == "/api/validate-yaml":
            self._json({"errors": [], "warnings": []})
        elif "/preupload/" in path:
            asked = json.loads(body)["files"]
            self._json(
                {"files": [{"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in asked]}
            )
        elif "/commit/" in path:
            self._commit(path.split("/commit/")[0].removeprefix("/api/datasets/"), body)
        elif "/paths-info/" in path:
            self._json(self._paths(path.split("/paths-info/")[0].removeprefix("/api/datasets/"), body))
        else:
            self._missing()

    def do_GET(self) -> None:
        path = self._noted()
        if path.startswith("/api/datasets/"):
            self._about(path.removeprefix("/api/datasets/"))
        elif path.startswith("/datasets/") and "/resolve/" in path:
            self._file(path.removeprefix("/datasets/"))
        else:
            self._missing()

    def do_HEAD(self) -> None:
        self.do_GET()

    def _noted(self) -> str:
        path = unquote(urlsplit(self.path).path)
        self.known.requests.append(f"{self.command} {path}")
        self.known.tokens.add(self.headers.get("authorization", ""))
        return path

    def _create(self, asked: dict[str, Any]) -> None:
        name = f"{asked['organization']}/{asked['name']}" if asked.get("organization") else asked["name"]
        url = f"{self.known.address}/datasets/{name}"
        if name in self.known.files:
            self._json({"error": "You already created this dataset repo", "url": url}, status=409)
            return
        self.known.files[name] = {}
        self.known.private[name] = bool(asked.get("private") or asked.get("visibility") == "private")
        self._json({"url": url, "name": name, "id": SHA})

    def _commit(self, name: str, body: bytes) -> None:
        for line in body.splitlines():
            change = json.loads(line)
            value = change["value"]
            if change["key"] == "file":
                self.known.files[name][value["path"]] = base64.b64decode(value["content"])
            elif change["key"] == "deletedFile":
                self.known.files[name].pop(value["path"], None)
        self._json({"commitUrl": f"{self.known.address}/datasets/{name}/commit/{SHA}", "commitOid": SHA})

    def _about(self, rest: str) -> None:
        name = "/".join(rest.split("/")[:2])
        files = self.known.files.get(name)
        if files is None:
            self._missing("RepoNotFound")
        elif "/tree/" in rest:
            self._json([_entry(path, content) for path, content in files.items()])
        else:
            siblings = [{"rfilename": path} for path in files]
            self._json({"id": name, "sha": SHA, "siblings": siblings, "private": True, "tags": [], "downloads": 0})

    def _paths(self, name: str, body: bytes) -> list[dict[str, Any]]:
        asked = (
            json.loads(body)["paths"]
            if body.startswith(b"{")
            else [unquote(p.partition("=")[2]) for p in body.decode().split("&") if p.startswith("paths=")]
        )
        files = self.known.files.get(name, {})
        return [_entry(path, files[path]) for path in asked if path in files]

    def _file(self, rest: str) -> None:
        repository, _, tail = rest.partition("/resolve/")
        content = self.known.files.get(repository, {}).get(tail.partition("/")[2])
        if content is None:
            self._missing("EntryNotFound")
            return
        headers = {"ETag": f'"{hashlib.sha1(content).hexdigest()}"', "X-Repo-Commit": SHA, "Accept-Ranges": "bytes"}
        self._answer(200, content, "application/octet-stream", headers)

    def _missing(self, code: str = "") -> None:
        self._answer(404, b'{"error": "not found"}', "application/json", {"X-Error-Code": code} if code else {})

    def _json(self, value: object, status: int = 200) -> None:
        self._answer(status, json.dumps(value).encode(), "application/json", {})

    def _answer(self, status: int, content: bytes, kind: str, headers: dict[str, str]) -> None:
        start, whole = 0, content
        asked = self.headers.get("range")
        if status == 200 and asked:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start, end = int(first), int(last) if last else len(content) - 1
            content, status = whole[start : end + 1], 206
            headers = {**headers, "Content-Range": f"bytes {start}-{start + len(content) - 1}/{len(whole)}"}
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        body = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body


def _entry(path: str, content: bytes) -> dict[str, Any]:
    digest = hashlib.sha1(content).hexdigest()
    return {"type": "file", "path": path, "size": len(content), "oid": digest}
