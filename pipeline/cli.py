"""The ``goldset`` command: wires the parts together and prints. Heavy imports happen inside the commands."""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from pipeline.cli_build import GO_ON, Interrupted
from pipeline.cli_options import ConfigFile, configured, console_for
from pipeline.errors import GoldsetError, UsageError
from prompts.loader import PromptError

COMMANDS = {
    "build": "cli_build.build",
    "chunk": "cli_build.chunk",
    "import": "cli_import.import_",
    "grade": "cli_grade.grade",
    "topup": "cli_grade.topup",
    "card": "cli_card.card",
    "review": "cli_review.app",
    "agreement": "cli_agreement.agreement",
    "rechunk": "cli_rechunk.rechunk",
    "retrieve": "cli_retrieve.retrieve",
    "score": "cli_score.score",
    "compare": "cli_compare.compare",
    "bench": "cli_bench.bench",
    "gate": "cli_gate.gate",
    "monitor": "cli_monitor.app",
    "drift": "cli_drift.drift",
    "feedback": "cli_feedback.feedback",
    "ask": "cli_ask.ask",
    "answers": "cli_answers.app",
    "prompts": "cli_prompts.app",
    "validate": "cli.validate",
    "doctor": "cli.doctor",
}
"""Where each command is, in the order of the help."""


def command_line(first: str | None = None) -> typer.Typer:
    """Return the command line: of one command where the first word names it, else of all.

    Reading the options of every command takes longer than scoring a small run.
    """
    line = typer.Typer(
        name="goldset",
        help="Turn a folder of documents into a retrieval test set one can trust.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        callback=_options,
    )
    for name in [first] if first in COMMANDS else COMMANDS:
        module, _, attribute = COMMANDS[name].rpartition(".")
        found = getattr(import_module(f"pipeline.{module}"), attribute)
        if isinstance(found, typer.Typer):
            line.add_typer(found, name=name)
        else:
            line.command(name)(found)
    return line


def validate(folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a finished run.")]) -> None:
    """Read a run again and check every reference, span and copy."""
    from pipeline.text.amounts import amount, queries
    from pipeline.validate import validate as check

    found = check(folder)
    console = console_for()
    for problem in found.problems:
        console.print(f"{folder}: {problem}", style="red")
    console.print(
        f"{amount(found.documents, 'document')}, {amount(found.chunks, 'chunk')}, {queries(found.queries)}, "
        f"{amount(found.labels, 'label')}: "
        + (amount(len(found.problems), "problem") if found.problems else "every reference and span holds")
        + ("" if found.queries else "; with no query it measures nothing"),
    )
    if found.problems:
        raise typer.Exit(1)


def doctor(
    config: ConfigFile = None,
    model: Annotated[str | None, typer.Option(metavar="M", help="The model's name at its server.")] = None,
    base_url: Annotated[str | None, typer.Option(metavar="U", help="Any OpenAI-compatible server.")] = None,
) -> None:
    """Say what is configured, whether the model can be reached, and which local servers listen."""
    import asyncio

    from pipeline.doctor import examine

    healthy = True
    console = console_for()
    for finding in asyncio.run(examine(configured(config, model={"name": model, "base_url": base_url}))):
        healthy = healthy and finding.good is not False
        mark = {True: "ok  ", False: "bad ", None: "    "}[finding.good]
        console.print(f"{mark}{finding.what}: {finding.says}")
    if not healthy:
        raise typer.Exit(1)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"goldset {version('goldset')}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; every error on purpose is one line and an exit code."""
    _prepare()
    try:
        code = command_line(sys.argv[1] if len(sys.argv) > 1 else None)(standalone_mode=False)
        if code == Interrupted.exit_code:  # typer's own word for a KeyboardInterrupt
            code = _interrupted(GO_ON)
    except (typer.Abort, KeyboardInterrupt):
        code = _interrupted(GO_ON)
    except Interrupted as stop:
        code = _interrupted(str(stop))
    except PromptError as error:
        print(f"goldset: {_line(str(error))}", file=sys.stderr)
        code = UsageError.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except OSError as error:
        print(f"goldset: output cannot be written ({(error.strerror or 'closed').lower()})", file=sys.stderr)
        code = 1
    except GoldsetError as error:
        print(f"goldset: {_line(str(error))}", file=sys.stderr)
        code = error.exit_code
    except Exception as error:  # noqa: BLE001  the last resort: one line instead of a traceback
        code = _unexpected(error)
    sys.exit(code)


def _interrupted(how_to_go_on: str) -> int:
    print(f"goldset: interrupted; {how_to_go_on}", file=sys.stderr)
    return Interrupted.exit_code


def _prepare() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    if sys.stdout is None:  # closed by the caller
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115  until the process ends
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no «−» shows a question mark


def _interrupt(*_: object) -> NoReturn:
    """End at once: the event loop's own handler would wait for the next await, and whole stages have none.

    A second signal would only interrupt the tidying up.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _unexpected(error: Exception) -> int:
    """Print one line for what nobody foresaw; usage errors of the command line keep their own words."""
    format_message = getattr(error, "format_message", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error, file=sys.stderr)
        return UsageError.exit_code
    if format_message is not None:
        print(f"goldset: {_line(format_message())} (see goldset --help)", file=sys.stderr)
        return UsageError.exit_code
    if os.environ.get("GOLDSET_DEBUG"):
        traceback.print_exception(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}:{last.lineno}"
    print(
        f"goldset: internal error, {type(error).__name__} at {place}; nothing was replaced. "
        "Set GOLDSET_DEBUG=1 for the traceback and report it.",
        file=sys.stderr,
    )
    return 1


def _line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
