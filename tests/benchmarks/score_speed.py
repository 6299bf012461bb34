"""From a run on disk to ``hit p r f1 rr @10, ap@100, ndcg@10``: goldbench beside the scorers of the field.

Every tool is a process of its own, all of them in turn, several times over; the medians are compared, so that what else
the machine does falls on all alike. trec_eval takes part where it is on the PATH, ir_measures where it is installed,
ranx where ``RANX_PYTHON`` names a Python that has it. ``SHAPES`` names the shapes to measure, ``ROUNDS`` how often.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from tests.benchmarks.score_data import SHAPES, Shape, write_qrels, write_run

OURS = "hit@10 p@10 r@10 f1@10 rr@10 ap@100 ndcg@10"

GOLDBENCH = f"""
MEASURES = {OURS!r}
import sys
from goldbench.pipeline.cli.process import main
sys.argv = ["goldbench", "score", sys.argv[1], "--run", "A=" + sys.argv[2], "--measure", MEASURES]
main()
"""

PARSING = """
import sys
from goldbench.pipeline.formats.packed_files import Source
from goldbench.pipeline.formats.runs.trec_frames import run_frames
sum(frame.height for frame in run_frames(Source(sys.argv[2])))
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

IR_MEASURES = """
import sys, ir_measures
from ir_measures import AP, P, R, RR, Success, nDCG
qrels, run = ir_measures.read_trec_qrels(sys.argv[1]), ir_measures.read_trec_run(sys.argv[2])
print(ir_measures.calc_aggregate([Success@10, P@10, R@10, RR@10, AP@100, nDCG@10], qrels, run))
"""

RANX = """
import sys
from ranx import Qrels, Run, evaluate
qrels, run = Qrels.from_file(sys.argv[1], kind="trec"), Run.from_file(sys.argv[2], kind="trec")
names = ["hit_rate@10", "precision@10", "recall@10", "f1@10", "mrr@10", "map@100", "ndcg@10"]
print(evaluate(qrels, run, names, make_comparable=True))
"""

TREC_EVAL = ["trec_eval", "-c", "-m", "success.10", "-m", "P.10", "-m", "recall.10", "-m", "recip_rank",
             "-m", "map_cut.100", "-m", "ndcg_cut.10"]  # fmt: skip


def commands() -> dict[str, list[str]]:
    """The command of each tool that is here; judgments and run are to follow."""
    python = [sys.executable, "-c"]
    found = {
        "goldbench": [*python, GOLDBENCH],
        "only reading": [*python, PARSING],
        "pytrec_eval": [*python, PYTREC_EVAL],
    }
    if importlib.util.find_spec("ir_measures"):
        found["ir_measures"] = [*python, IR_MEASURES]
    if os.environ.get("RANX_PYTHON"):
        found["ranx"] = [os.environ["RANX_PYTHON"], "-c", RANX]
    if shutil.which("trec_eval"):
        found["trec_eval"] = TREC_EVAL
    return found


def measured(command: list[str]) -> tuple[float, float, float]:
    """Run a command; return its seconds by the clock, of the CPU, and its peak memory in MB."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    script = f"import resource, subprocess, sys, json; code = subprocess.call({command!r}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); print(json.dumps([code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss]))"  # noqa: E501
    done = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, check=True)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    code, peak = json.loads(done.stdout)
    if code:
        raise SystemExit(f"{command[0]} ended with {code}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, peak / 1024


def race(title: str, tools: dict[str, list[str]], files: list[str], rounds: int) -> None:
    """Let every tool score the same files in turn and print medians."""
    times: dict[str, list[tuple[float, float, float]]] = {name: [] for name in tools}
    for _ in range(rounds):
        for name, command in tools.items():
            times[name].append(measured([*command, *files]))
    middle = {name: [statistics.median(column) for column in zip(*runs, strict=True)] for name, runs in times.items()}
    ours = middle["goldbench"]
    print(f"\n{title}; {rounds} rounds, load {os.getloadavg()[0]:.1f}")
    print(f"{'':14} {'wall s':>8} {'CPU s':>8} {'peak MB':>8} {'wall':>7} {'CPU':>7} {'memory':>7}  (times goldbench)")
    for name, (wall, cpu, peak) in middle.items():
        ratios = f"{wall / ours[0]:7.2f} {cpu / ours[1]:7.2f} {peak / ours[2]:7.2f}"
        print(f"{name:14} {wall:8.3f} {cpu:8.3f} {peak:8.0f} {ratios}")


def dicts(shape: Shape, folder: Path, name: str) -> None:
    """Score the same dicts in one process, as a program does."""
    import pytrec_eval

    from goldbench.pipeline.formats.packed_files import Source
    from goldbench.pipeline.formats.runs.trec import read_qrels, read_run
    from goldbench.pipeline.measures import evaluate
    from goldbench.pipeline.measures.names import parse_measures

    del shape
    qrels, run = read_qrels(Source(folder / f"{name}.qrels")), read_run(Source(folder / f"{name}.run"))
    measures = parse_measures([OURS])
    names = {"success.10", "P.10", "recall.10", "map_cut.100", "ndcg_cut.10", "recip_rank"}
    ours, theirs = [], []
    for _ in range(5):
        started = time.perf_counter()
        evaluate(qrels, run, measures)
        ours.append(time.perf_counter() - started)
        started = time.perf_counter()
        pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
        theirs.append(time.perf_counter() - started)
    mine, other = statistics.median(ours), statistics.median(theirs)
    print(f"{name}, from dicts: ours {mine * 1000:.1f} ms, pytrec_eval {other * 1000:.1f} ms, {other / mine:.1f} times")


def main() -> None:
    """Measure every shape and print tables."""
    wanted = os.environ.get("SHAPES", "small,dl,marco,shuffled,dicts,linear").split(",")
    rounds = int(os.environ.get("ROUNDS", "3"))
    tools = commands()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, shape in SHAPES.items():
            if name in wanted or "dicts" in wanted or (name == "marco" and "shuffled" in wanted):
                write_run(folder / f"{name}.run", shape)
                write_qrels(folder / f"{name}.qrels", shape)
            if name in wanted:
                files = [str(folder / f"{name}.qrels"), str(folder / f"{name}.run")]
                times = rounds if name == "marco" else 3 * rounds
                race(f"{name}: {shape.queries:,} queries x {shape.depth:,} documents", tools, files, times)
        if "shuffled" in wanted:
            write_run(folder / "shuffled.run", SHAPES["marco"], shuffled=True)
            two = {name: tools[name] for name in ("goldbench", "pytrec_eval")}
            race("marco, lines shuffled", two, [str(folder / "marco.qrels"), str(folder / "shuffled.run")], rounds)
        if "dicts" in wanted:
            for name in ("small", "dl", "marco"):
                dicts(SHAPES[name], folder, name)
        if "linear" in wanted:
            for queries in (70, 700, 7000, 70_000):
                shape = replace(SHAPES["marco"], queries=queries)
                write_run(folder / "linear.run", shape)
                write_qrels(folder / "linear.qrels", shape)
                wall, cpu, peak = measured(
                    [*tools["goldbench"], str(folder / "linear.qrels"), str(folder / "linear.run")]
                )
                print(f"{queries * 1000:>12,} lines: {wall:7.2f} s by the clock, {cpu:7.2f} s CPU, {peak:6.0f} MB")


if __name__ == "__main__":
    main()
