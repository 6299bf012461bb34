"""Tables as aligned text, Markdown, CSV or a terminal table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from goldbench.pipeline.text.display import printable
from goldbench.pipeline.text.markdown import markdown_row

if TYPE_CHECKING:
    from rich.table import Table

Rows = Sequence[Sequence[str]]
"""The headings, then a row of cells for each line."""


def aligned(rows: Rows, *, indent: str = "", words: int = 1) -> Iterator[str]:
    """Yield rows as plain lines.

    Args:
        rows: The headings, then the cells of each line.
        indent: What each line begins with.
        words: How many columns from the left are aligned left; the others are aligned right.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        sides = enumerate(zip(row, widths, strict=True))
        padded = [cell.ljust(width) if place < words else cell.rjust(width) for place, (cell, width) in sides]
        yield (indent + "   ".join(padded)).rstrip()


def markdown_table(rows: Rows, *, words: int = 1) -> str:
    """Return rows as a Markdown table without a line end; the first ``words`` columns are aligned left."""
    rule = "| " + " | ".join("---" if place < words else "---:" for place in range(len(rows[0]))) + " |"
    return "\n".join([markdown_row(rows[0]), rule, *map(markdown_row, rows[1:])])


def terminal_table(rows: Rows, *, words: int = 1) -> Table:
    """Return rows as a table for a terminal; the first ``words`` columns are aligned left and may wrap."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=None, box=None, pad_edge=False)
    for place, heading in enumerate(rows[0]):
        text = Text(printable(heading))
        table.add_column(text, justify="left" if place < words else "right", no_wrap=place >= words)
    for row in rows[1:]:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def with_interval(value: float, low: float | None, high: float | None, *, places: int = 4) -> str:
    """Return a figure with its interval, where it has one: ``0.61 [0.52, 0.70]``.

    Args:
        value: The figure.
        low: The lower end, or None.
        high: The upper end, or None.
        places: Decimal places of all three.
    """
    ends = "" if low is None or high is None else f" [{low:.{places}f}, {high:.{places}f}]"
    return f"{value:.{places}f}{ends}"


def p_value(p: float) -> str:
    """Return a p-value with four decimals, smaller ones in scientific notation; never 0."""
    return f"{p:.4f}" if p >= 0.0001 else f"{p:.1e}"
