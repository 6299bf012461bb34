"""The HTTP side: an OpenAI-compatible server and, on the same and on a second port, ``/control``."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from typing import Any

from aiohttp import web

from tests.model_server.batches import Batches
from tests.model_server.counters import Counters
from tests.model_server.dialect import complaint_about
from tests.model_server.judge import grade_answer, yes_or_no
from tests.model_server.kind_writer import (
    completeness_answer,
    conversation_answer,
    dated_answer,
    joined_answer,
    unanswered_answer,
)
from tests.model_server.oracle import good_answer
from tests.model_server.replies import ServerEvents, message_for, shaped
from tests.model_server.scenario import Scenario
from tests.model_server.searching import packed, results_for, vector
from tests.model_server.tokens import count_tokens

_HOST = "127.0.0.1"


class ModelServer:
    """One server: ``start``, ``stop``, and everything else over HTTP."""

    def __init__(self, script: dict[str, Any]) -> None:
        self.scenario = Scenario(script)
        self.counters = Counters()
        self.batches = Batches(self)
        self.base_url = self.control_url = ""
        self._port = 0
        self._site: web.TCPSite | None = None
        self._answering: set[asyncio.Task[Any]] = set()
        app = web.Application(client_max_size=2**28)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/embeddings", self._embeddings)
        for version in ("v1", "v2"):  # Jina serves the first, Cohere the second
            app.router.add_post(f"/{version}/rerank", self._rerank)
        app.router.add_get("/v1/models", self._models)
        for path in ("/openai/v1", "/openai/deployments/{name}"):  # Azure's
            app.router.add_post(f"{path}/chat/completions", self._chat)
        self.batches.add_routes(app)
        app.router.add_get("/control/stats", self._stats)
        app.router.add_get("/control/requests", self._requests)
        app.router.add_post("/control/script", self._script)
        app.router.add_post("/control/reset", self._reset)
        app.router.add_post("/control/down", self._down)
        app.router.add_post("/control/up", self._up)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)

    async def start(self, port: int) -> None:
        await self._runner.setup()
        self._site = web.TCPSite(self._runner, _HOST, port, backlog=4096)
        await self._site.start()
        control = web.TCPSite(self._runner, _HOST, 0)
        await control.start()
        addresses = [address[1] for address in self._runner.addresses]
        self._port = addresses[0]
        self.base_url = f"http://{_HOST}:{addresses[0]}/v1"
        self.control_url = f"http://{_HOST}:{addresses[1]}/control"

    async def stop(self) -> None:
        await self._runner.cleanup()

    # control

    async def _stats(self, request: web.Request) -> web.Response:
        return web.json_response(self.counters.report())

    async def _requests(self, request: web.Request) -> web.Response:
        return web.json_response(list(self.counters.last))

    async def _script(self, request: web.Request) -> web.Response:
        try:
            self.scenario = Scenario(await request.json())
        except ValueError as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({})

    async def _reset(self, request: web.Request) -> web.Response:
        for task in self._answering:  # nobody waits for these any more
            task.cancel()
        self.counters = Counters()
        return web.json_response({})

    async def _down(self, request: web.Request) -> web.Response:
        if self._site is not None:
            await self._site.stop()
            self._site = None
        assert self._runner.server is not None
        for connection in self._runner.server.connections:
            transport = connection.transport
            if transport is not None and transport.get_extra_info("sockname")[1] == self._port:
                transport.abort()
        return web.json_response({})

    async def _up(self, request: web.Request) -> web.Response:
        if self._site is None:
            self._site = web.TCPSite(self._runner, _HOST, self._port, backlog=4096, reuse_address=True)
            await self._site.start()
        return web.json_response({})

    # the model's side

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, "chat", self._chat_answer)

    async def _embeddings(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, "embeddings", self._embedding_answer)

    async def _rerank(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, "rerank", self._rerank_answer)

    async def _models(self, request: web.Request) -> web.StreamResponse:
        served = self.scenario.settings["models"] or ["test-model"]
        rows = [{"id": name, "object": "model", "created": 0, "owned_by": "tests"} for name in served]
        return await self._serve(request, "models", lambda *_: {"object": "list", "data": rows})

    async def _serve(self, request: web.Request, kind: str, answer: Any) -> web.StreamResponse:
        counters, scenario, arrived = self.counters, self.scenario, time.monotonic()
        counters.enter(kind)
        status, task = "gone", asyncio.current_task()
        assert task is not None
        self._answering.add(task)
        try:
            raw = await request.text()
            body = json.loads(raw) if raw else {}
            key = counters.asked(kind, body)
            action = scenario.action(kind, raw)
            if _fails_after_work(action):
                answer(body, action)  # to bill it
            if action.get("connection") in ("refuse", "garbage"):
                status = action["connection"]
                return self._break(request, status)
            if action.get("hang"):
                await asyncio.sleep(3600)
            due = arrived + scenario.latency(action)
            code, reply, headers = self._decide(request, kind, body, action, answer)
            if kind == "chat" and code == 200 and not await self._written(request, reply):
                status = "abandoned"
                return web.Response()
            if due > time.monotonic():  # making the answer up is part of the latency
                await asyncio.sleep(due - time.monotonic())
            status = str(code)
            response = await self._send(request, code, reply, headers, action)
            gone = request.transport is None or request.transport.is_closing()
            if code == 200 and action.get("connection") != "half" and not gone:
                counters.answered[key] += 1
            return response
        finally:
            self._answering.discard(task)
            counters.leave(kind, status)

    async def _written(self, request: web.Request, reply: Any) -> bool:
        """Take the time that a reply takes in a free slot; return False, without work, if nobody waits for it."""
        rate = self.scenario.settings["tokens_per_s"]
        if rate is None:
            return True
        async with self.scenario.slots:
            if request.transport is None or request.transport.is_closing():
                return False
            await asyncio.sleep(reply["usage"]["completion_tokens"] / rate)
        return True

    def _decide(
        self, request: web.Request, kind: str, body: dict[str, Any], action: dict[str, Any], answer: Any
    ) -> tuple[int, Any, dict[str, str]]:
        headers = {"x-request-id": f"req-{self.counters.requests.total()}", **self.scenario.settings["headers"]}
        if "status" in action:
            error = {"error": {"message": f"scripted {action['status']}", "type": "scripted", "code": None}}
            return action["status"], action.get("body", error), {**headers, **action.get("headers", {})}
        header = self.scenario.settings["key_header"]
        given = request.headers.get(header, "")
        complaint = complaint_about(
            self.scenario.settings, kind, body, given if header == "authorization" else f"Bearer {given}"
        )
        if complaint:
            return complaint[0], complaint[1], headers
        return 200, answer(body, action), {**headers, **action.get("headers", {})}

    def _break(self, request: web.Request, how: str) -> web.Response:
        assert request.transport is not None
        if how == "garbage":
            request.transport.write(b"\x00\x01 this is not HTTP \xff\r\n\r\n")  # type: ignore[attr-defined]
            request.transport.close()
        else:
            request.transport.abort()  # type: ignore[attr-defined]
        return web.Response()

    async def _send(
        self, request: web.Request, code: int, reply: Any, headers: dict[str, str], action: dict[str, Any]
    ) -> web.StreamResponse:
        streamed = code == 200 and isinstance(reply, dict) and "stream" in reply
        data = (reply if isinstance(reply, str) else json.dumps(reply)).encode()
        kind = "application/json"
        if streamed:
            data, kind = ServerEvents(reply.pop("stream"), reply).encoded(), "text/event-stream"
        if action.get("connection") == "short":
            data = data[: len(data) // 2]
        half, slow = action.get("connection") == "half", action.get("slow_body_ms")
        if not half and not slow:
            return web.Response(body=data, status=code, headers=headers, content_type=kind)
        response = web.StreamResponse(status=code, headers={**headers, "Content-Type": kind})
        response.content_length = len(data)
        await response.prepare(request)
        if half:
            await response.write(data[: len(data) // 2])
            assert request.transport is not None
            await asyncio.sleep(0.01)
            request.transport.abort()  # type: ignore[attr-defined]
            return response
        step = max(1, len(data) // 10)
        with contextlib.suppress(ConnectionError):  # the client may have had enough
            for start in range(0, len(data), step):
                await response.write(data[start : start + step])
                await asyncio.sleep(float(slow or 0) / 10000)
        return response

    # answers

    def _chat_answer(self, body: dict[str, Any], action: dict[str, Any]) -> dict[str, Any]:
        return self.chat_answer("chat", body, action)

    def chat_answer(self, kind: str, body: dict[str, Any], action: dict[str, Any]) -> dict[str, Any]:
        """Return the chat completion for this request body, and bill it."""
        said = [(m["role"], _text(m["content"])) for m in body["messages"]]
        system = "\n".join(text for role, text in said if role in ("system", "developer"))
        questions = [text for role, text in said if role == "user"]
        numbered = [text for text in questions if "\n[1] " in text]  # after worked examples, which look the same
        user = next(iter(numbered[-1:] or questions), "")
        if "content" in action:
            message: Any = (action["content"], action.get("finish_reason", "stop"), None)
        else:
            schema = _schema(body, system)
            good = self._good(schema, system, user)
            if "grade" in json.dumps(schema.get("properties", {})) and "<<<PASSAGE" in user:
                good = grade_answer(self.scenario.settings["judge"], body["model"], schema, user)
            message = message_for(action.get("reply", "good"), good)
        weighed = _weighed(body, message[0], action.get("logprob", -0.1)) if message else None
        form = self.scenario.settings["probabilities"]
        if message and body.get("max_tokens") == 1 and "<<<PASSAGE" in user:
            message, weighed = yes_or_no(self.scenario.settings["judge"], body, user, form)
        text = message[0] or "" if message else ""
        usage = {"prompt_tokens": sum(4 + count_tokens(t) for _, t in said), "completion_tokens": count_tokens(text)}
        if self.scenario.settings["silent_thoughts"] or _fails_after_work(action):
            limit = body.get("max_tokens") or body.get("max_completion_tokens")
            usage["completion_tokens"] = limit or usage["completion_tokens"]
        self.counters.bill(kind, usage)
        completion: dict[str, Any] = {
            "id": f"chatcmpl-{self.counters.requests.total()}",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [],
        }
        if message:
            content, finish, refusal = message
            row = {"role": "assistant", "content": content, "refusal": refusal}
            completion["choices"] = [{"index": 0, "message": row, "finish_reason": finish, "logprobs": weighed}]
        if most := self.scenario.settings["context_read"]:
            usage["prompt_tokens"] = min(most, usage["prompt_tokens"])
        if self.scenario.settings["usage"] == "input":
            completion["usage"] = {"prompt_tokens": usage["prompt_tokens"]}
        elif self.scenario.settings["usage"]:
            completion["usage"] = {**usage, "total_tokens": sum(usage.values())}
        return shaped(completion, action.get("shape"), body)

    def _good(self, schema: dict[str, Any], system: str, user: str) -> Any:
        """Return a good reply, or as bad a one as the settings say."""
        fields = schema.get("properties", {})
        if "answered" in fields:
            return completeness_answer(user)
        kinds = self.scenario.settings["kinds"]
        if "standalone" in fields:
            return conversation_answer(kinds, user)
        if user.startswith("Date or version of the passage: "):
            return dated_answer(kinds, user, good_answer(schema, system, user))
        if "score" in fields and ">>>\nAnd how does it" in user:
            return {"rationale": "It leans on an earlier question.", "score": 2}
        if "changed" in fields:
            return unanswered_answer(kinds, user)
        if fields.get("evidence", {}).get("type") == "array":
            return joined_answer(kinds, system, user)
        return good_answer(schema, system, user)

    def _embedding_answer(self, body: dict[str, Any], action: dict[str, Any]) -> dict[str, Any]:
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        size = body.get("dimensions") or self.scenario.settings["dimensions"]
        rows = [{"object": "embedding", "index": i, "embedding": vector(text, size)} for i, text in enumerate(texts)]
        if action.get("reply") == "short":
            rows = rows[:-1]
        if action.get("reply") == "shuffled":
            rows.reverse()
        if action.get("reply") == "nan":
            rows[0]["embedding"] = [float("nan")] * size
        if body.get("encoding_format") == "base64":
            rows = [{**row, "embedding": packed(row["embedding"])} for row in rows]
        self.counters.worked_on("embed", *texts)
        tokens = sum(map(count_tokens, texts))
        self.counters.bill("embeddings", {"prompt_tokens": tokens, "completion_tokens": 0})
        usage = {"usage": {"prompt_tokens": tokens, "total_tokens": tokens}} if self.scenario.settings["usage"] else {}
        return {"object": "list", "data": rows, "model": body["model"], **usage}

    def _rerank_answer(self, body: dict[str, Any], action: dict[str, Any]) -> dict[str, Any]:
        query, documents = body["query"], body["documents"]
        self.counters.worked_on("rerank", *(f"{query}\0{text}" for text in documents))
        rows = results_for(query, documents, action.get("reply", "good"))
        return {"id": f"rerank-{self.counters.requests.total()}", "results": rows[: body.get("top_n", len(documents))]}


def _fails_after_work(action: dict[str, Any]) -> bool:
    """Whether a request is worked on and billed, although no reply to it arrives."""
    broken = action.get("connection") in ("refuse", "garbage")
    return broken or bool(action.get("hang")) or action.get("status", 0) >= 500


def _schema(body: dict[str, Any], system: str) -> dict[str, Any]:
    """Return the schema that is asked for: from the response format, else one in the messages, else that of a text."""
    wanted = body.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        return dict(wanted["json_schema"]["schema"])
    decoder = json.JSONDecoder()
    texts = [system, *(_text(m["content"]) for m in body["messages"])]
    for text in texts:
        for start in (i for i, char in enumerate(text) if char == "{"):
            try:
                found, _ = decoder.raw_decode(text, start)
            except ValueError:
                continue
            if isinstance(found, dict) and "properties" in found:
                return found
    return {"type": "object", "properties": {}} if wanted else {"type": "string"}


def _text(content: Any) -> str:
    """Return the text of a message, which may come in parts."""
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part.get("type") == "text")
    return content if isinstance(content, str) else ""


def _weighed(body: dict[str, Any], content: str | None, logprob: float) -> dict[str, Any] | None:
    """Return a likelihood for every four characters of a reply, if the request asks for likelihoods."""
    if not body.get("logprobs") or content is None:
        return None
    pieces = [content[start : start + 4] for start in range(0, len(content), 4)]
    return {"content": [{"token": piece, "logprob": logprob, "top_logprobs": []} for piece in pieces]}
