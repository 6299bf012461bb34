"""What a notebook shows: tables and lines as HTML, in which every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from goldbench.report.text_tables import Rows
from goldbench.text.display import printable

_NO_FORMULAS = "tex2jax_ignore mathjax_ignore"
"""The classes of what MathJax leaves alone, in its versions 2 and 3: a text with two $ holds no formula."""


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
