"""What a command prints: results on standard output, notes on standard error, or one JSON object."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, TextIO

import typer

from goldbench.text.display import brief, printable

if TYPE_CHECKING:
    from goldbench.report.terminal import TerminalProgress
    from goldbench.report.text_tables import Rows

NARROWEST = 40
"""Columns below which a terminal counts as this wide: narrower tables cannot be read."""

Style = Literal["", "yellow", "red"]


class Output:
    """The output of the command that runs.

    ``quiet`` prints results alone, ``verbose`` every detail. With ``json`` the lines of results are not printed, and
    what `add` was given is printed as one object when the command ends.
    """

    def __init__(self) -> None:
        self.begin(quiet=False, verbose=False, json=False)

    def begin(self, *, quiet: bool, verbose: bool, json: bool) -> None:
        """Begin the output of a command."""
        self.quiet = quiet
        self.verbose = verbose
        self.json = json
        self.record: dict[str, Any] = {}

    def end(self) -> None:
        """Print the JSON object, if one is asked for."""
        if self.json:
            typer.echo(json.dumps(self.record, ensure_ascii=False, indent=2))

    def add(self, **members: object) -> None:
        """Put members into the JSON object."""
        self.record |= members

    def show(self, *lines: str, style: Style = "", indent: str = "") -> None:
        """Print lines of the result, folded where they are wider than the terminal.

        Args:
            lines: The lines; what could steer the terminal is replaced.
            style: A colour for terminals that show one.
            indent: What the further lines of a folded line begin with.
        """
        if not self.json:
            self._print(lines, sys.stdout, style, indent)

    def explain(self, *lines: str) -> None:
        """Print lines about the command on standard output; not with ``quiet``."""
        if not self.quiet:
            self.show(*lines)

    def note(self, *lines: str, style: Style = "") -> None:
        """Print lines beside the result, on standard error; not with ``quiet``."""
        if not self.quiet:
            self._print(lines, sys.stderr, style, "")

    def note_first(self, lines: Iterable[str], *, most: int, rest: str) -> None:
        """Print the first lines on standard error, and how many more there are.

        Args:
            lines: The lines.
            most: Most lines that are printed.
            rest: What follows the number of the other lines, as "more".
        """
        listed = list(lines)
        self.note(*listed[:most])
        if len(listed) > most:
            self.note(f"and {len(listed) - most:,} {rest}")

    def warn(self, *lines: str) -> None:
        """Print warnings, on standard error; not with ``quiet``. Long ones are printed whole with ``verbose`` alone."""
        warnings = lines if self.verbose else map(brief, lines)
        self.note(*(f"Warning: {line}" for line in warnings), style="yellow")

    def table(self, rows: Rows, *, words: int = 1, indent: str = "") -> None:
        """Print a table of the result, no cell of it cut; see `fitted`."""
        from goldbench.report.text_tables import fitted

        self._echo(fitted(rows, terminal_width(sys.stdout), words=words, indent=indent))

    def described(self, rows: Rows) -> None:
        """Print rows whose last column is prose; see `text_tables.described`."""
        from goldbench.report.text_tables import described

        self._echo(described(rows, terminal_width(sys.stdout)))

    def progress(self) -> TerminalProgress:
        """Return what shows progress on standard error; it prints nothing with ``quiet``, and takes no markup."""
        from rich.console import Console

        from goldbench.report.terminal import TerminalProgress

        return TerminalProgress(Console(stderr=True, soft_wrap=True, markup=False, highlight=False, quiet=self.quiet))

    def _echo(self, lines: Iterable[str]) -> None:
        if not self.json:
            for line in lines:
                typer.echo(line)

    def _print(self, lines: Iterable[str], stream: TextIO, style: Style, indent: str) -> None:
        from goldbench.report.text_tables import folded

        width = terminal_width(stream)
        for line in lines:
            for part in folded(printable(line), width, indent=indent):
                shown = typer.style(part, fg=style) if style and shows_colour(stream) else part
                typer.echo(shown, err=stream is sys.stderr, color=True)


screen = Output()
"""The output of the command that runs."""


def terminal_width(stream: TextIO) -> int | None:
    """Return the columns of a terminal, `NARROWEST` or more: ``COLUMNS`` where it is set, None for a pipe or a file."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns):
        return max(NARROWEST, int(columns))
    try:
        return max(NARROWEST, os.get_terminal_size(stream.fileno()).columns) if stream.isatty() else None
    except (OSError, ValueError):  # a stream without a file
        return None


def shows_colour(stream: TextIO) -> bool:
    """Return whether colours are shown: at a terminal that is not dumb and was not told otherwise (``NO_COLOR``)."""
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
