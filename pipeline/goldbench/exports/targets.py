"""The tools that a set can be exported to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from goldbench.exports import folders, records
from goldbench.exports.exported_set import ExportedSet
from goldbench.exports.tools import Tool


@dataclass(frozen=True, slots=True)
class Target:
    """A tool.

    ``write`` writes the set into a new file, or into an empty folder. ``ending`` is how the name of that file ends;
    empty for a folder. ``contextless`` tells whether the tool takes queries without a
    relevant passage; to others they are not written.
    """

    write: Callable[[ExportedSet, Path], None]
    ending: str = ""
    contextless: bool = False


TARGETS: dict[Tool, Target] = {
    Tool.RAGAS: Target(records.write_ragas, ".jsonl"),
    Tool.DEEPEVAL: Target(records.write_deepeval, ".json", contextless=True),
    Tool.LLAMA_INDEX: Target(records.write_llama_index, ".json"),
    Tool.LANGSMITH: Target(records.write_langsmith, ".jsonl", contextless=True),
    Tool.PHOENIX: Target(records.write_phoenix, ".jsonl", contextless=True),
    Tool.PROMPTFOO: Target(records.write_promptfoo, ".json", contextless=True),
    Tool.AUTORAG: Target(folders.write_autorag),
    Tool.MTEB: Target(folders.write_mteb),
    Tool.IR_DATASETS: Target(folders.write_ir_datasets),
    Tool.HF: Target(folders.write_dataset, contextless=True),
}
"""The targets by the name that ``--to`` takes."""
