"""The ``goldbench`` command: wires the parts together and prints. Heavy imports happen inside the commands."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from goldbench.pipeline.cli.options import GO_ON, GroupedCommand, Interrupted, complete
from goldbench.pipeline.errors import GoldbenchError, UsageError
from goldbench.pipeline.text.display import one_line

COMMANDS = {
    "build": ("build.build", "Build a gold set from documents."),
    "refresh": ("refresh.refresh", "Read changed documents again."),
    "chunk": ("build.chunk", "Cut documents into chunks, one per line."),
    "import": ("import_.import_", "Turn a public benchmark into a gold set."),
    "grade": ("grade.grade", "Grade a pool of passages for every query."),
    "topup": ("grade.topup", "Grade the unjudged results of a new run."),
    "card": ("card.card", "Show how far a gold set can be trusted."),
    "review": ("review.app", "Let people judge."),
    "agreement": ("agreement.agreement", "Compare two sets of labels."),
    "rechunk": ("rechunk.rechunk", "Move a gold set to another chunking."),
    "diff": ("diff.diff", "Show what changed between two gold sets."),
    "split": ("split.split", "Divide a gold set into dev and test."),
    "merge": ("merge.merge", "Make one gold set of two."),
    "version": ("version.version", "Show or set the version of a gold set."),
    "add": ("add.add", "Add your own queries to a gold set."),
    "retrieve": ("retrieve.retrieve", "Search for every query and write a run."),
    "score": ("score.score", "Score runs with trec_eval's measures."),
    "compare": ("compare.compare", "Test which run is better, pair by pair."),
    "bench": ("bench.bench", "Measure retrieval systems on one gold set."),
    "gate": ("gate.gate", "Check a run for regressions; for CI."),
    "monitor": ("monitor.app", "Keep a history of scores."),
    "drift": ("drift.drift", "Show how well a log of queries is covered."),
    "feedback": ("feedback.feedback", "Count users' clicks and thumbs per passage."),
    "ask": ("ask.ask", "Ask questions and see what is retrieved."),
    "answers": ("answers.app", "Manage a store of model answers."),
    "models": ("runnable_models.app", "List or download models for this machine."),
    "prompts": ("prompts.app", "Show exactly what a model is sent."),
    "validate": ("validate.validate", "Check every reference of a gold set."),
    "doctor": ("doctor.doctor", "Check the configuration and the model server."),
}
"""Module and name of each command, and its summary, for which the help imports nothing; in the order of the help."""


class _Commands(TyperGroup):
    """The commands; each is imported, and its options are read, when it is needed."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  what typer gives
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name) for name in COMMANDS}  # the names alone

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002  typer keeps its classes to itself
        """Return a command with its options, or None for an unknown name."""
        return built(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002
        """Write the summary of every command without importing it."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


def _found(name: str) -> Any:  # noqa: ANN401  a function, or a typer.Typer with subcommands
    module, _, attribute = COMMANDS[name][0].rpartition(".")
    return getattr(import_module(f"goldbench.pipeline.cli.{module}"), attribute)


def built(name: str) -> Any:  # noqa: ANN401  typer keeps its classes to itself
    """Return a command with its options and its subcommands."""
    found = _found(name)
    if not isinstance(found, typer.Typer):
        line = typer.Typer(add_completion=False, rich_markup_mode=None)
        line.command(name)(found)
        found = line
    for info in found.registered_commands:
        assert info.callback is not None
        info.cls, info.callback = GroupedCommand, complete(info.callback)
    command = typer.main.get_command(found)
    command.name = name
    return command


def command_line() -> typer.Typer:
    """Return the command line."""
    return typer.Typer(
        name="goldbench",
        cls=_Commands,
        help="Turn a folder of documents into a retrieval test set one can trust.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        callback=_options,
    )


def _print_version(asked: bool) -> None:
    if asked:
        from goldbench.pipeline.goldset.own_version import own_version

        typer.echo(f"goldbench {own_version()}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; every expected error is one line and an exit code."""
    _prepare()
    try:
        code = command_line()(standalone_mode=False)
        if code == Interrupted.exit_code:  # typer's own word for a KeyboardInterrupt
            code = _interrupted(GO_ON)
    except (typer.Abort, KeyboardInterrupt):
        code = _interrupted(GO_ON)
    except Interrupted as stop:
        code = _interrupted(str(stop))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except OSError as error:
        reason = (error.strerror or "closed").lower()
        code = _failed(f"output cannot be written ({reason}); check free space and permissions", 1)
    except GoldbenchError as error:
        code = _failed(str(error), error.exit_code)
    except Exception as error:  # noqa: BLE001  the last resort: one line instead of a traceback
        code = _unexpected(error)
    sys.exit(code)


def _failed(problem: str, code: int) -> int:
    """Print one line on standard error, and return the exit code."""
    print(f"goldbench: {one_line(problem)}", file=sys.stderr)
    return code


def _interrupted(how_to_go_on: str) -> int:
    return _failed(f"interrupted; {how_to_go_on}", Interrupted.exit_code)


def _prepare() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    if sys.stdout is None:  # closed by the caller
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  until the process ends
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no «−» shows a question mark
            if not stream.isatty() and "PYTHONIOENCODING" not in os.environ:
                stream.reconfigure(encoding="utf-8")  # as every file; Windows would choose its code page


def _interrupt(*_: object) -> NoReturn:
    """End at once: the event loop's own handler waits for the next await, and whole stages have none.

    Further signals are ignored, so that they do not interrupt the clean-up.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _plain(message: str) -> str:
    """Return a message of typer about an option without the phrases of its libraries."""
    plain = re.sub(r"^Invalid value for '(--[\w-]+)[^:]*: (?:Value error, )?", r"\1: ", message)
    return re.sub(r"Input should be (a valid \w+)\b.*", r"not \1", plain)


def _unexpected(error: Exception) -> int:
    """Print one line for an unforeseen error; those of typer and of prompt files keep their message."""
    from goldbench.prompts.loader import PromptError  # slow to import

    if isinstance(error, PromptError):
        return _failed(str(error), UsageError.exit_code)
    format_message = getattr(error, "format_message", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error, file=sys.stderr)
        return UsageError.exit_code
    if format_message is not None:
        return _failed(f"{_plain(format_message())} (see goldbench --help)", UsageError.exit_code)
    if os.environ.get("GOLDBENCH_DEBUG"):
        traceback.print_exception(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}:{last.lineno}"
    return _failed(
        f"internal error: {type(error).__name__} at {place}; no existing set was replaced. "
        "Set GOLDBENCH_DEBUG=1 to see the traceback, and report it.",
        1,
    )
