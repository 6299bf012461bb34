"""ir_datasets: documents, queries and judgments, and a module by which ``ir_datasets`` reads them."""

from __future__ import annotations

from pathlib import Path

from goldbench.pipeline.exports.beir_files import copy_module, write_beir
from goldbench.pipeline.exports.exported_set import ExportedSet

_MODULE = "ir_dataset.py"


def write(exported: ExportedSet, place: Path) -> None:
    """Write the files and the module.

    Args:
        exported: The set.
        place: An empty folder.
    """
    write_beir(exported, place)
    copy_module(_MODULE, place)
