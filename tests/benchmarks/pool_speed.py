"""Pooling and what follows the judge at 10,000 and 100,000 chunks, 1,000 queries: seconds, and peak memory.

Each size is a set of its own in a folder, pooled by a process of its own by the three built-in retrievers; the judge
is left out, every pair gets a grade drawn from its ids, and labels, flags and files are made of these.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.build_speed import Clock

SIZES = (10_000, 100_000)
QUERIES = 1000
CHARACTERS = 1000


def child(folder: str, place: str) -> None:
    """Pool one set, label it and write it; print what it took."""
    from goldbench.config import GradeSettings
    from goldbench.goldset.folder import Draft, GoldFolder
    from goldbench.grade.calls import Answered, Answers, Slot
    from goldbench.grade.outcome import figures, outcome_of, write_graded
    from goldbench.grade.pool import Pools, pool_of, read_gradable
    from goldbench.grade.preparation import pool_settings
    from goldbench.records.judgment import Judgment
    from goldbench.records.relevance import Relevance
    from goldbench.systems import open_systems

    started, clock = time.process_time(), Clock()
    home = GoldFolder(Path(folder))
    gold = read_gradable(home, home.manifest())
    names = ("bm25", "ngrams", "lsi")
    with open_systems(names, pool_settings("en")) as systems:
        pools = Pools(names, lambda _: {name: systems.retriever(name) for name in names})
        pool = pool_of(gold, pools, clock, depth=10)
    pooled = time.process_time()
    answers = Answers()
    for query in gold.queries:
        for row in pool.pairs[query.query_id]:
            if row.shared_from is None:
                grade = Relevance(hashlib.blake2b(row.chunk_id.encode(), digest_size=1).digest()[0] % 4)
                found = Judgment(query_id=row.query_id, chunk_id=row.chunk_id, relevance=grade, assessor="drawn")
                answers.slots.append(Answered(Slot(query, row.chunk_id), (found,)))
    made = outcome_of(gold, pool, answers)
    write_graded(Draft(Path(place)), gold, pool, made, figures(GradeSettings(), ["drawn"], pool, answers, made))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = {**clock.seconds, "pool": pooled - started, "labels": time.process_time() - pooled}
    print(json.dumps({"seconds": seconds, "peak_mb": peak, "pairs": len(pool)}))


def main() -> None:
    """Measure every size and print a table."""
    sizes = [int(size) for size in os.environ.get("SIZES", "").split(",") if size] or list(SIZES)
    print(f"Pool of BM25, character n-grams and LSI, depth 10, {QUERIES:,} queries; one process, CPU seconds")
    print(f"{'chunks':>8} {'pairs':>8} {'pool s':>8} {'labels s':>9} {'peak MB':>8}   seconds by stage")
    measured: dict[int, float] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            _write(Path(folder, "set"), size)
            place = Path(folder, "place")
            place.mkdir()
            command = [sys.executable, "-m", "tests.benchmarks.pool_speed", str(Path(folder, "set")), str(place)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(done.stderr)
        found = json.loads(done.stdout)
        seconds = found["seconds"]
        measured[size] = seconds["pool"] + seconds["labels"]
        stages = "  ".join(f"{name} {took:.1f}" for name, took in seconds.items() if name not in {"pool", "labels"})
        print(
            f"{size:>8,} {found['pairs']:>8,} {seconds['pool']:>8.1f} {seconds['labels']:>9.1f} "
            f"{found['peak_mb']:>8,.0f}   {stages}",
            flush=True,
        )
    for small, large in itertools.pairwise(sizes):
        ratio = measured[large] / measured[small]
        print(f"{large / small:.0f} times the chunks take {ratio:.1f} times the time")


def _words(text: str) -> str:
    """Return eight words of a text, from its sixth on, or all of a short one."""
    words = text.split()
    return " ".join(words[5:13] or words)


def _write(folder: Path, size: int) -> None:
    """Write a set of so many chunks, as a build does."""
    from goldbench.formats.jsonl import RecordFile
    from goldbench.goldset.dataset import GoldContents, Passage, write_gold
    from goldbench.goldset.publication import publish, staging
    from goldbench.records.corpus import Chunk, Document
    from goldbench.records.manifest import Manifest
    from goldbench.records.query import Query
    from goldbench.records.relevance import Relevance
    from goldbench.stages.chunk import chunk_documents
    from tests.benchmarks.synthetic_text import documents

    def cut() -> Iterator[Chunk]:
        cuts = chunk_documents(documents(10**9), size=CHARACTERS, overlap=CHARACTERS // 10)
        return itertools.islice(cuts, size)

    with staging(folder) as place:
        chunks = RecordFile.write(place / "1-chunks.jsonl", Chunk, cut())
        RecordFile.write(place / "0-documents.jsonl", Document, ())
        step = max(1, len(chunks) // QUERIES)
        sources = [chunks.at(position) for position in range(0, len(chunks), step)][:QUERIES]
        queries = [
            Query(query_id=f"q{number}", chunk_id=chunk.chunk_id, text=_words(chunk.text), generator="x")
            for number, chunk in enumerate(sources)
        ]
        RecordFile.write(place / "3-queries.jsonl", Query, queries)
        relevance = {query.query_id: {query.chunk_id: Relevance.ANSWERS} for query in queries}

        def corpus() -> Iterator[Passage]:
            return (Passage(chunk_id=chunk.chunk_id, title="", text=chunk.text) for chunk in chunks)

        write_gold(place, GoldContents(queries, corpus, relevance, {}))
        manifest = Manifest(
            goldbench="0", created="", seconds=0, generator="x", evidence_level="smoke", config_sha256="", documents=0,
            queries=len(queries), stages=[],
        )  # fmt: skip
        publish(place, folder, manifest)


if __name__ == "__main__":
    child(*sys.argv[1:])
