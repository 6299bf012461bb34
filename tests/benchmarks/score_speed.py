"""The scorer beside the scorers of the field: from dicts, from a file, and from a packed file, to seven measures.

Dicts are scored by goldbench and pytrec_eval in one process, in turn. From files every tool is a process of its own.
The anchor of files is trec_eval's C program where it is on the PATH, else pytrec_eval, which is that program behind a
reader in Python: no package that can be installed here brings the program or its source.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.benchmarks.rows import TIMES, Taken, heading, in_turn, process, row
from tests.benchmarks.score_data import SHAPES, Shape, write_qrels, write_run
from tests.benchmarks.start_speed import COMMAND

OURS = "hit@10 p@10 r@10 f1@10 rr@10 ap@100 ndcg@10"
DICTS = {"small": 2.0, "dl": 2.0, "marco": 5.0}
"""How often faster than pytrec_eval the dicts of a shape are to be scored."""

FROM_DICTS = f"""
import json, statistics, sys, time
import pytrec_eval
from goldbench.formats.packed_files import Source
from goldbench.formats.runs.trec import read_qrels, read_run
from goldbench.measures import evaluate
from goldbench.measures.names import parse_measures
qrels, run = read_qrels(Source(sys.argv[1])), read_run(Source(sys.argv[2]))
measures = parse_measures([{OURS!r}])
names = {{"success.10", "P.10", "recall.10", "map_cut.100", "ndcg_cut.10", "recip_rank"}}
tools = (lambda: evaluate(qrels, run, measures), lambda: pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run))
taken = ([], [])
for turn in range(int(sys.argv[3]) + 1):
    for tool, times in zip(tools, taken):
        calls = max(1, round(0.2 / times[0])) if turn else 1
        started = time.process_time()
        for _ in range(calls):
            tool()
        times.append((time.process_time() - started) / calls)
print(json.dumps([statistics.median(times[1:]) for times in taken]))
"""

PYTREC_EVAL = """
import sys, pytrec_eval
with open(sys.argv[1]) as file: qrels = pytrec_eval.parse_qrel(file)
with open(sys.argv[2]) as file: run = pytrec_eval.parse_run(file)
names = {"success.10", "P.10", "recall.10", "map_cut.100", "ndcg_cut.10", "recip_rank"}
found = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
for v in found.values():
    p, r = v["P_10"], v["recall_10"]
    v["f1"] = 2 * p * r / (p + r) if p + r else 0.0
print({m: sum(v[m] for v in found.values()) / len(found) for m in next(iter(found.values()))})
"""


TREC_EVAL = ["trec_eval", "-c", "-m", "success.10", "-m", "P.10", "-m", "recall.10", "-m", "recip_rank",
             "-m", "map_cut.100", "-m", "ndcg_cut.10"]  # fmt: skip


def from_dicts(folder: Path, name: str) -> None:
    """Score the dicts of a shape in one process and print a row."""
    arguments = [str(folder / f"{name}.qrels"), str(folder / f"{name}.run"), str(TIMES)]
    command = [sys.executable, "-c", FROM_DICTS, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    ours, theirs = json.loads(done.stdout)
    ratio = f"{theirs / ours:.1f} times as fast as pytrec_eval ({theirs * 1000:.1f} ms)"
    bar = f"at least {DICTS[name]:g} times"
    row(f"dicts, {_size(SHAPES[name])}", f"{ours * 1000:.1f} ms of CPU", ratio, bar, met=theirs / ours >= DICTS[name])


def from_files(folder: Path, name: str) -> None:
    """Score the run of a shape from its file with every tool, and from a packed file, and print rows."""
    qrels, run, packed = (str(folder / f"{name}.{ending}") for ending in ("qrels", "run", "run.gz"))
    with Path(run).open("rb") as plain, gzip.open(packed, "wb", compresslevel=6) as file:
        shutil.copyfileobj(plain, file)
    score = [COMMAND, "score", qrels, "--measure", OURS, "--run"]
    program = shutil.which("trec_eval")
    anchor = "trec_eval" if program else "pytrec_eval"
    commands = {
        "goldbench": [*score, f"A={run}"],
        "packed": [*score, f"A={packed}"],
        "zcat": ["zcat", packed],
        anchor: [*(TREC_EVAL if program else [sys.executable, "-c", PYTREC_EVAL]), qrels, run],
    }
    taken = in_turn({tool: partial(process, command) for tool, command in commands.items()})
    size = _size(SHAPES[name])
    ours, theirs = taken["goldbench"], taken[anchor]
    faster, less = theirs.clock / ours.clock, theirs.cpu / ours.cpu
    ratio = (
        f"{faster:.1f} times as fast as {anchor}, {less:.1f} times by CPU, {theirs.memory / ours.memory:.1f} by memory"
    )
    row(f"file, {size}", _seconds(ours), ratio, "at least 4 times, both", met=min(faster, less) >= 4.0)
    ours, unpacked = taken["packed"], taken["zcat"]
    ratio = f"{ours.clock / unpacked.clock:.2f} times zcat, {ours.cpu / unpacked.cpu:.2f} of its CPU"
    row(f"packed file, {size}", _seconds(ours), ratio, "at most 1.5 times", met=ours.clock <= 1.5 * unpacked.clock)


def _seconds(taken: Taken) -> str:
    return f"{taken.clock:.2f} s, {taken.cpu:.2f} s of CPU, {taken.memory:.0f} MB"


def _size(shape: Shape) -> str:
    return f"{shape.queries:,} queries of {shape.depth:,}"


def main() -> None:
    """Measure dicts of every shape and the files of the largest, and print rows."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, shape in SHAPES.items():
            write_run(folder / f"{name}.run", shape)
            write_qrels(folder / f"{name}.qrels", shape)
        print("\nScores")
        heading()
        for name in DICTS:
            from_dicts(folder, name)
        from_files(folder, "marco")


if __name__ == "__main__":
    main()
