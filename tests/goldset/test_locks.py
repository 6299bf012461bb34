"""Locks on folders: however many processes come and go, one at a time writes to a folder."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from goldbench.errors import OutputError
from goldbench.goldset.publication import new_folder, staging

Enter = Callable[[Path], AbstractContextManager[Path]]
PROCESSES = 4


class GivenUp(Exception):
    """Ends a block as a failing command would, so that its folder is not made."""


def enter_often(enter: Enter, folder: Path, attempts: int) -> tuple[int, list[str]]:
    """Begin to write a folder many times, and return how often that was allowed, and what went wrong meanwhile."""
    holder = folder.with_name("holder")
    entries, problems = 0, list[str]()
    for _ in range(attempts):
        with contextlib.suppress(GivenUp, OutputError), enter(folder) as place:
            entries += 1
            try:
                holder.touch(exist_ok=False)
            except FileExistsError:
                problems.append("two processes hold the lock")
                raise GivenUp from None
            try:
                (place / "part").write_text("x")
            except FileNotFoundError:
                problems.append("another process removed the staging folder")
            holder.unlink()
            raise GivenUp
    return entries, problems


def check_exclusive(enter: Enter, folder: Path, attempts: int) -> None:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=spawn) as pool:
        results = [pool.submit(enter_often, enter, folder, attempts) for _ in range(PROCESSES)]
        outcomes = [result.result() for result in results]
    assert [problem for _, problems in outcomes for problem in problems] == []
    assert sum(entries for entries, _ in outcomes) > 0
    assert not folder.exists()
    assert not [path for path in folder.parent.iterdir() if not path.name.startswith(".")]


@pytest.mark.parametrize("enter", [new_folder, staging])
def test_one_process_at_a_time_makes_a_folder(enter: Enter, tmp_path: Path) -> None:
    check_exclusive(enter, tmp_path / "gold", 100)
