"""Tables as aligned text, as text that fits a width, as Markdown, CSV or HTML for a notebook."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from rich.cells import cell_len

from goldbench.text.display import printable
from goldbench.text.markdown import markdown_row

Rows = Sequence[Sequence[str]]
"""The headings, then a row of cells for each line."""

_GAP = 3
_TIGHT = 2
"""Columns of a terminal between two columns of a table, and the fewest, before the table is folded."""
_COMMAND = re.compile(r"\(?goldbench [a-z]+(?: [^\s()`]+)*\)?")
_JOINT = "\ue000"
"""A command in a text, and what stands between its words while the text is folded."""
_MARKS = "-_/.:,+"
"""Characters behind which a word is cut rather than elsewhere."""
_LEAST = 24
"""Columns of a terminal that prose and names get at least, however narrow the terminal is."""


def folded(text: str, width: int | None, *, indent: str = "", cuts: bool = False) -> list[str]:
    """Return a text as lines that fit; a longer word stays whole, unless it has letters beyond ASCII.

    A command to type (``goldbench …``, up to a bracket, a backtick or the end) stays on one line if it fits on one. At
    the start of the text, behind a colon or ", or" it is there to be copied, and stays on one line in any case.

    Args:
        text: The text, one line of printable characters.
        width: Columns of the terminal, or None for one line.
        indent: What every line but the first begins with.
        cuts: Whether every word that is longer than a line goes on in the next one.
    """
    if width is None or cell_len(text) <= width:
        return [text]
    lines: list[str] = []
    for word in _words(_joined(text, width), max(1, width - len(indent)), cuts=cuts):
        if lines and (lines[-1].isspace() or cell_len(lines[-1]) + cell_len(word.rstrip()) <= width):
            lines[-1] += word
        else:
            lines.append((indent if lines else "") + word)
    return [line.rstrip().replace(_JOINT, " ") for line in lines]


def _joined(text: str, width: int) -> str:
    """Return the text with the words of its commands joined, of those to be copied and of those that fit on a line."""

    def joined(match: re.Match[str]) -> str:
        before = text[: match.start()].strip()
        whole = not before or before.endswith((":", ", or")) or cell_len(match[0]) < width
        return match[0].replace(" ", _JOINT) if whole else match[0]

    return _COMMAND.sub(joined, text)


def _words(text: str, width: int, *, cuts: bool) -> Iterator[str]:
    """Yield the words with the white space behind them, those that are cut in parts that fit."""
    for word in re.findall(r"\S+\s*|^\s+", text):
        rest = word
        while cell_len(rest.rstrip()) > width and _JOINT not in word and (cuts or not word.isascii()):
            most = next((end for end in range(len(rest) - 1, 1, -1) if cell_len(rest[:end]) <= width), 1)
            mark = max(rest.rfind(sign, 0, most) for sign in _MARKS) + 1
            end = mark if 2 * mark > most else most
            yield rest[:end]
            rest = rest[end:]
        yield rest


def aligned(rows: Rows, *, indent: str = "", words: int = 1, gap: int = _GAP) -> Iterator[str]:
    """Yield rows as plain lines.

    Args:
        rows: The headings, then the cells of each line.
        indent: What each line begins with.
        words: How many columns from the left are aligned left; the others are aligned right.
        gap: Blanks between two columns.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = _widths(cells)
    for row in cells:
        sides = enumerate(zip(row, widths, strict=True))
        padded = (_padded(cell, width, left=column < words) for column, (cell, width) in sides)
        yield (indent + (" " * gap).join(padded)).rstrip()


def _widths(cells: Rows) -> list[int]:
    return [max(map(cell_len, column)) for column in zip(*cells, strict=True)]


def _padded(cell: str, width: int, *, left: bool) -> str:
    blanks = " " * (width - cell_len(cell))
    return cell + blanks if left else blanks + cell


