"""The ``goldbench`` command line: its commands by group, each with its options built when it is needed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from inspect import getdoc
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from goldbench import __version__
from goldbench.cli.options import PanelCommand, with_declared_options

GROUPS: dict[str, dict[str, str]] = {
    "Make a set": {
        "init": "init.init",
        "build": "build.build",
        "refresh": "build.refresh",
        "add": "sets.add",
        "import": "sets.import_",
        "chunk": "build.chunk",
    },
    "Judge it": {
        "grade": "grade.grade",
        "topup": "grade.topup",
        "review": "review.app",
        "agreement": "trust.agreement",
        "feedback": "grade.feedback",
        "card": "trust.card",
    },
    "Measure": {
        "bench": "bench.bench",
        "open": "review.open_",
        "retrieve": "bench.retrieve",
        "score": "score.score",
        "compare": "score.compare",
        "gate": "gate.gate",
        "monitor": "gate.monitor",
        "drift": "explore.drift",
        "ask": "explore.ask",
    },
    "Keep sets": {
        "validate": "sets.validate",
        "diff": "sets.diff",
        "split": "sets.split",
        "rechunk": "sets.rechunk",
        "export": "sets.export",
    },
    "Models": {
        "doctor": "models.doctor",
        "models": "models.models",
        "prompts": "models.prompts",
        "answers": "models.answers",
    },
}
"""Module and function (or group of subcommands) of each command, in the order of the help."""
COMMANDS = {name: target for group in GROUPS.values() for name, target in group.items()}
"""Module and function of every command by its name."""


class _Program(TyperGroup):
    """The commands; the options of each are built when it is needed."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  what typer gives
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name) for name in COMMANDS}  # the names alone

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002  typer keeps its classes to itself
        """Return a command with its options, or None for an unknown name."""
        return built(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002
        """Write the commands by group with the first line of their help."""
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, _text_of(_target(name)).partition("\n")[0]) for name in group])


def _target(name: str) -> Any:  # noqa: ANN401  a function, or a typer.Typer with subcommands
    module, _, attribute = COMMANDS[name].rpartition(".")
    return getattr(import_module(f"goldbench.cli.{module}"), attribute)


def _text_of(target: Any) -> str:  # noqa: ANN401  as above
    """Return the help of a command or of a group of subcommands, with its example."""
    return str(target.info.help) if isinstance(target, typer.Typer) else getdoc(target) or ""


def _text_and_example(target: Any) -> tuple[str, str]:  # noqa: ANN401  as above
    """Return the help of a command, and its example, which is the last paragraph of its docstring."""
    text, mark, example = _text_of(target).partition("\n\nExample: ")
    return text, f"{mark.strip()} {example}"


@cache
def built(name: str) -> Any:  # noqa: ANN401  typer keeps its classes to itself
    """Return a command with its options and its subcommands."""
    group = target = _target(name)
    if isinstance(target, typer.Typer):
        group.info.help, group.info.epilog = _text_and_example(target)
    else:
        group = typer.Typer(add_completion=False, rich_markup_mode=None)
        group.command(name)(target)
    for command in group.registered_commands:
        command.help, command.epilog = _text_and_example(command.callback)
        command.cls = PanelCommand
        command.callback = with_declared_options(command.callback)
    built_command = typer.main.get_command(group)
    built_command.name = name
    return built_command


def command_line() -> typer.Typer:
    """Return the command line."""
    return typer.Typer(
        name="goldbench",
        cls=_Program,
        help="Turn a folder of documents into a retrieval test set one can trust.",
        epilog="goldbench COMMAND --help shows an example and the options of a command.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        callback=_options,
    )


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"goldbench {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    pass
