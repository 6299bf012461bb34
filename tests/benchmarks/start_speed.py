"""Small commands from the start of their process to its end: what people wait for in a shell and in CI.

The anchor of ``--version`` and ``--help`` is the bare interpreter, that of a small ``score`` and a small ``gate`` the
process of pytrec_eval that scores the same run.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.benchmarks.rows import Taken, heading, in_turn, process, row

COMMAND = str(Path(sys.executable).with_name("goldbench"))
QUERIES, DOCUMENTS = 10, 20
PYTREC_EVAL = """
import sys, pytrec_eval
with open(sys.argv[1]) as file: qrels = pytrec_eval.parse_qrel(file)
with open(sys.argv[2]) as file: run = pytrec_eval.parse_run(file)
found = pytrec_eval.RelevanceEvaluator(qrels, {"P.10", "recall.10", "recip_rank", "ndcg_cut.10"}).evaluate(run)
print({m: sum(v[m] for v in found.values()) / len(found) for m in next(iter(found.values()))})
"""


def write_files(folder: Path) -> None:
    """Write judgments, a run, a worse one, and the baseline of the first."""
    (folder / "gold.qrels").write_text("".join(f"q{n} 0 d{n} 1\n" for n in range(QUERIES)), "utf-8")
    for name, place in (("good", 0), ("worse", 2)):
        lines = []
        for query in range(QUERIES):
            found = [f"x{rank}" for rank in range(DOCUMENTS)]
            found.insert(place * (query % 3), f"d{query}")
            lines += [f"q{query} Q0 {doc} {rank} {1 / rank:.4f} {name}\n" for rank, doc in enumerate(found, 1)]
        (folder / f"{name}.run").write_text("".join(lines), "utf-8")
    process([COMMAND, "gate", "gold.qrels", "--run", "good.run", "--baseline", "base.json", "--init"], folder=folder)


def main() -> None:
    """Measure the commands and print rows."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_files(folder)
        gate = ["gate", "gold.qrels", "--run", "worse.run", "--baseline", "base.json", "--max-drop", "90%"]
        commands = {
            "bare": [sys.executable, "-c", "pass"],
            "goldbench --version": [COMMAND, "--version"],
            "goldbench --help": [COMMAND, "--help"],
            "goldbench build --help": [COMMAND, "build", "--help"],
            "pytrec_eval": [sys.executable, "-c", PYTREC_EVAL, "gold.qrels", "worse.run"],
            f"score, {QUERIES} queries": [COMMAND, "score", "gold.qrels", "--run", "worse.run"],
            f"gate, {QUERIES} queries": [COMMAND, *gate],
        }
        taken = in_turn({name: partial(process, command, folder=folder) for name, command in commands.items()})
    bare, peer = taken.pop("bare"), taken.pop("pytrec_eval")
    print("\nSmall commands; the anchors took " + ", ".join(map(_seconds, (bare, peer))))
    heading()
    for name, one in taken.items():
        ratio = f"{one.cpu / bare.cpu:.1f} times `python -c pass` (CPU)"
        if "--" not in name:
            ratio = f"{one.cpu / peer.cpu:.2f} times pytrec_eval's process (CPU)"
        row(name, _seconds(one), ratio, "at most 0.60 s of CPU", met=one.cpu <= 0.60)


def _seconds(taken: Taken) -> str:
    return f"{taken.clock:.3f} s, {taken.cpu:.3f} s of CPU"


if __name__ == "__main__":
    main()
