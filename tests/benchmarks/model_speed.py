"""The model path against a bare loop: same client, same concurrency, same number of calls, in one run.

A server on loopback answers after 200 ms. The bare loop sends what the build sends and does nothing with the answers.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

CHUNKS = 50
LATENCY_MS = 200
CONCURRENCY = 64
REPEATS = 5


def main() -> None:
    """Measure and print ratios."""
    command = [sys.executable, "-m", "tests.model_server", "--port", "0", "--latency-ms", str(LATENCY_MS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            where = json.loads(server.stdout.readline())
            asyncio.run(_measure(where["base_url"], where["control_url"]))
        finally:
            server.terminate()


async def _measure(base_url: str, control_url: str) -> None:
    from pipeline import flow
    from pipeline.config import load_config
    from pipeline.formats.sources import find_files
    from pipeline.wiring import ModelWriter
    from tests.benchmarks.build_speed import Clock, write_corpus

    model = {"name": "bench", "base_url": base_url, "concurrency": CONCURRENCY}
    config = load_config(None, {"generate": {"generator": "model", "queries": CHUNKS}, "model": model})
    builds, bares, requests, queries = [], [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(Path(folder, "documents"), 1)
        for repeat in range(REPEATS):
            writer, clock = ModelWriter(config, Path(folder, f"answers-{repeat}.sqlite"), ""), Clock(time.perf_counter)
            _control(control_url, "reset")
            out = Path(folder, f"run-{repeat}")
            found = find_files([str(Path(folder, "documents"))])
            result = await flow.build(writer, found, out, progress=clock)
            requests += _control(control_url, "stats")["requests"]
            queries += result.manifest.queries
            builds.append(clock.seconds["generate"])
            bodies = [item["body"] for item in _control(control_url, "requests") if item["kind"] == "chat"]
            bares.append(await bare_loop(base_url, bodies, CONCURRENCY))
    ratio = statistics.median(build / bare for build, bare in zip(builds, bares, strict=True))
    print(f"{CHUNKS} chunks at {LATENCY_MS} ms, {CONCURRENCY} in flight, medians of {REPEATS}")
    print(f"  bare loop {statistics.median(bares):.3f} s, build {statistics.median(builds):.3f} s: {ratio:.2f} x")
    print(f"  {requests / queries:.2f} requests per accepted query ({queries // REPEATS} queries a run)")


async def bare_loop(base_url: str, bodies: list[dict[str, Any]], concurrency: int) -> float:
    """Return the seconds a loop over the same client takes to send what the build sent, connecting included."""
    from openai import AsyncOpenAI, DefaultAioHttpClient

    gate = asyncio.Semaphore(concurrency)
    async with DefaultAioHttpClient() as http:
        client = AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0, http_client=http)

        async def call(body: dict[str, Any]) -> None:
            async with gate:
                await client.chat.completions.create(**body)

        started = time.perf_counter()
        await asyncio.gather(*(call(body) for body in bodies))
        return time.perf_counter() - started


def _control(control_url: str, path: str) -> Any:
    data = b"{}" if path == "reset" else None
    request = urllib.request.Request(f"{control_url}/{path}", data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.loads(response.read())
