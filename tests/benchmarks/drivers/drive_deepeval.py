"""deepeval: ``Synthesizer.generate_goldens_from_contexts``, asynchronous, one query per chunk, no expected output.

All else is as it comes: the quality check of every input and one evolution of it.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

from deepeval.models import OpenAIModel
from deepeval.synthesizer import Synthesizer


def main(task: dict, answer: Path) -> None:
    started = time.perf_counter()
    model = OpenAIModel(model="gpt-4o-mini", api_key="none", base_url=task["base_url"])
    synthesizer = Synthesizer(model=model, async_mode=True, max_concurrent=task["concurrency"])
    goldens = synthesizer.generate_goldens_from_contexts(
        contexts=[[text] for text in task["chunks"]], max_goldens_per_context=1, include_expected_output=False
    )
    seconds = time.perf_counter() - started
    queries = sum(bool(golden.input) for golden in goldens)
    measured = {"seconds": seconds, "queries": queries, "version": version("deepeval")}
    answer.write_text(json.dumps(measured), encoding="utf-8")


main(json.loads(Path(sys.argv[1]).read_text("utf-8")), Path(sys.argv[2]))
