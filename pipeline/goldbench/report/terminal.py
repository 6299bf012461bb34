"""Progress in a terminal as bars; plain lines where standard error is not a terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from goldbench.ports import Step
from goldbench.text.display import printable

_QUIET_SECONDS = 5.0
"""Least time between two lines of a stage."""


class BarStep:
    """A stage as a bar with count and rate."""

    def __init__(self, bars: Progress, task: TaskID) -> None:
        self._bars = bars
        self._task = task

    def advance(self, count: int) -> None:
        """Add this many items to those done."""
        self._bars.advance(self._task, count)
        speed = self._bars.tasks[self._task].speed
        if speed:
            self._bars.update(self._task, rate=f"{speed:,.0f}/s")

    def tell(self, line: str) -> None:
        """Show what is being done now."""
        self._bars.update(self._task, under_way=line)


class LineStep:
    """A stage as plain lines: one every few seconds, and one at the end."""

    def __init__(self, console: Console, name: str, total: int | None) -> None:
        self._console = console
        self._name = name
        self._total = total
        self._done = 0
        self._started = time.monotonic()
        self._shown = time.monotonic()
        self._under_way = ""

    def advance(self, count: int) -> None:
        """Add this many items to those done."""
        self._done += count
        if time.monotonic() - self._shown >= _QUIET_SECONDS:
            self.show()

    def tell(self, line: str) -> None:
        """Show what is being done now, even if no item gets done."""
        self._under_way = f" ({line})" if line else ""
        self.advance(0)

    def close(self) -> None:
        """Print the last line, unless there were no items."""
        self._under_way = ""
        if self._done:
            self.show()

    def show(self) -> None:
        """Print the line of the stage as it is now."""
        self._shown = time.monotonic()
        seconds = self._shown - self._started
        total = f" of {self._total:,}" if self._total else ""
        rate = f", {self._done / seconds:,.0f}/s" if seconds >= 0.1 else ""
        self._console.print(
            f"{self._name}: {self._done:,}{total} in {seconds:.1f} s{rate}{self._under_way}", highlight=False
        )


class TerminalProgress:
    """Shows every stage on a console: bars on a terminal, lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextlib.contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Step]:
        """Show a stage until the end of the block."""
        if not self._console.is_terminal:
            step = LineStep(self._console, name, total)
            yield step
            step.close()
            return
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description:<9}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[under_way]}", style="dim"),
        )
        with Progress(*columns, console=self._console) as bars:
            yield BarStep(bars, bars.add_task(name, total=total, rate="", under_way=""))

    def note(self, line: str) -> None:
        """Print one line that stays; control characters are replaced."""
        self._console.print(Text(printable(line)), style="yellow")


def on_standard_error(*, quiet: bool = False) -> TerminalProgress:
    """Return a progress on standard error, where nothing is taken for markup, in notebooks, too.

    Args:
        quiet: Whether it shows nothing.
    """
    # a notebook's stream says that it is a terminal, and shows each step of a bar
    force = False if quiet or "ipykernel" in sys.modules else None
    console = Console(
        stderr=True, soft_wrap=True, markup=False, highlight=False, force_jupyter=False, force_terminal=force
    )
    console.quiet = quiet
    return TerminalProgress(console)
