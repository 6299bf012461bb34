"""BM25 over 100,000 and 1,000,000 synthetic chunks: seconds to index, queries a second, peak memory, beside two peers.

Every tool is a process of its own that reads the same file of chunks. No peer is a dependency; they are measured where
they are installed, or where the folder that ``GOLDBENCH_BENCH_BM25`` names has them:

    pip install --target peers rank_bm25 tantivy && export GOLDBENCH_BENCH_BM25=$PWD/peers

All cut texts into lower-case words and leave out nothing. rank_bm25 scores every chunk in Python: it gets fewer
queries, and no more than 100,000 chunks. ``CHUNKS`` names the sizes to measure, by commas; ``QUERIES`` how many
queries (1,000).
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks.synthetic_text import paragraphs

SIZES = (100_000, 1_000_000)
TOP = 10
MOST_FOR_RANK_BM25 = 100_000
QUERIES_FOR_RANK_BM25 = 30

COMMON = """
import json, resource, sys, time
folder, top = sys.argv[1], int(sys.argv[2])
def chunks():
    with open(folder + "/chunks.txt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            yield f"c{number:07}", line.rstrip("\\n")
queries = open(folder + "/queries.txt", encoding="utf-8").read().splitlines()[:int(sys.argv[3])]
def report(index_s, search_s, found):
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"index_s": index_s, "rate": len(queries) / search_s, "peak_mb": peak, "found": found}))
"""

GOLDBENCH = (
    COMMON
    + """
from goldbench.pipeline.retrieval.bm25 import BM25
from goldbench.pipeline.retrieval.analyzer_names import Analyzer
from goldbench.pipeline.retrieval.system_settings import BM25Settings
from goldbench.pipeline.retrieval.tokens import tokenizer
started = time.perf_counter()
index = BM25(BM25Settings(), tokens=tokenizer(Analyzer.UNICODE))
index.index(dict(chunks()))
index_s = time.perf_counter() - started
index.search({"warm": queries[0]}, k=top)
started = time.perf_counter()
run = index.search({str(number): query for number, query in enumerate(queries)}, k=top)
report(index_s, time.perf_counter() - started, sum(map(len, run.values())))
"""
)

RANK_BM25 = (
    COMMON
    + """
import numpy as np
from rank_bm25 import BM25Okapi
started = time.perf_counter()
index = BM25Okapi([text.lower().replace(".", " ").replace(",", " ").split() for _, text in chunks()], k1=1.2, b=0.75)
index_s = time.perf_counter() - started
started, found = time.perf_counter(), 0
for query in queries:
    scores = index.get_scores(query.lower().split())
    best = np.argpartition(-scores, top)[:top]
    found += len(best[np.argsort(-scores[best])])
report(index_s, time.perf_counter() - started, found)
"""
)

TANTIVY = (
    COMMON
    + """
import tantivy
schema = tantivy.SchemaBuilder().add_text_field("id", stored=True, tokenizer_name="raw").add_text_field("text").build()
started = time.perf_counter()
index = tantivy.Index(schema)
writer = index.writer(heap_size=500_000_000, num_threads=1)
for doc_id, text in chunks():
    writer.add_document(tantivy.Document(id=doc_id, text=text))
writer.commit()
writer.wait_merging_threads()
index.reload()
index_s = time.perf_counter() - started
searcher = index.searcher()
started, found = time.perf_counter(), 0
for query in queries:
    hits = searcher.search(index.parse_query(query, ["text"]), top).hits
    found += len([searcher.doc(address)["id"][0] for _, address in hits])
report(index_s, time.perf_counter() - started, found)
"""
)


def write_chunks(folder: Path, count: int, queries: int) -> int:
    """Write so many chunks, a line each, and queries of words of some of them; return the bytes of the chunks."""
    chance, sources, written = random.Random(count), [], 0
    kept = max(1, count // queries)
    with (folder / "chunks.txt").open("w", encoding="utf-8") as file:
        for number, text in enumerate(paragraphs(count)):
            written += file.write(text + "\n")
            if number % kept == 0 and len(sources) < queries:
                sources.append(text)
    lines = []
    for text in sources:
        words = sorted(set(text.replace(".", " ").replace(",", " ").split()))
        lines.append(" ".join(chance.sample(words, min(len(words), chance.randint(3, 8)))))
    (folder / "queries.txt").write_text("\n".join(lines), encoding="utf-8")
    return written


def tools(count: int) -> dict[str, tuple[str, int]]:
    """The program of each tool that is here, and how many queries it gets."""
    queries = int(os.environ.get("QUERIES", "1000"))
    found = {"goldbench": (GOLDBENCH, queries)}
    if _is_here("rank_bm25") and count <= MOST_FOR_RANK_BM25:
        found["rank_bm25"] = (RANK_BM25, min(queries, QUERIES_FOR_RANK_BM25))
    if _is_here("tantivy"):
        found["tantivy"] = (TANTIVY, queries)
    return found


def _is_here(package: str) -> bool:
    folder = os.environ.get("GOLDBENCH_BENCH_BM25")
    return importlib.util.find_spec(package) is not None or bool(folder and list(Path(folder).glob(f"{package}*")))


def measured(program: str, folder: Path, queries: int) -> dict[str, Any]:
    """Run one tool in a process of its own; return what it reports."""
    path = os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("GOLDBENCH_BENCH_BM25")]))
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder), str(TOP), str(queries)],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Measure every size and print tables."""
    sizes = [int(size) for size in os.environ.get("CHUNKS", ",".join(map(str, SIZES))).split(",")]
    queries = int(os.environ.get("QUERIES", "1000"))
    for count in sizes:
        with tempfile.TemporaryDirectory() as place:
            size = write_chunks(Path(place), count, queries)
            print(f"\nBM25, {count:,} chunks of {size // count} characters, top {TOP}; load {os.getloadavg()[0]:.1f}")
            print(f"{'':10} {'queries/s':>10} {'queries':>8} {'index s':>8} {'peak MB':>8}  (our rate over theirs)")
            ours = 0.0
            for name, (program, asked) in tools(count).items():
                found = measured(program, Path(place), asked)
                ours = ours or found["rate"]
                ratio = "" if name == "goldbench" else f"{ours / found['rate']:8.1f} x"
                figures = f"{found['rate']:10.1f} {asked:8,} {found['index_s']:8.1f} {found['peak_mb']:8.0f}"
                print(f"{name:10} {figures} {ratio}", flush=True)


if __name__ == "__main__":
    main()
