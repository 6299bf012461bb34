"""A small search engine that speaks Elasticsearch's protocol over a real socket, with BM25 worked out by hand."""

from __future__ import annotations

import contextlib
import json
import math
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Engine:
    """The indexes of a server, what was asked of it, and how it misbehaves: ``401``, ``bulk``, ``shard``, ``junk``."""

    def __init__(self, *, key: str | None = None, fault: str | None = None) -> None:
        self.indexes: dict[str, dict[str, Any]] = {}
        self.seen: list[str] = []
        self.deleted: list[str] = []
        self.key, self.fault = key, fault
        self.url = ""

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        self.seen.append(f"{method} {path}")
        _, index, *action = path.partition("?")[0].split("/")
        if method == "PUT":
            self.indexes[index] = {**json.loads(body), "docs": {}, "found": {}}
            return 200, {"acknowledged": True}
        if index not in self.indexes:
            return 404, {"error": {"type": "index_not_found_exception", "reason": "no such index"}}
        held = self.indexes[index]
        if method == "DELETE":
            self.deleted.append(index)
            del self.indexes[index]
            return 200, {"acknowledged": True}
        return getattr(self, action[0])(held, body)

    def _bulk(self, held: dict[str, Any], body: bytes) -> tuple[int, Any]:
        lines = [json.loads(line) for line in body.decode().split("\n") if line]
        items = []
        for number, (head, document) in enumerate(zip(lines[::2], lines[1::2], strict=True)):
            if self.fault == "bulk" and number == 1:
                reason = {"type": "mapper_parsing_exception", "reason": "SECRET " + document["text"]}
                items.append({"index": {"_id": head["index"]["_id"], "status": 400, "error": reason}})
            else:
                held["docs"][head["index"]["_id"]] = document
                items.append({"index": {"_id": head["index"]["_id"], "status": 201}})
        return 200, {"errors": self.fault == "bulk", "items": items}

    def _refresh(self, held: dict[str, Any], _: bytes) -> tuple[int, Any]:
        held["found"] = dict(held["docs"])
        return 200, {"_shards": {"failed": 0}}

    def _msearch(self, held: dict[str, Any], body: bytes) -> tuple[int, Any]:
        if self.fault == "junk":
            return 200, {"responses": "none"}
        bodies = [json.loads(line) for line in body.decode().split("\n") if line][1::2]
        return 200, {"responses": [self._one(held, one) for one in bodies]}

    def _search(self, held: dict[str, Any], body: bytes) -> tuple[int, Any]:
        return 200, self._one(held, json.loads(body))

    def _one(self, held: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        if self.fault == "shard":
            return {"error": {"type": "search_phase_execution_exception", "reason": "SECRET"}, "status": 500}
        asked = body["query"]["match"]["text"]
        query = asked if isinstance(asked, str) else asked["query"]
        if len(query.split()) > 1024:
            return {"error": {"type": "too_many_clauses", "reason": "SECRET"}, "status": 400}
        similarity = held["settings"]["similarity"]["as_asked"]
        assert held["mappings"]["properties"]["text"]["similarity"] == "as_asked"
        texts = {doc: document["text"].lower().split() for doc, document in held["found"].items()}
        scores = bm25(query.lower().split(), texts, similarity["k1"], similarity["b"])
        places = {doc: held["found"][doc]["place"] for doc in scores}
        ranked = sorted(scores, key=lambda doc: (-scores[doc], places[doc]))[: body["size"]]
        return {"timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": [_hit(doc, scores) for doc in ranked]}}


def _hit(doc: str, scores: dict[str, float]) -> dict[str, Any]:
    return {"_id": doc, "_score": scores[doc], "sort": [scores[doc], 0]}


def bm25(query: list[str], texts: dict[str, list[str]], k1: float, b: float) -> dict[str, float]:
    """Return Lucene's BM25 of every text that holds a term of the query, term by term as the formula reads."""
    mean = sum(map(len, texts.values())) / len(texts)
    found: dict[str, float] = {}
    for doc, text in texts.items():
        counts = Counter(text)
        for term in query:
            if counts[term]:
                df = sum(term in other for other in texts.values())
                rarity = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
                damping = k1 * (1 - b + b * len(text) / mean)
                found[doc] = found.get(doc, 0.0) + rarity * counts[term] / (counts[term] + damping)
    return found


@contextlib.contextmanager
def running(engine: Engine) -> Iterator[Engine]:
    """Serve the engine on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            wrong = engine.key is not None and self.headers.get("authorization") != engine.key
            status, answer = (401, {"error": "who?"}) if wrong else engine.answer(self.command, self.path, body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            accepted = self.headers.get("accept") or ""
            self.send_header("content-type", accepted if "elasticsearch" in accepted else "application/json")
            self.send_header("x-elastic-product", "Elasticsearch")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_PUT = do_POST = do_DELETE = _serve  # noqa: N815  the names that http.server looks for

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    engine.url = f"127.0.0.1:{server.server_address[1]}"
    try:
        yield engine
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