def fitted(rows: Rows, width: int | None, *, words: int = 1, indent: str = "") -> Iterator[str]:
    """Yield rows as lines of at most ``width`` columns in which no cell is cut or left out.

    Where they do not fit, the columns of figures that are too many follow in further blocks, each with the names of
    its rows; a name that takes more than half of a line goes on in the next one.

    Args:
        rows: The headings, then the cells of each line.
        width: Columns of the terminal; None to leave lines as long as they are.
        words: How many columns from the left are aligned left, and name the row.
        indent: What each line begins with.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    for gap in (_GAP, _TIGHT):
        if width is None or len(indent) + sum(_widths(cells)) + gap * (len(cells[0]) - 1) <= width:
            yield from aligned(cells, indent=indent, words=words, gap=gap)
            return
    assert width is not None
    room = width - len(indent)
    cells = list(_with_folded_names(cells, words, max(_LEAST, room // 2)))
    for number, block in enumerate(_blocks(_widths(cells), words, room)):
        if number:
            yield ""
        places = [*range(words), *block]
        yield from aligned(
            [[row[column] for column in places] for row in cells], indent=indent, words=words, gap=_TIGHT
        )


def _blocks(widths: Sequence[int], words: int, room: int) -> Iterator[list[int]]:
    """Yield the places of the figures that stand side by side, 1 or more in each block."""
    names = sum(widths[:words]) + _TIGHT * (words - 1)
    block: list[int] = []
    width = names
    for number in range(words, len(widths)):
        if block and width + _TIGHT + widths[number] > room:
            yield block
            block = []
            width = names
        block.append(number)
        width += _TIGHT + widths[number]
    yield block


def _with_folded_names(cells: Rows, words: int, room: int) -> Iterator[list[str]]:
    """Yield the rows, those with a long name as several: the figures stand beside its first line."""
    most = max(_LEAST // words, (room - _TIGHT * (words - 1)) // words)
    for row in cells:
        parts = [folded(cell, most, cuts=True) for cell in row[:words]]
        for line in range(max(map(len, parts))):
            names = [part[line] if line < len(part) else "" for part in parts]
            yield [*names, *(row[words:] if line == 0 else [""] * (len(row) - words))]


def described(rows: Rows, width: int | None, *, indent: str = "") -> Iterator[str]:
    """Yield rows whose last column is prose, which is folded beside the others or, in a narrow terminal, below them.

    Args:
        rows: The cells of each line, the last one prose; no headings.
        width: Columns of the terminal; None for one line each.
        indent: What each line begins with.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    heads = list(aligned([row[:-1] for row in cells], indent=indent, words=len(cells[0])))
    start = max(map(cell_len, heads)) + _TIGHT
    below = width is not None and start + _LEAST > width
    for head, row in zip(heads, cells, strict=True):
        if below:
            yield from folded(head, width, indent=f"{indent}  ")
            description = folded(row[-1], max(_LEAST, (width or 0) - len(indent) - 4)) if row[-1] else ()
            yield from (f"{indent}    {line}" for line in description)
            continue
        line = f"{_padded(head, start, left=True)}{row[-1]}".rstrip()
        yield from folded(line, width, indent=" " * start)


def markdown_table(rows: Rows, *, words: int = 1) -> str:
    """Return rows as a Markdown table without a line end; the first ``words`` columns are aligned left."""
    rule = "| " + " | ".join("---" if number < words else "---:" for number in range(len(rows[0]))) + " |"
    return "\n".join([markdown_row(rows[0]), rule, *map(markdown_row, rows[1:])])


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


_NO_FORMULAS = "tex2jax_ignore mathjax_ignore"
"""The classes of what MathJax leaves alone, in its versions 2 and 3: a text with two $ holds no formula."""


def html_table(rows: Rows, *, words: int = 1) -> str:
    """Return rows as an HTML table, the first one as headings.

    Args:
        rows: The headings, then the cells of each line, as texts.
        words: How many columns from the left hold words, which are aligned left.
    """
    head, *body = ([escape(printable(cell)) for cell in row] for row in rows)
    align = ["left" if number < words else "right" for number in range(len(head))]
    made = (_row("th", head, align), *(_row("td", cells, align) for cells in body))
    lines = [f'<table class="{_NO_FORMULAS}">', *made, "</table>"]
    return "\n".join(lines)


def html_lines(lines: Iterable[str]) -> str:
    """Return lines of text as HTML."""
    shown = "<br>\n".join(escape(printable(line)) for line in lines)
    return f'<div class="{_NO_FORMULAS}">{shown}</div>'


def _row(tag: str, cells: Iterable[str], align: Iterable[str]) -> str:
    cells_in_html = (
        f'<{tag} style="text-align: {side}">{cell}</{tag}>' for cell, side in zip(cells, align, strict=True)
    )
    return f"<tr>{''.join(cells_in_html)}</tr>"
