"""The names of the tools that a set can be exported to; imports nothing that takes time, for help and completion."""

from __future__ import annotations

from enum import StrEnum


class Tool(StrEnum):
    """A tool, by the name that ``--to`` takes; `goldbench.exports.targets` writes its files."""

    RAGAS = "ragas"
    DEEPEVAL = "deepeval"
    LLAMA_INDEX = "llama-index"
    LANGSMITH = "langsmith"
    PHOENIX = "phoenix"
    PROMPTFOO = "promptfoo"
    AUTORAG = "autorag"
    MTEB = "mteb"
    IR_DATASETS = "ir_datasets"
    HF = "hf"
