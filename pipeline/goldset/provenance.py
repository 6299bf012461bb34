"""What a gold set says of itself, found from any of its files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.formats.runs.json_maps import read_json
from pipeline.formats.runs.packed_files import Source

_METADATA = b'"metadata": '
_TAIL = 1 << 16
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
    metadata = _last_member(file)
    if metadata is None:
        found = read_json(Source(file))
        metadata = found.get("metadata") if isinstance(found, Mapping) else None
    return dict(metadata) if isinstance(metadata, Mapping) else {}


def notice_of(path: Path) -> str | None:
    """Return what a gold set wants said wherever it is used, if anything; raises as ``metadata_of`` does."""
    notice = metadata_of(path).get("notice")
    return notice if isinstance(notice, str) else None


def _last_member(file: Path) -> object:
    """Return the metadata where they stand as this project writes them, a line of their own at the end of the file.

    The corpus before them may be large, and need not be read.
    """
    with file.open("rb") as opened:
        opened.seek(max(0, file.stat().st_size - _TAIL))
        lines = opened.read().split(b"\n")
    if len(lines) < 3 or lines[-2:] != [b"}", b""] or not lines[-3].startswith(_METADATA):
        return None
    try:
        return json.loads(lines[-3][len(_METADATA) :])
    except ValueError:
        return None


def _dataset(path: Path) -> Path | None:
    folders = [path, *path.resolve().parents[:_DEPTH]]
    return next((folder / "dataset.json" for folder in folders if (folder / "manifest.json").is_file()), None)
