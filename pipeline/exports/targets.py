"""The tools that a set can be exported to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from goldbench.pipeline.exports import (
    autorag_tables,
    dataset_folder,
    deepeval_goldens,
    ir_folder,
    llamaindex_set,
    mteb_folder,
    promptfoo_tests,
    ragas_samples,
    sentence_folder,
    tracked_examples,
)
from goldbench.pipeline.exports.exported_set import ExportedSet
from goldbench.pipeline.exports.json_files import JSON_LINES


@dataclass(frozen=True, slots=True)
class Target:
    """A tool.

    ``write`` writes the set into a new file, or into an empty folder. ``endings`` are what the name of that file may
    end with, the usual one first; empty for a folder. ``contextless`` tells whether the tool takes queries without a
    relevant passage; to others they are not written. ``mark`` stands in every such file, and hardly in another one.
    """

    write: Callable[[ExportedSet, Path], None]
    endings: tuple[str, ...] = ()
    contextless: bool = False
    mark: bytes = b"relevant_from"


TARGETS: dict[str, Target] = {
    "ragas": Target(ragas_samples.write, (JSON_LINES,)),
    "deepeval": Target(deepeval_goldens.write, (".json", JSON_LINES), contextless=True),
    "llama-index": Target(llamaindex_set.write, (".json",), mark=b'\n "examples": ['),
    "langsmith": Target(tracked_examples.write_langsmith, (JSON_LINES,), contextless=True),
    "phoenix": Target(tracked_examples.write_phoenix, (JSON_LINES, ".csv"), contextless=True),
    "promptfoo": Target(promptfoo_tests.write, (".json", JSON_LINES, ".yaml"), contextless=True),
    "autorag": Target(autorag_tables.write),
    "mteb": Target(mteb_folder.write),
    "sentence-transformers": Target(sentence_folder.write),
    "ir_datasets": Target(ir_folder.write),
    "hf": Target(dataset_folder.write, contextless=True),
    "parquet": Target(dataset_folder.write, contextless=True),
}
"""The targets by the name that ``--to`` takes."""
