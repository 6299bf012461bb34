"""The tools that a set can be exported to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from goldbench.exports import (
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
from goldbench.exports.exported_set import ExportedSet
from goldbench.exports.json_files import JSON_LINES
from goldbench.exports.tools import Tool


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


TARGETS: dict[Tool, Target] = {
    Tool.RAGAS: Target(ragas_samples.write, (JSON_LINES,)),
    Tool.DEEPEVAL: Target(deepeval_goldens.write, (".json", JSON_LINES), contextless=True),
    Tool.LLAMA_INDEX: Target(llamaindex_set.write, (".json",), mark=b'\n "examples": ['),
    Tool.LANGSMITH: Target(tracked_examples.write_langsmith, (JSON_LINES,), contextless=True),
    Tool.PHOENIX: Target(tracked_examples.write_phoenix, (JSON_LINES, ".csv"), contextless=True),
    Tool.PROMPTFOO: Target(promptfoo_tests.write, (".json", JSON_LINES, ".yaml"), contextless=True),
    Tool.AUTORAG: Target(autorag_tables.write),
    Tool.MTEB: Target(mteb_folder.write),
    Tool.SENTENCE_TRANSFORMERS: Target(sentence_folder.write),
    Tool.IR_DATASETS: Target(ir_folder.write),
    Tool.HF: Target(dataset_folder.write, contextless=True),
    Tool.PARQUET: Target(dataset_folder.write, contextless=True),
}
"""The targets by the name that ``--to`` takes."""
