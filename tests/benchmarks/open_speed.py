"""The workbench over 100,000 passages: how long it takes to start, to list 2,000 queries, and to open one.

The time of a query is that of its request over a socket, from the first byte sent to the last byte read.
"""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks import card_speed, rows

PASSAGES, QUERIES, SYSTEMS, DEPTH = 100_000, 2_000, 5, 100
OPENED = 400
"""Queries that are opened, one after another, each once."""
P95_MS, LIST_S = 200.0, 10.0
"""The bars: milliseconds in which 95 of 100 queries are open, and seconds until the list is there the first time."""
GOLDBENCH = str(Path(sys.executable).with_name("goldbench"))


def write_set(folder: Path) -> list[str]:
    """Write a set and runs that agree in part; return the ids of the queries."""
    card_speed.write_set(folder, PASSAGES, QUERIES)
    dataset = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
    relevant, ids = dataset["relevant_docs"], list(dataset["corpus"])
    (folder / "runs").mkdir()
    for system in range(SYSTEMS):
        _write_run(folder / "runs" / f"system-{system}.trec", relevant, ids, random.Random(system))
    return list(relevant)


def _write_run(path: Path, relevant: dict[str, list[str]], ids: list[str], chance: random.Random) -> None:
    """Write a run whose results are random, with the relevant passage at a random rank in two of three queries."""
    with path.open("w", encoding="utf-8") as file:
        for query_id, (source,) in relevant.items():
            found = chance.sample(ids, DEPTH)
            if chance.random() < 2 / 3:
                found[min(DEPTH - 1, int(chance.expovariate(0.2)))] = source
            for rank, doc_id in enumerate(dict.fromkeys(found)):
                file.write(f"{query_id} Q0 {doc_id} {rank + 1} {DEPTH - rank} {path.stem}\n")


def _started(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """Start the server; return it and its link."""
    command = [GOLDBENCH, "open", str(folder), "--port", "0", "--annotator", "anna"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.match(r"anna: (http://\S+)", line):
            return process, found[1]
    raise AssertionError(f"the server ended: {process.wait()}")


def _opened_ms(client: Any, queries: list[str]) -> list[float]:
    taken = []
    for query_id in queries:
        begin = time.perf_counter()
        answer = client.get(f"/api/query?id={query_id}")
        taken.append(1000 * (time.perf_counter() - begin))
        assert answer.status == 200
        assert len(answer.json["systems"]) == SYSTEMS
    return taken


def main() -> None:
    """Measure, and print a table."""
    from tests.review.test_http import Client

    rows.heading()
    what = f"{PASSAGES:,} passages, {QUERIES:,} queries, {SYSTEMS} systems"
    with tempfile.TemporaryDirectory() as place:
        queries = write_set(Path(place))
        begin = time.perf_counter()
        process, link = _started(Path(place))
        try:
            started = time.perf_counter() - begin
            client = Client(int(link.split(":")[2].partition("/")[0])).enter(link)
            alone = _opened_ms(client, queries[:1])[0]
            begin = time.perf_counter()
            assert len(client.get("/api/list").json["rows"]) == QUERIES
            listed = time.perf_counter() - begin
            taken = _opened_ms(client, random.Random(1).sample(queries, OPENED))
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()
    p50, p95 = np.percentile(taken, [50, 95])
    figure = (
        f"p50 {p50:.0f} ms, p95 {p95:.0f} ms of {OPENED}; the very first {alone:.0f} ms; started in {started:.1f} s"
    )
    rows.row(f"open a query, {what}", figure, f"{p95 / P95_MS:.2f} x", f"{P95_MS:g} ms", met=p95 <= P95_MS)
    rows.row(f"list, {what}", f"{listed:.1f} s", f"{listed / LIST_S:.2f} x", f"{LIST_S:g} s", met=listed <= LIST_S)
