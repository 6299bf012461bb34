"""The same chunks through other generators: seconds, queries, requests, and the ratio to goldbench in the same run.

No peer is a dependency. Each lives in an environment of its own, and an environment variable holds the path of its
python; a peer whose variable is not set is said to be not installed. What works with the releases of November 2026:

    uv venv peers/ragas && uv pip install --python peers/ragas ragas 'langchain-community<0.4' rapidfuzz
    uv venv peers/deepeval && uv pip install --python peers/deepeval deepeval
    uv venv peers/llama && uv pip install --python peers/llama \\
        llama-index-core llama-index-llms-openai-like llama-index-finetuning 'mistralai<2'
    export GOLDBENCH_BENCH_RAGAS=$PWD/peers/ragas/bin/python
    export GOLDBENCH_BENCH_DEEPEVAL=$PWD/peers/deepeval/bin/python
    export GOLDBENCH_BENCH_LLAMA_INDEX=$PWD/peers/llama/bin/python

The two upper bounds are there because ragas 0.4.3 and llama-index-finetuning 0.4.2 do not import without them. ragas
fetches the table of its tokenizer when first used: without a network, ``TIKTOKEN_CACHE_DIR`` names a folder with it.

What a driver imports is left out of the seconds. A peer's run from texts in memory to queries in memory; goldbench's
are those of a whole build in a cold process, from a file to a published gold set, checks and the loading of the
language detector included.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.model_speed import CONCURRENCY, Server

CHUNKS = 50
TIMEOUT_S = 180
DRIVERS = Path(__file__).with_name("drivers")
QUIET = {
    "ANONYMIZED_TELEMETRY": "false",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "RAGAS_DO_NOT_TRACK": "true",
}
"""Opt-outs of telemetry and tracing, of the peers and of what they bring along."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A generator, the variable that says where its python is, its driver and what the driver is told."""

    name: str
    variable: str
    driver: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """A run: the package's version, seconds, queries, requests the server saw, the most at once, what else to say."""

    version: str
    seconds: float
    queries: int
    requests: int
    in_flight: int
    note: str


GOLDBENCH = Peer("goldbench", "", "drive_goldbench.py")
PEERS = (
    Peer("ragas", "GOLDBENCH_BENCH_RAGAS", "drive_ragas.py"),
    Peer("deepeval", "GOLDBENCH_BENCH_DEEPEVAL", "drive_deepeval.py"),
    Peer("llama-index", "GOLDBENCH_BENCH_LLAMA_INDEX", "drive_llama_index.py", ("pairs",)),
    Peer("llama-index, no labels", "GOLDBENCH_BENCH_LLAMA_INDEX", "drive_llama_index.py", ("questions",)),
)


def compare(server: Server) -> None:
    """Print a line for goldbench and one for every peer."""
    texts = chunk_texts(CHUNKS)
    print(f"  {CHUNKS} chunks beside others, one query of each asked for, every program in a process of its own:")
    ours = _measured(GOLDBENCH, sys.executable, server, texts)
    if isinstance(ours, str):
        raise SystemExit(f"goldbench {ours}")
    _say(GOLDBENCH, ours, None)
    for peer in PEERS:
        python = os.environ.get(peer.variable)
        missing = f"not installed ({peer.variable} is not set)"
        _say(peer, _measured(peer, python, server, texts) if python else missing, ours)


def chunk_texts(count: int) -> list[str]:
    """Return texts of chunks as goldbench cuts them, from all over a made-up corpus."""
    from goldbench.pipeline.stages.chunk import chunk_documents
    from tests.benchmarks.synthetic_text import documents

    long_enough = (chunk.text for chunk in chunk_documents(documents(1)) if len(chunk.text) >= 500)
    return list(itertools.islice(long_enough, 0, count * 7, 7))


def _measured(peer: Peer, python: str, server: Server, texts: Sequence[str]) -> Measured | str:
    server.control("reset")
    with tempfile.TemporaryDirectory() as folder:
        done = drive(peer, python, server.base_url, texts, Path(folder))
    if isinstance(done, str):
        return done
    seen = server.control("stats")
    requests = sum(seen["by_kind"].values())
    note = done.get("note", "")
    return Measured(done["version"], done["seconds"], done["queries"], requests, seen["in_flight_max"], note)


def _say(peer: Peer, measured: Measured | str, ours: Measured | None) -> None:
    if isinstance(measured, str):
        print(f"    {peer.name:<24} {measured}", flush=True)
        return
    ratio = f"{measured.seconds / ours.seconds:>5.1f} x goldbench" if ours else measured.note
    print(
        f"    {peer.name:<24} {measured.version:<8} {measured.seconds:>6.2f} s  {measured.queries:>3} queries  "
        f"{measured.requests:>4} requests, at most {measured.in_flight:>2} in flight  {ratio}",
        flush=True,
    )


def drive(peer: Peer, python: str, base_url: str, texts: Sequence[str], folder: Path) -> dict[str, Any] | str:
    """Return what a peer's driver measured, or, in words, why it measured nothing."""
    task, answer, errors = folder / "task.json", folder / "answer.json", folder / "errors.txt"
    task.write_text(json.dumps({"base_url": base_url, "concurrency": CONCURRENCY, "chunks": texts}), encoding="utf-8")
    own = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment = {**own, **QUIET, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": base_url, "HOME": str(folder)}
    if peer is GOLDBENCH:
        environment["PYTHONPATH"] = str(DRIVERS.parents[2])
    command = [python, str(DRIVERS / peer.driver), str(task), str(answer), *peer.arguments]
    with errors.open("wb") as said:
        try:
            process = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"cut off after {TIMEOUT_S} s"
        except OSError as error:
            return f"cannot be started: {error.strerror}: {python}"
    if process.returncode:
        last = errors.read_text("utf-8", "replace").strip().splitlines()[-1:]
        return f"failed with exit code {process.returncode}{f': {last[0][:90]}' if last else ''}"
    measured: dict[str, Any] = json.loads(answer.read_text("utf-8"))
    return measured
