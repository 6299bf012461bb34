"""The tools that a set can be exported to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from goldbench.pipeline.exports import (
    autorag_tables,
    dataset_folder,
    ir_folder,
    mteb_folder,
    ragas_samples,
    sentence_folder,
)
from goldbench.pipeline.exports.exported_set import ExportedSet


@dataclass(frozen=True, slots=True)
class Target:
    """A tool.

    ``write`` writes the set into a new file, or into an empty folder. ``endings`` are what the name of that file may
    end with, the usual one first; empty for a folder. ``contextless`` tells whether the tool takes queries without a
    relevant passage; to others they are not written.
    """

    write: Callable[[ExportedSet, Path], None]
    endings: tuple[str, ...] = ()
    contextless: bool = False


TARGETS: dict[str, Target] = {
    "ragas": Target(ragas_samples.write, (".jsonl",)),
    "autorag": Target(autorag_tables.write),
    "mteb": Target(mteb_folder.write),
    "sentence-transformers": Target(sentence_folder.write),
    "ir_datasets": Target(ir_folder.write),
    "hf": Target(dataset_folder.write, contextless=True),
    "parquet": Target(dataset_folder.write, contextless=True),
}
"""The targets by the name that ``--to`` takes."""
