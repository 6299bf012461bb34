"""Whole commands that call a model, each a cold process, beside a bare client's process that sends the same requests.

A server on loopback answers after 200 ms. Grading is measured from the first request to the last answer, as the server
sees it; a build from the start of the process to its end. The server takes a core of its own for some 3 ms a call, of
both alike.
"""

from __future__ import annotations

import json
import math
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.benchmarks.model_speed import CONCURRENCY, Server, serving
from tests.benchmarks.peers import chunk_texts
from tests.benchmarks.rows import Taken, heading, in_turn, process, row

LATENCY_MS, PASSAGES, QUERIES, BUILT = 200, 500, 30, 50
IDEAL = 1000 * CONCURRENCY / LATENCY_MS
CALLS_PER_S, RATIO = 150, 1.4

BARE = """
import asyncio, json, sys
from openai import AsyncOpenAI
async def main():
    with open(sys.argv[1]) as file:
        bodies = json.load(file)
    gate = asyncio.Semaphore(int(sys.argv[3]))
    async with AsyncOpenAI(base_url=sys.argv[2], api_key="none", max_retries=0) as client:
        async def call(body):
            async with gate:
                await client.chat.completions.create(**body)
        await asyncio.gather(*map(call, bodies))
asyncio.run(main())
"""


@dataclass(slots=True)
class Bench:
    """A server and a folder to work in; ``calls`` holds how many requests the last command sent."""

    server: Server
    place: Path
    calls: int = 0
    bodies: list[dict[str, Any]] = field(default_factory=list)

    def goldbench(self, *arguments: str) -> Taken:
        """Run a command."""
        return process([sys.executable, "-m", "goldbench", *arguments], folder=self.place)

    def asking(self, *arguments: str) -> Taken:
        """Run a command that asks the model, with an empty store of answers."""
        for path in self.place.glob("answers.sqlite*"):
            path.unlink()
        model = ("--model", "bench", "--base-url", self.server.base_url, "--concurrency", str(CONCURRENCY))
        self.server.control("reset")
        taken = self.goldbench(*arguments, *model, "--answers", "answers.sqlite")
        self.calls = self.server.control("stats")["requests"]
        self.bodies = [item["body"] for item in self.server.control("requests") if item["kind"] == "chat"]
        return taken

    def bare(self) -> Taken:
        """Send as many requests as the last command did, with its bodies, from a process that does nothing else."""
        bodies = self.place / "bodies.json"
        bodies.write_text(json.dumps((self.bodies * math.ceil(self.calls / len(self.bodies)))[: self.calls]), "utf-8")
        self.server.control("reset")
        command = [sys.executable, "-c", BARE, str(bodies), self.server.base_url, str(CONCURRENCY)]
        return process(command, folder=self.place)

    def answering(self, take: Callable[[], Taken]) -> Taken:
        """Return what a process took, with the seconds from its first request to its last answer on the clock."""
        taken = take()
        return Taken(self.server.control("stats")["busy_s"], taken.cpu, taken.memory)


def main() -> None:
    """Measure and print the rows."""
    heading()
    with serving(LATENCY_MS) as server, tempfile.TemporaryDirectory() as folder:
        bench = Bench(server, Path(folder))
        _grading(bench)
        _building(bench)


def _grading(bench: Bench) -> None:
    _write_rows(bench.place / "passages.jsonl", PASSAGES)
    offline = ("--no-chunk", "--generator", "simulated", "--queries", str(QUERIES), "--out", "built")
    bench.goldbench("build", "passages.jsonl", *offline)
    settings = {"latency_ms": LATENCY_MS, "judge": {"truth": _truth(bench.place / "built")}}
    bench.server.control("script", {"settings": settings})
    calls: list[int] = []

    def grade() -> Taken:
        shutil.rmtree(bench.place / "graded", ignore_errors=True)
        shutil.copytree(bench.place / "built", bench.place / "graded")
        taken = bench.answering(lambda: bench.asking("grade", "graded"))
        calls.append(bench.calls)
        return taken

    turn = in_turn({"goldbench": grade, "bare": lambda: bench.answering(bench.bare)})
    count = statistics.median(calls)
    ours, bare = (count / turn[name].clock for name in ("goldbench", "bare"))
    row(
        f"`grade`, {PASSAGES} passages, {count:.0f} calls of {LATENCY_MS} ms, {CONCURRENCY} at once",
        f"{ours:.0f} calls/s, {turn['goldbench'].cpu:.1f} s of CPU for the whole command",
        f"{ours / IDEAL:.2f} of the ideal {IDEAL:.0f}, {ours / bare:.2f} x the bare client's {bare:.0f}",
        f"{CALLS_PER_S} calls/s",
        met=ours >= CALLS_PER_S,
    )


def _building(bench: Bench) -> None:
    _write_rows(bench.place / "rows.jsonl", BUILT)
    bench.server.control("script", {"settings": {"latency_ms": LATENCY_MS}})

    def build() -> Taken:
        shutil.rmtree(bench.place / "set", ignore_errors=True)
        asked = ("--no-chunk", "--generator", "model", "--queries", str(BUILT), "--out", "set")
        return bench.asking("build", "rows.jsonl", *asked)

    turn = in_turn({"goldbench": build, "bare": bench.bare})
    ours, bare = turn["goldbench"], turn["bare"]
    row(
        f"`build`, {BUILT} rows, {bench.calls} calls of {LATENCY_MS} ms, whole process",
        f"{ours.clock:.2f} s, {ours.cpu:.2f} s of CPU",
        f"{ours.clock / bare.clock:.2f} x the bare client's process ({bare.clock:.2f} s, {bare.cpu:.2f} s of CPU)",
        f"{RATIO} x",
        met=ours.clock <= RATIO * bare.clock,
    )


def _write_rows(path: Path, count: int) -> None:
    rows = (json.dumps({"id": f"c{number}", "text": text}) for number, text in enumerate(chunk_texts(count)))
    path.write_text("\n".join(rows), "utf-8")


def _truth(folder: Path) -> dict[str, dict[str, int]]:
    """Return the grade of each query's source, so that the judge passes the judge checks."""
    chunks = {row["chunk_id"]: row["text"] for row in map(json.loads, (folder / "1-chunks.jsonl").open("rb"))}
    queries = map(json.loads, (folder / "3-queries.jsonl").open("rb"))
    return {query["text"]: {chunks[query["chunk_id"]]: 3} for query in queries}
