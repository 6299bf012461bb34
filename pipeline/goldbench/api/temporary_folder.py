"""Where a set lies whose caller names no folder: in a temporary one, which is deleted with the set."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Self

from goldbench.api.keywords import path_of
from goldbench.errors import OutputError
from goldbench.goldset.file_names import TEMPORARY
from goldbench.text.display import one_line


class TemporaryFolder:
    """A folder that is deleted with the last reference to it, by the process that made it and by no other.

    Copies share it, and a process that forks leaves it to its parent.
    """

    def __init__(self) -> None:
        """Make the folder.

        Raises:
            OutputError: No folder can be made.
        """
        try:
            self.path = Path(tempfile.mkdtemp(prefix=TEMPORARY))
        except OSError as error:
            reason = one_line(error.strerror or "unknown reason").lower()
            raise OutputError(
                f"no temporary folder can be made ({reason}); give out=, or set TMPDIR to a folder that can be written"
            ) from None
        self.remove = weakref.finalize(self, _remove, self.path, os.getpid())

    def __deepcopy__(self, memo: object) -> Self:
        """Return the folder itself: a copy of a set lies in the same one."""
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """Return None for another process, which does not own the folder."""
        return type(None), ()


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(slots=True)
class OutputFolder:
    """The folder of a set; ``temporary`` is the folder to delete, None if the caller named the folder."""

    folder: Path
    temporary: TemporaryFolder | None = None


@contextlib.contextmanager
def temporary_folder(out: str | PathLike[str] | None) -> Iterator[OutputFolder]:
    """Yield the folder of a set; a temporary one is deleted if the block fails, else with its last reference.

    Args:
        out: The folder that the caller names, or None.

    Raises:
        OutputError: No temporary folder can be made.
    """
    if out is not None:
        yield OutputFolder(path_of(out, "out"))
        return
    temporary = TemporaryFolder()
    try:
        yield OutputFolder(temporary.path / "set", temporary)
    except BaseException:
        temporary.remove()
        raise
