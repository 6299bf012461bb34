"""The model path against a bare loop: same client, same concurrency, same number of calls, in one run.

A server on loopback answers after a while. The bare loop sends what the build sends and does nothing with the answers.
"""

from __future__ import annotations

import asyncio
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.rows import TIMES, heading, row

CONCURRENCY = 64
BUILD_RATIO, IDEAL_SHARE = 1.3, 0.95


@dataclass(frozen=True, slots=True)
class Round:
    """One build and the bare loop over what it sent: seconds, requests, accepted queries."""

    build: float
    bare: float
    requests: int
    queries: int


@dataclass(frozen=True, slots=True)
class Server:
    """A running model server."""

    base_url: str
    control_url: str

    def control(self, path: str, script: dict[str, Any] | None = None) -> Any:
        """Return what the server says; ``reset`` forgets every count, ``script`` takes what the server is to do."""
        data = json.dumps(script or {}).encode() if path in {"reset", "script"} else None
        request = urllib.request.Request(f"{self.control_url}/{path}", data, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.loads(response.read())


def main() -> None:
    """Measure and print the rows."""
    heading()
    with serving(200) as server:
        _say("50 chunks at 200 ms, one call each", _rounds(server, 50, repeats=TIMES))
    with serving(1000) as server:
        build = statistics.median(item.build for item in _rounds(server, 640, repeats=1, bare=False))
        share = 640 / CONCURRENCY / build
        figure = f"{640 / build:.1f} requests/s"
        row(
            "640 prompts at 1 s",
            figure,
            f"{share:.2f} of the ideal {CONCURRENCY}",
            f"{IDEAL_SHARE}",
            met=share >= IDEAL_SHARE,
        )


@contextmanager
def serving(latency_ms: int) -> Iterator[Server]:
    """Run a model server that answers after ``latency_ms``."""
    command = [sys.executable, "-m", "tests.model_server", "--port", "0", "--latency-ms", str(latency_ms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            where = json.loads(process.stdout.readline())
            yield Server(where["base_url"], where["control_url"])
        finally:
            process.terminate()


def _say(what: str, rounds: Sequence[Round]) -> None:
    ratio = statistics.median(item.build / item.bare for item in rounds)
    requests, queries = sum(item.requests for item in rounds), sum(item.queries for item in rounds)
    row(
        f"{what}, from the first question to the last check",
        f"{statistics.median(item.build for item in rounds):.2f} s, {requests / queries:.2f} requests per query",
        f"{ratio:.2f} x a bare loop ({statistics.median(item.bare for item in rounds):.2f} s)",
        f"{BUILD_RATIO} x",
        met=ratio <= BUILD_RATIO,
    )


def _rounds(server: Server, chunks: int, *, repeats: int, bare: bool = True) -> list[Round]:
    return asyncio.run(_measure(server, chunks, repeats, bare=bare))


async def _measure(server: Server, chunks: int, repeats: int, *, bare: bool) -> list[Round]:
    from goldbench.config import load_config
    from goldbench.formats.documents.sources import find_files
    from goldbench.generate import flow
    from goldbench.generate.writers import ModelWriter
    from tests.benchmarks.build_speed import Clock, write_corpus

    model = {"name": "bench", "base_url": server.base_url, "concurrency": CONCURRENCY}
    generate = {"generator": "model", "queries": chunks}
    config = load_config(None, {"generate": generate, "model": model})
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(Path(folder, "documents"), math.ceil(chunks / 500))
        files = find_files([str(Path(folder, "documents"))])
        for repeat in range(repeats):
            writer, clock = ModelWriter(config, Path(folder, f"answers-{repeat}.sqlite"), ""), Clock(time.perf_counter)
            server.control("reset")
            result = await flow.build(writer, files, Path(folder, f"run-{repeat}"), progress=clock)
            requests = server.control("stats")["requests"]
            seconds = math.nan
            if bare:
                bodies = [item["body"] for item in server.control("requests") if item["kind"] == "chat"]
                sent = (bodies * math.ceil(requests / len(bodies)))[:requests]  # the server keeps the first bodies only
                seconds = await bare_loop(server.base_url, sent)
            rounds.append(Round(clock.seconds["generate"], seconds, requests, result.manifest.queries))
    return rounds


async def bare_loop(base_url: str, bodies: Sequence[dict[str, Any]]) -> float:
    """Return the seconds a loop over the same client takes to send what the build sent, connecting included."""
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    async with DefaultAsyncHttpxClient() as http:
        client = AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0, http_client=http)
        gate = asyncio.Semaphore(CONCURRENCY)

        async def call(body: dict[str, Any]) -> None:
            async with gate:
                await client.chat.completions.create(**body)

        started = time.perf_counter()
        await asyncio.gather(*map(call, bodies))
        return time.perf_counter() - started
