"""The same chunks through other generators: seconds, queries, requests, and the ratio to goldbench in the same run.

No peer is a dependency: each lives in an environment of its own, made when it is first measured. ragas and
llama-index-finetuning do not import without their upper bounds. ragas fetches the table of its tokenizer when first
used: without a network, ``TIKTOKEN_CACHE_DIR`` names a folder with it.

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

from tests.benchmarks.environments import python_with
from tests.benchmarks.model_speed import CONCURRENCY, Server, serving
from tests.benchmarks.rows import TIMES, heading, row

CHUNKS, LATENCY_MS, BAR = 50, 200, 1.0
ROUNDS = min(TIMES, 3)
"""How often each is measured; some take half a minute."""
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
    """A generator, its driver, what the driver is told, and the packages of its environment."""

    name: str
    driver: str
    arguments: tuple[str, ...] = ()
    environment: str = ""
    packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """A run: the package's version, seconds, queries, requests the server saw, the most at once, what else to say."""

    version: str
    seconds: float
    queries: int
    requests: int
    in_flight: int
    note: str


LLAMA = ("llama-index-core", "llama-index-llms-openai-like", "llama-index-finetuning==0.4.2", "mistralai<2")
GOLDBENCH = Peer("goldbench", "drive_goldbench.py")
PEERS = (
    Peer("ragas", "drive_ragas.py", (), "ragas", ("ragas==0.4.3", "langchain-community<0.4", "rapidfuzz")),
    Peer("deepeval", "drive_deepeval.py", (), "deepeval", ("deepeval",)),
    Peer("llama-index", "drive_llama_index.py", ("pairs",), "llama-index", LLAMA),
    Peer("llama-index, no labels", "drive_llama_index.py", ("questions",), "llama-index", LLAMA),
)


def main() -> None:
    """Measure and print the rows: every program in a process of its own, all in turn."""
    heading()
    pythons = {peer: python_with(peer.environment, *peer.packages) for peer in PEERS}
    texts = chunk_texts(CHUNKS)
    found: dict[Peer, list[Measured | str]] = {peer: [] for peer in (GOLDBENCH, *PEERS)}
    with serving(LATENCY_MS) as server:
        for _ in range(ROUNDS):
            for peer, measured in found.items():
                python = pythons.get(peer, Path(sys.executable))
                failed = measured and isinstance(measured[0], str)
                if not failed:
                    measured.append(python if isinstance(python, str) else _measured(peer, python, server, texts))
    ours = _median(found[GOLDBENCH])
    if isinstance(ours, str):
        raise SystemExit(f"goldbench {ours}")
    _say(GOLDBENCH, ours, ours)
    for peer in PEERS:
        _say(peer, _median(found[peer]), ours)


def _median(measured: Sequence[Measured | str]) -> Measured | str:
    """Return the run with the median of the seconds, or why there is none."""
    failure = next((one for one in measured if isinstance(one, str)), None)
    if failure is not None:
        return failure
    runs = sorted((one for one in measured if isinstance(one, Measured)), key=lambda one: one.seconds)
    return runs[len(runs) // 2]


def chunk_texts(count: int) -> list[str]:
    """Return texts of chunks as goldbench cuts them, from all over a made-up corpus."""
    from goldbench.stages.chunk import chunk_documents
    from tests.benchmarks.synthetic_text import documents

    long_enough = (chunk.text for chunk in chunk_documents(documents(1)) if len(chunk.text) >= 500)
    return list(itertools.islice(long_enough, 0, count * 7, 7))


def _measured(peer: Peer, python: Path, server: Server, texts: Sequence[str]) -> Measured | str:
    server.control("reset")
    with tempfile.TemporaryDirectory() as folder:
        done = drive(peer, python, server.base_url, texts, Path(folder))
    if isinstance(done, str):
        return done
    seen = server.control("stats")
    requests = sum(seen["by_kind"].values())
    note = done.get("note", "")
    return Measured(done["version"], done["seconds"], done["queries"], requests, seen["in_flight_max"], note)


def _say(peer: Peer, measured: Measured | str, ours: Measured) -> None:
    what = f"{CHUNKS} chunks, one query of each: {peer.name}"
    if isinstance(measured, str):
        print(f"| {what} | {measured} | | | not measured |", flush=True)
        return
    ratio = measured.seconds / ours.seconds
    row(
        f"{what} {measured.version}",
        f"{measured.seconds:.2f} s, {measured.queries} queries, {measured.requests} requests, "
        f"at most {measured.in_flight} at once",
        f"{ratio:.1f} x goldbench ({ours.seconds:.2f} s)",
        f"{BAR} x or more",
        met=ratio >= BAR,
    )


def drive(peer: Peer, python: Path, base_url: str, texts: Sequence[str], folder: Path) -> dict[str, Any] | str:
    """Return what a peer's driver measured, or, in words, why it measured nothing."""
    task, answer, errors = folder / "task.json", folder / "answer.json", folder / "errors.txt"
    task.write_text(json.dumps({"base_url": base_url, "concurrency": CONCURRENCY, "chunks": texts}), encoding="utf-8")
    own = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment = {**own, **QUIET, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": base_url, "HOME": str(folder)}
    if peer is GOLDBENCH:
        environment["PYTHONPATH"] = str(DRIVERS.parents[2])
    command = [str(python), str(DRIVERS / peer.driver), str(task), str(answer), *peer.arguments]
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
