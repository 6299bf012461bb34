"""ir_datasets: documents, queries and judgments, and a module by which ``ir_datasets`` reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from goldbench.exports.beir_files import write_with_module
from goldbench.exports.exported_set import ExportedSet
from goldbench.exports.packages import package

_MODULE = "ir_dataset.py"


def write(exported: ExportedSet, place: Path) -> None:
    """Write the files and the module.

    Args:
        exported: The set.
        place: An empty folder.
    """
    write_with_module(exported, place, _MODULE)


def dataset(folder: Path) -> Any:  # noqa: ANN401  a class of ir_datasets
    """Return the data set in an export.

    Args:
        folder: The folder of the export.

    Raises:
        MissingPackage: ir_datasets is not installed, or cannot be imported.
    """
    with package("ir-datasets"):
        from goldbench.exports.standalone.ir_dataset import dataset as dataset_in

    return dataset_in(folder)
