"""Files and batches: uploaded JSON lines, answered in the background, fetched as another file."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.model_server.dialect import complaint_about

if TYPE_CHECKING:
    from tests.model_server.app import ModelServer


class Batches:
    """The files and batches of one server. ``batch_end`` of the settings: completed | expired | failed."""

    def __init__(self, server: ModelServer) -> None:
        self._server = server
        self._files: dict[str, dict[str, Any]] = {}
        self._content: dict[str, bytes] = {}
        self._batches: dict[str, dict[str, Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/files", self._upload)
        app.router.add_get("/v1/files/{id}/content", self._read)
        app.router.add_post("/v1/batches", self._create)
        app.router.add_get("/v1/batches", self._list_batches)
        app.router.add_get("/v1/batches/{id}", self._batch)

    def _guard(self, request: web.Request) -> web.Response | None:
        self._server.counters.requests["files-and-batches"] += 1
        settings = self._server.scenario.settings
        refused = complaint_about(settings, "models", {}, request.headers.get("authorization", ""))
        action = self._server.scenario.action("files-and-batches", request.path)
        if refused or "status" in action:
            status, body = refused or (action["status"], {"error": {"message": "scripted", "type": "scripted"}})
            return web.json_response(body, status=status, headers=action.get("headers"))
        return None

    def _store(self, name: str, purpose: str, content: bytes) -> dict[str, Any]:
        key = f"file-{len(self._files) + 1}"
        self._content[key] = content
        self._files[key] = {
            "id": key,
            "object": "file",
            "bytes": len(content),
            "created_at": int(time.time()),
            "filename": name,
            "purpose": purpose,
            "status": "processed",
        }
        return self._files[key]

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        if refused := self._guard(request):
            return refused
        upload = form["file"]
        assert isinstance(upload, web.FileField)
        return web.json_response(self._store(upload.filename, str(form["purpose"]), upload.file.read()))

    async def _read(self, request: web.Request) -> web.Response:
        if refused := self._guard(request):
            return refused
        content = self._content.get(request.match_info["id"])
        return _found(None) if content is None else web.Response(body=content)

    async def _create(self, request: web.Request) -> web.Response:
        if refused := self._guard(request):
            return refused
        body = await request.json()
        key = f"batch_{len(self._batches) + 1}"
        self._batches[key] = {
            "id": key,
            "object": "batch",
            "endpoint": body["endpoint"],
            "completion_window": body["completion_window"],
            "input_file_id": body["input_file_id"],
            "metadata": body.get("metadata"),
            "status": "validating",
            "created_at": int(time.time()),
            "errors": None,
            "output_file_id": None,
            "error_file_id": None,
            "request_counts": {"total": 0, "completed": 0, "failed": 0},
        }
        task = asyncio.create_task(self._work(self._batches[key]))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return web.json_response(self._batches[key])

    async def _list_batches(self, request: web.Request) -> web.Response:
        rows = list(self._batches.values())
        return self._guard(request) or web.json_response({"object": "list", "data": rows, "has_more": False})

    async def _batch(self, request: web.Request) -> web.Response:
        return self._guard(request) or _found(self._batches.get(request.match_info["id"]))

    async def _work(self, batch: dict[str, Any]) -> None:
        settings = self._server.scenario.settings
        batch["status"] = "in_progress"
        await asyncio.sleep(settings["batch_s"])
        if settings["batch_end"] == "failed":
            problem = {"code": "invalid_json_line", "message": "line 1 is no JSON", "line": 1, "param": None}
            batch.update(status="failed", errors={"object": "list", "data": [problem]})
            return
        lines = [json.loads(line) for line in self._content[batch["input_file_id"]].splitlines() if line.strip()]
        done = lines[: len(lines) // 2] if settings["batch_end"] == "expired" else lines
        good, bad = self._answer(done)
        bad += [_line(row, None, {"code": "batch_expired", "message": "expired"}) for row in lines[len(done) :]]
        if good:
            batch["output_file_id"] = self._store("output.jsonl", "batch_output", _jsonl(good))["id"]
        if bad:
            batch["error_file_id"] = self._store("error.jsonl", "batch_output", _jsonl(bad))["id"]
        batch["request_counts"] = {"total": len(lines), "completed": len(good), "failed": len(bad)}
        batch["status"] = settings["batch_end"]

    def _answer(self, lines: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        good: list[dict[str, Any]] = []
        bad: list[dict[str, Any]] = []
        counters, scenario = self._server.counters, self._server.scenario
        for row in reversed(lines):
            counters.requests["batch-line"] += 1
            key = counters.asked("chat", row["body"])
            action = scenario.action("batch-line", json.dumps(row["body"], ensure_ascii=False))
            refused = complaint_about(scenario.settings, "chat", row["body"], f"Bearer {scenario.settings['api_key']}")
            if action.get("status", 0) >= 500:
                self._server.chat_answer("batch-line", row["body"], action)  # to bill it
            if refused or "status" in action:
                status, body = refused or (action["status"], {"error": {"message": "scripted", "type": "scripted"}})
                bad.append(_line(row, {"status_code": status, "request_id": "r", "body": body}, None))
                continue
            counters.answered[key] += 1
            reply = self._server.chat_answer("batch-line", row["body"], action)
            if action.get("lost"):
                continue
            good.append(_line(row, {"status_code": 200, "request_id": "r", "body": reply}, None))
        return good, bad


def _line(row: dict[str, Any], response: Any, error: Any) -> dict[str, Any]:
    return {"id": f"line-{row['custom_id']}", "custom_id": row["custom_id"], "response": response, "error": error}


def _jsonl(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _found(record: dict[str, Any] | None) -> web.Response:
    if record is None:
        return web.json_response({"error": {"message": "No such object", "type": "invalid_request_error"}}, status=404)
    return web.json_response(record)
