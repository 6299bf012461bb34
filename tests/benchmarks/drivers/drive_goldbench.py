"""goldbench: a whole build over ready chunks, measured as the peers are: a cold process, its imports left out."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import openai.resources.chat  # noqa: F401  the client loads its parts when first used: these are imports too

import goldbench.llm.model_path  # noqa: F401  as above
import goldbench.llm.store  # noqa: F401  as above
from goldbench.config import load_config
from goldbench.formats.documents.sources import find_files
from goldbench.generate import flow
from goldbench.generate.writers import ModelWriter
from tests.benchmarks.build_speed import Clock


def main(task: dict, answer: Path) -> None:
    source = Path("chunks.jsonl")
    rows = (json.dumps({"id": f"c{number}", "text": text}) for number, text in enumerate(task["chunks"]))
    source.write_text("\n".join(rows), encoding="utf-8")
    started = time.perf_counter()
    model = {"name": "bench", "base_url": task["base_url"], "concurrency": task["concurrency"]}
    generate = {"generator": "model", "queries": len(task["chunks"])}
    config = load_config(None, {"generate": generate, "model": model, "documents": {"no_chunk": True}})
    writer, clock = ModelWriter(config, Path("answers.sqlite"), ""), Clock(time.perf_counter)
    result = asyncio.run(flow.build(writer, find_files([str(source)]), Path("run"), progress=clock))
    seconds = time.perf_counter() - started
    measured = {"seconds": seconds, "queries": result.manifest.queries, "version": version("goldbench")}
    measured["note"] = f"({clock.seconds['generate']:.2f} s from the first question to the last check)"
    answer.write_text(json.dumps(measured), encoding="utf-8")


main(json.loads(Path(sys.argv[1]).read_text("utf-8")), Path(sys.argv[2]))
