"""The gold set in this folder as a retrieval task of MTEB 2.

``mteb.evaluate(model, tasks=[task()])`` evaluates a model; ``python mteb_task.py MODEL`` does so by a model's name. The
nDCG is that of goldbench. MTEB's other measures count every score above 0 as relevant; README.md in ``data`` tells
which scores goldbench counts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import mteb
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata

FOLDER = Path(__file__).resolve().parent


def task(folder: str | Path = FOLDER) -> AbsTaskRetrieval:
    """Return the task.

    Args:
        folder: The folder with ``task.json`` and ``data``.
    """
    fields: dict[str, Any] = json.loads((Path(folder) / "task.json").read_text(encoding="utf-8"))
    metadata = TaskMetadata(
        dataset={"path": str(Path(folder) / "data"), "revision": fields["revision"]},
        name=fields["name"],
        description=fields["description"],
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=fields["languages"],
        main_score="ndcg_at_10",
        is_public=False,
    )
    return type(fields["name"], (AbsTaskRetrieval,), {"metadata": metadata})()  # type: ignore[no-any-return, unused-ignore]


def main() -> None:
    """Evaluate the model that is named on the command line."""
    if len(sys.argv) != 2:
        sys.exit("usage: python mteb_task.py MODEL")
    results = mteb.evaluate(mteb.get_model(sys.argv[1]), tasks=[task()])
    for name, score in sorted(results.task_results[0].scores["test"][0].items()):
        if name.endswith(("_at_10", "main_score")):
            sys.stdout.write(f"{name}\t{score}\n")


if __name__ == "__main__":
    main()
