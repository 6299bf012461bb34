"""What a command prints: results on standard output, notes on standard error, or one JSON object; and who asked how."""

from __future__ import annotations

import inspect
import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

import typer

from goldbench.errors import UsageError
from goldbench.text.display import brief, printable

if TYPE_CHECKING:
    from goldbench.report.text_tables import Rows

WITHOUT_JSON = {
    "chunk": "its output is JSON already, a line for each chunk",
    "open": "it serves a page until it is ended",
    "review serve": "it serves a page until it is ended",
}
"""The commands without ``--json``, and why."""

NARROWEST = 40
"""Columns below which a terminal counts as this wide: narrower tables cannot be read."""

Style = Literal["", "yellow", "red"]

_shown = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print the result alone: no progress, no notes.", rich_help_panel="Output")
]
_detailed = Annotated[bool, typer.Option("--verbose", "-v", help="Print every detail.", rich_help_panel="Output")]
_machine = Annotated[bool, typer.Option("--json", help="Print the result as JSON.", rich_help_panel="Output")]
Wide = Annotated[bool, typer.Option("--wide", help="Show every measure and column.", rich_help_panel="Output")]


class Output:
    """The output of the command that runs.

    ``quiet`` prints results alone, ``verbose`` every detail. With ``json`` the lines of results are not printed, and
    what `add` was given is printed as one object when the command ends.
    """

    def __init__(self) -> None:
        self.quiet = self.verbose = self.json = False
        self.record: dict[str, Any] = {}

    def begin(self, *, quiet: bool, verbose: bool, json: bool) -> None:
        """Begin the output of a command."""
        self.quiet, self.verbose, self.json, self.record = quiet, verbose, json, {}

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

    def warn(self, *lines: str) -> None:
        """Print warnings, on standard error; not with ``quiet``. Long ones are printed whole with ``verbose`` alone."""
        told = lines if self.verbose else map(brief, lines)
        self.note(*(f"Warning: {line}" for line in told), style="yellow")

    def detail(self, *lines: str) -> None:
        """Print lines of the result that only ``verbose`` asks for."""
        if self.verbose:
            self.show(*lines)

    def table(self, rows: Rows, *, words: int = 1, indent: str = "") -> None:
        """Print a table of the result, no cell of it cut; see `fitted`."""
        from goldbench.report.text_tables import fitted

        if not self.json:
            for line in fitted(rows, self.width, words=words, indent=indent):
                typer.echo(line)

    def described(self, rows: Rows, *, indent: str = "") -> None:
        """Print rows whose last column is prose; see `text_tables.described`."""
        from goldbench.report.text_tables import described

        if not self.json:
            for line in described(rows, self.width, indent=indent):
                typer.echo(line)

    @property
    def width(self) -> int | None:
        """Columns of the terminal, None where the output goes elsewhere."""
        return terminal_width(sys.stdout)

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
    asked = os.environ.get("COLUMNS", "")
    if asked.isascii() and asked.isdigit() and int(asked):
        return max(NARROWEST, int(asked))
    try:
        return max(NARROWEST, os.get_terminal_size(stream.fileno()).columns) if stream.isatty() else None
    except (OSError, ValueError):  # a stream without a file
        return None


def shows_colour(stream: TextIO) -> bool:
    """Return whether colours are shown: at a terminal that is not dumb and was not told otherwise (``NO_COLOR``)."""
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")


def with_output(command: Callable[..., Any], words: str) -> Callable[..., Any]:
    """Return a command with the options ``--quiet``, ``--verbose`` and ``--json``.

    A command with an option ``--format`` gets ``json`` as its value; any other prints what it gave to `Output.add`.

    Args:
        command: The command.
        words: How it is typed, without the name of the program. A command that has these options stays as it is.
    """
    if "words" in command.__dict__:
        return command
    own = inspect.signature(command, eval_str=True).parameters
    machine = words not in WITHOUT_JSON
    added = {"quiet": _shown, "verbose": _detailed, **({"as_json": _machine} if machine else {})}

    def run(**values: Any) -> Any:  # noqa: ANN401  whatever the command takes and returns
        quiet, verbose, as_json = (values.pop(name, False) for name in ("quiet", "verbose", "as_json"))
        if quiet and verbose:
            raise UsageError("--quiet and --verbose contradict one another; give one of them")
        if as_json and "form" in own:
            values["form"] = _json_form(values["form"], own["form"].default)
        screen.begin(quiet=quiet, verbose=verbose, json=as_json and "form" not in own)
        return _carried_out(command, values, words)

    kept = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own.values()]
    kept += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for name, annotation in added.items()
    ]
    run.__dict__.update(__signature__=inspect.Signature(kept), words=words)
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {one.name: one.annotation for one in kept}
    return run


def _json_form(form: str, default: str) -> str:
    if form not in {default, "json"}:
        raise UsageError(f"--json and --format {form} contradict one another; give one of them")
    return "json"


def _carried_out(command: Callable[..., Any], values: dict[str, Any], words: str) -> Any:  # noqa: ANN401
    """Run a command; its JSON is printed also if it ends with an exit code of its own."""
    started = time.monotonic()
    try:
        found = command(**values)
    except typer.Exit:
        screen.end()
        raise
    screen.end()
    if screen.verbose:
        screen.note(f"goldbench {words}: {time.monotonic() - started:.2f} s")
    return found
