"""The tools that a set can be exported to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from goldbench.pipeline.exports.json_files import JSON_LINES

if TYPE_CHECKING:
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


def _of(module: str, function: str = "write") -> Callable[[ExportedSet, Path], None]:
    """Return a function of a module beside this one, which is imported at the first call: help needs names alone."""

    def write(exported: ExportedSet, place: Path) -> None:
        getattr(import_module(f"{__package__}.{module}"), function)(exported, place)

    return write


TARGETS: dict[str, Target] = {
    "ragas": Target(_of("ragas_samples"), (JSON_LINES,)),
    "deepeval": Target(_of("deepeval_goldens"), (".json", JSON_LINES), contextless=True),
    "llama-index": Target(_of("llamaindex_set"), (".json",)),
    "langsmith": Target(_of("tracked_examples", "write_langsmith"), (JSON_LINES,), contextless=True),
    "phoenix": Target(_of("tracked_examples", "write_phoenix"), (JSON_LINES, ".csv"), contextless=True),
    "promptfoo": Target(_of("promptfoo_tests"), (".json", JSON_LINES, ".yaml"), contextless=True),
    "autorag": Target(_of("autorag_tables")),
    "mteb": Target(_of("mteb_folder")),
    "sentence-transformers": Target(_of("sentence_folder")),
    "ir_datasets": Target(_of("ir_folder")),
    "hf": Target(_of("dataset_folder"), contextless=True),
    "parquet": Target(_of("dataset_folder"), contextless=True),
}
"""The targets by the name that ``--to`` takes."""
