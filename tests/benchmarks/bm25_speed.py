"""BM25 over 100,000 and 1,000,000 synthetic chunks: queries per CPU second beside bm25s and tantivy.

Every tool is a process of its own that reads the same file of chunks, indexes it once and searches all queries
``rows.TIMES`` times. Medians are printed; goldbench's rate over each peer's is its ratio. All cut texts into lower-case
words and leave out nothing.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.benchmarks import rows
from tests.benchmarks.environments import python_with
from tests.benchmarks.synthetic_text import paragraphs

BARS = {100_000: 2_500, 1_000_000: 150}
"""Queries per CPU second that goldbench must answer, by the number of chunks."""
TOP, QUERIES = 10, 1_000
PEERS = ("bm25s==0.3.16", "numba==0.68.1", "tantivy==0.27.0")

COMMON = """
import json, resource, statistics, sys, time
folder, top, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[4])
def chunks():
    with open(folder + "/chunks.txt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            yield f"c{number:07}", line.rstrip("\\n")
queries = open(folder + "/queries.txt", encoding="utf-8").read().splitlines()[:int(sys.argv[3])]
def measured(index, search):
    started = time.process_time()
    index()
    index_s, taken = time.process_time() - started, []
    search(queries[:5])
    for _ in range(times):
        started = time.process_time()
        results = search(queries)
        taken.append(time.process_time() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rate = len(queries) / statistics.median(taken)
    print(json.dumps({"index_s": index_s, "rate": rate, "peak_mb": peak, "results": results}))
"""

GOLDBENCH = (
    COMMON
    + """
from goldbench.retrieval.bm25 import BM25
from goldbench.retrieval.system_settings import Analyzer
from goldbench.retrieval.system_settings import BM25Settings
from goldbench.retrieval.tokens import tokenizer
found = BM25(BM25Settings(), tokens=tokenizer(Analyzer.UNICODE))
def search(some):
    run = found.search({str(number): query for number, query in enumerate(some)}, k=top)
    return sum(map(len, run.values()))
measured(lambda: found.index(dict(chunks())), search)
"""
)

BM25S = (
    COMMON
    + """
import bm25s
found = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numba")
cut = dict(stopwords=None, token_pattern=r"[^\\W_]+", show_progress=False)
def index():
    found.index(bm25s.tokenize([text for _, text in chunks()], **cut), show_progress=False)
def search(some):
    tokens = bm25s.tokenize(some, return_ids=False, **cut)
    return int((found.retrieve(tokens, k=top, n_threads=1, show_progress=False).scores > 0).sum())
measured(index, search)
"""
)

TANTIVY = (
    COMMON
    + """
import tantivy
schema = tantivy.SchemaBuilder().add_text_field("id", stored=True, tokenizer_name="raw").add_text_field("text").build()
found = tantivy.Index(schema)
def index():
    writer = found.writer(heap_size=500_000_000, num_threads=1)
    for doc_id, text in chunks():
        writer.add_document(tantivy.Document(id=doc_id, text=text))
    writer.commit()
    writer.wait_merging_threads()
    found.reload()
def search(some):
    searcher, results = found.searcher(), 0
    for query in some:
        hits = searcher.search(found.parse_query(query, ["text"]), top).hits
        results += len([searcher.doc(address)["id"][0] for _, address in hits])
    return results
measured(index, search)
"""
)


def write_chunks(folder: Path, count: int) -> None:
    """Write chunks, a line each, and queries of words of some of them."""
    chance, sources = random.Random(count), []
    kept = max(1, count // QUERIES)
    with (folder / "chunks.txt").open("w", encoding="utf-8") as file:
        for number, text in enumerate(paragraphs(count)):
            file.write(text + "\n")
            if number % kept == 0 and len(sources) < QUERIES:
                sources.append(text)
    lines = []
    for text in sources:
        words = sorted(set(text.replace(".", " ").replace(",", " ").split()))
        lines.append(" ".join(chance.sample(words, min(len(words), chance.randint(3, 8)))))
    (folder / "queries.txt").write_text("\n".join(lines), encoding="utf-8")


def measured(python: Path | str, program: str, folder: Path, queries: int) -> dict[str, float] | str:
    """Run one tool in a process of its own; return what it reports, or in words why it failed.

    Args:
        python: The Python that has the tool.
        program: What it runs.
        folder: Holds the chunks and the queries.
        queries: How many queries are searched.
    """
    done = subprocess.run(
        [str(python), "-c", program, str(folder), str(TOP), str(queries), str(rows.TIMES)],
        env={**os.environ, "PYTHONPATH": str(Path.cwd()), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def figure(found: Mapping[str, float]) -> str:
    """Return the figures of a tool in words."""
    index = f"index {found['index_s']:.1f} CPU s, {found['peak_mb']:,.0f} MB"
    return f"{found['rate']:,.0f} queries/CPU s, {found['results']:,} results; {index}"


def report(count: int, folder: Path) -> None:
    """Measure goldbench and its peers on the chunks of a folder, and print a row for each."""
    ours = measured(sys.executable, GOLDBENCH, folder, QUERIES)
    if isinstance(ours, str):
        sys.exit(ours)
    bar = BARS[count]
    rows.row(
        f"BM25, {count:,} chunks", figure(ours), f"{ours['rate'] / bar:.1f} x", f"{bar:,}", met=ours["rate"] >= bar
    )
    python = python_with("bm25", *PEERS)
    for name, program in (("bm25s with numba", BM25S), ("tantivy", TANTIVY)):
        found = python if isinstance(python, str) else measured(python, program, folder, QUERIES)
        if isinstance(found, str):
            rows.row(f"beside {name}", found, "-", "-", met=False)
        else:
            ratio = ours["rate"] / found["rate"]
            rows.row(f"beside {name}, {count:,} chunks", figure(found), f"{ratio:.2f} x", "1 x", met=ratio >= 1)


def main() -> None:
    """Measure every size and print a table."""
    rows.heading()
    for count in BARS:
        with tempfile.TemporaryDirectory() as place:
            write_chunks(Path(place), count)
            report(count, Path(place))
