"""What a gold set says of itself, found from any of its files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.formats.json_maps import read_json
from pipeline.formats.scoring_files import Source

_DEPTH = 3
"""``beir/qrels/test.tsv`` lies two folders below the set it belongs to."""


def metadata_of(path: Path) -> dict[str, Any]:
    """Return the metadata of the gold set that a file of judgments or a folder belongs to; nothing where it has none.

    Args:
        path: a build folder, its ``dataset.json``, or its judgments in another format.

    Raises:
        InputError: There is a ``dataset.json`` that is no JSON.
    """
    file = path if path.name == "dataset.json" else _dataset(path)
    if file is None or not file.is_file():
        return {}
    found = read_json(Source(file))
    metadata = found.get("metadata") if isinstance(found, Mapping) else None
    return dict(metadata) if isinstance(metadata, Mapping) else {}


def _dataset(path: Path) -> Path | None:
    folders = [path, *path.resolve().parents[:_DEPTH]]
    return next((folder / "dataset.json" for folder in folders if (folder / "manifest.json").is_file()), None)
