"""The ``goldbench`` command line as typer reads it. Heavy imports happen inside the commands."""

from __future__ import annotations

import inspect
import os
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import OptionInfo

from goldbench import __version__
from goldbench.cli.command_list import COMMANDS, SUMMARY, VERSION_HELP, overview
from goldbench.cli.options import GroupedCommand, complete
from goldbench.cli.output import with_output


class _Commands(TyperGroup):
    """The commands; each is imported, and its options are read, when it is needed."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  what typer gives
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name) for name in COMMANDS}  # the names alone

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002  typer keeps its classes to itself
        """Return a command with its options, or None for an unknown name."""
        return built(cmd_name) if cmd_name in COMMANDS else None

    def get_help(self, ctx: Any) -> str:  # noqa: ANN401, ARG002
        """Return the summary of every command without importing it."""
        return overview().rstrip("\n")


def _found(name: str) -> Any:  # noqa: ANN401  a function, or a typer.Typer with subcommands
    module, _, attribute = COMMANDS[name][0].rpartition(".")
    return getattr(import_module(f"goldbench.cli.{module}"), attribute)


def built(name: str) -> Any:  # noqa: ANN401  typer keeps its classes to itself
    """Return a command with its options and its subcommands."""
    found = _found(name)
    if not isinstance(found, typer.Typer):
        line = typer.Typer(add_completion=False, rich_markup_mode=None)
        line.command(name)(found)
        found = line
    for info in found.registered_commands:
        assert info.callback is not None
        own = (info.name or info.callback.__name__).replace("_", "-")
        words = name if own == name else f"{name} {own}"
        info.cls, info.callback = GroupedCommand, with_output(complete(info.callback), words)
    if "_GOLDBENCH_COMPLETE" in os.environ:
        _offer_values(found)
    command = typer.main.get_command(found)
    command.name = name
    return command


def _offer_values(found: typer.Typer) -> None:
    """Tell the shell what values the options and arguments of commands take."""
    from goldbench.cli.offered_values import completion_of

    for info in found.registered_commands:
        assert info.callback is not None
        for parameter in inspect.signature(info.callback).parameters.values():
            (told,) = parameter.annotation.__metadata__
            option = f"--{parameter.name.replace('_', '-')}" if isinstance(told, OptionInfo) else ""
            named = next((one for one in told.param_decls or () if one.startswith("--")), option)
            told.autocompletion = completion_of(named if option else "", told.metavar)


def command_line() -> typer.Typer:
    """Return the command line."""
    return typer.Typer(
        name="goldbench",
        cls=_Commands,
        help=SUMMARY,
        no_args_is_help=True,
        add_completion=_completes(),
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        callback=_options,
    )


def _completes() -> bool:
    """Return whether the shell asks for completions, or the user for their script: only then are they set up."""
    return "_GOLDBENCH_COMPLETE" in os.environ or any("-completion" in one for one in sys.argv[1:2])


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"goldbench {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", help=VERSION_HELP, is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    pass
