"""What a notebook shows: tables as HTML, in which every text is escaped, and the progress of a run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from goldbench.ports import Step
from goldbench.report.text_tables import Rows
from goldbench.text.display import printable

_SHOWN_EVERY = 0.2
"""Least seconds between two updates of the progress of one stage."""

_NO_FORMULAS = "tex2jax_ignore mathjax_ignore"
"""The classes of what MathJax leaves alone, in its versions 2 and 3: a text with two $ holds no formula."""


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    import sys

    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module else None
    return getattr(shell, "kernel", None) is not None


def html_table(rows: Rows, *, words: int = 1) -> str:
    """Return rows as an HTML table, the first one as headings.

    Args:
        rows: The headings, then the cells of each line, as texts.
        words: How many columns from the left hold words, which are aligned left.
    """
    head, *body = ([escape(printable(cell)) for cell in row] for row in rows)
    align = ["left" if place < words else "right" for place in range(len(head))]
    made = (_row("th", head, align), *(_row("td", cells, align) for cells in body))
    lines = [f'<table class="{_NO_FORMULAS}">', *made, "</table>"]
    return "\n".join(lines)


def html_lines(lines: Iterable[str]) -> str:
    """Return lines of text as HTML."""
    shown = "<br>\n".join(escape(printable(line)) for line in lines)
    return f'<div class="{_NO_FORMULAS}">{shown}</div>'


def _row(tag: str, cells: Iterable[str], align: Iterable[str]) -> str:
    made = (f'<{tag} style="text-align: {side}">{cell}</{tag}>' for cell, side in zip(cells, align, strict=True))
    return f"<tr>{''.join(made)}</tr>"


class NotebookProgress:
    """Shows the stages of a run in one output of a cell, which is replaced as the work goes on."""

    def __init__(self) -> None:
        self._stages: list[_Stage] = []
        self._notes: list[str] = []
        self._handle: Any = None
        self._shown = 0.0

    @contextlib.contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Step]:
        """Show a stage until the end of the block."""
        step = _Stage(self, name, total)
        self._stages.append(step)
        self.show()
        try:
            yield step
        finally:
            step.end()

    def note(self, line: str) -> None:
        """Show one line that stays."""
        self._notes.append(line)
        self.show()

    def show(self, *, soon: bool = True) -> None:
        """Show the state as it is now.

        Args:
            soon: Also if it was shown a moment ago.
        """
        from IPython import display

        if not soon and time.monotonic() - self._shown < _SHOWN_EVERY:
            return
        self._shown = time.monotonic()
        if self._handle is None:
            self._handle = display.display(self, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(self)

    def __repr__(self) -> str:
        return "\n".join([*(" ".join(stage.cells()) for stage in self._stages), *map(printable, self._notes)])

    def _repr_html_(self) -> str:
        rows = [("stage", "done", "seconds", ""), *(stage.cells() for stage in self._stages)]
        table = html_table(rows) if self._stages else ""
        return "\n".join(filter(None, (html_lines(self._notes), table)))


class _Stage:
    """One stage: how much of it is done, and since when."""

    def __init__(self, progress: NotebookProgress, name: str, total: int | None) -> None:
        self._progress, self._name, self._total = progress, name, total
        self._done, self._started, self._under_way = 0, time.monotonic(), ""
        self._ended: float | None = None

    def advance(self, count: int) -> None:
        """Add this many items to those done."""
        self._done += count
        self._progress.show(soon=False)

    def tell(self, line: str) -> None:
        """Show what is being done now."""
        self._under_way = line
        self._progress.show(soon=False)

    def end(self) -> None:
        """Show the last state."""
        self._ended, self._under_way = time.monotonic(), ""
        self._progress.show()

    def cells(self) -> tuple[str, str, str, str]:
        """Return name, items done, seconds, and what is being done now."""
        total = f" of {self._total:,}" if self._total else ""
        seconds = (self._ended or time.monotonic()) - self._started
        return self._name, f"{self._done:,}{total}", f"{seconds:.1f}", self._under_way
