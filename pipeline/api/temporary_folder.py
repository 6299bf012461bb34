"""Where a set lies whose caller names no folder: in a temporary one, which is deleted with the set."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from goldbench.pipeline.api.keywords import path_of


@dataclass(slots=True)
class Place:
    """The folder of a set; ``temporary`` is the folder to delete, None if the caller named the folder."""

    folder: Path
    temporary: Path | None = None
    is_kept: bool = False

    def kept(self) -> Path | None:
        """Leave the temporary folder to the set, which deletes it in the end, and return it."""
        self.is_kept = True
        return self.temporary


@contextlib.contextmanager
def temporary_folder(out: str | PathLike[str] | None) -> Iterator[Place]:
    """Yield the folder of a set; a temporary one is deleted at the end of the block unless it is kept.

    Args:
        out: The folder that the caller names, or None.
    """
    if out is not None:
        yield Place(path_of(out, "out"))
        return
    top = Path(tempfile.mkdtemp(prefix="goldbench-"))
    place = Place(top / "set", top)
    try:
        yield place
    finally:
        if not place.is_kept:
            shutil.rmtree(top, ignore_errors=True)
