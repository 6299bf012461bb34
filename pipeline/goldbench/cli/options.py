"""Options that commands share, options derived from the tables of the configuration, and how help shows them."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from goldbench.cli.command_list import example_of
from goldbench.errors import Parameter, UsageError
from goldbench.goldset.file_names import ANSWERS
from goldbench.text.display import shown

if TYPE_CHECKING:
    from rich.console import Console

    from goldbench.records.settings import Declared

PANELS = (
    "Arguments",
    "Input",
    "Chunks",
    "Queries",
    "Systems",
    "Judging",
    "Measures",
    "Statistics",
    "People",
    "Model",
    "Limits",
    "Output",
    "Options",
)
"""The titles under which help shows options, in order."""
_WIDEST_NAME = 60
"""Limits an option with its choices, in characters; more choices stand in the text beside it."""

_option = functools.partial(typer.Option, show_default=False)
"""Defaults stand in the help text, as people write them: 0.2 = 20 %."""
input_option = functools.partial(_option, rich_help_panel="Input")
chunk_option = functools.partial(_option, rich_help_panel="Chunks")
query_option = functools.partial(_option, rich_help_panel="Queries")
system_option = functools.partial(_option, rich_help_panel="Systems")
judging_option = functools.partial(_option, rich_help_panel="Judging")
measure_option = functools.partial(_option, rich_help_panel="Measures")
statistics_option = functools.partial(_option, rich_help_panel="Statistics")
people_option = functools.partial(_option, rich_help_panel="People")
model_option = functools.partial(_option, rich_help_panel="Model")
limit_option = functools.partial(_option, rich_help_panel="Limits")
output_option = functools.partial(_option, rich_help_panel="Output")

Given = dict[str, Any]
"""What the command line says of the tables of the configuration: table -> key -> value."""

ConfigFile = Annotated[Path | None, input_option("--config", metavar="FILE", help="A goldbench.toml.")]
Answers = Annotated[
    Path | None, model_option(metavar="FILE", help=f"Store of model answers (default: {ANSWERS} beside DIR).")
]
Replay = Annotated[bool, model_option("--replay", help="Take every answer from the store; use no network.")]
Batch = Annotated[bool, model_option("--batch", help="Send batches: half the price, within a day.")]
DryRun = Annotated[bool, limit_option("--dry-run", help="Show the expected cost; send and write nothing.")]
Command = TypeVar("Command", bound=Callable[..., Any])


def takes(*settings: str) -> Callable[[Command], Command]:
    """Give a command the options of settings, and the configuration that they and ``--config`` make.

    The command has a parameter ``settings``, which is the finished ``Config``; or a parameter ``given``, which holds
    the values of the options, where the command reads a file of its own.

    Args:
        settings: Tables, as ``model``, or single settings, as ``model.base_url``.
    """

    def mark(command: Command) -> Command:
        command.__dict__["settings"] = settings
        return command

    return mark


def complete(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with the options that `takes` promised; any other command as it is."""
    names = command.__dict__.get("settings")
    if names is None:
        return command
    from goldbench.config import given_by, load_config, settings_in

    chosen = settings_in(*names)
    own = inspect.signature(command, eval_str=True, locals={"Config": object}).parameters
    finished = "settings" in own

    def run(**values: Any) -> Any:  # noqa: ANN401  whatever the command takes and returns
        given: Given = given_by({name: values.pop(name) for name in chosen}, chosen)
        if finished:
            config = values.pop("config")
            return command(**values, settings=load_config(config, given))
        return command(**values, given=given)

    kept = [one.replace(kind=one.KEYWORD_ONLY) for one in own.values() if one.name not in {"settings", "given"}]
    if finished:
        kept.append(inspect.Parameter("config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=ConfigFile))
    kept += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(one))
        for name, one in chosen.items()
    ]
    run.__dict__["__signature__"] = inspect.Signature(kept)
    run.__name__, run.__doc__, run.__annotations__ = command.__name__, command.__doc__, {}
    return run


def _annotation(setting: Declared) -> Any:  # noqa: ANN401  a type with typer's option
    shown_as = setting.setting
    name = str(Parameter(str(shown_as.keyword)))
    option = _option(name, metavar=shown_as.metavar, help=setting.option_help(), rich_help_panel=shown_as.panel)
    kind: Any = setting.type if setting.type in {bool, int, float} else str
    if isinstance(setting.type, type) and issubclass(setting.type, Enum):
        kind = Literal[tuple(member.value for member in setting.type)]
    return Annotated[kind | None, option]


class _WithExample:
    """A command or a group whose help ends with an example."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002  typer keeps its classes to itself
        """Write the example behind the options."""
        words = str(getattr(getattr(self, "callback", None), "words", None) or getattr(self, "name", ""))
        with formatter.section("Example"):
            formatter.write(f"  goldbench {example_of(words)}\n")


class CommandGroup(_WithExample, TyperGroup):
    """Subcommands; the help of the group shows their summaries whole, and ends with an example."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002  typer keeps its classes to itself
        """Write the subcommands with the first line of their help."""
        rows = [(name, (one.help or "").partition("\n")[0]) for name, one in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class DefaultGroup(CommandGroup):
    """Subcommands of which the first may be left out: ``goldbench review DIR`` runs ``goldbench review serve DIR``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  typer keeps its classes to itself
        """Put the first subcommand in front of arguments that name none.

        Raises:
            UsageError: The first argument is nothing that exists, and resembles a subcommand.
        """
        if args and args[0] not in {*self.commands, "--help"}:
            self._check_meant(args[0])
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)

    def _check_meant(self, word: str) -> None:
        from goldbench.text.suggestion import did_you_mean

        exists = word.startswith("-") or os.path.exists(word)  # noqa: PTH110  Path's own raises on a name too long
        meant = "" if exists else did_you_mean(word, self.commands, likeness=0.7)
        if meant:
            raise UsageError(f"no such command: {shown(word)}{meant}")


class BareGroup(DefaultGroup):
    """Subcommands of which the first is also run by the name of the group alone."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  typer keeps its classes to itself
        """Put the first subcommand where there are no arguments."""
        return super().parse_args(ctx, args or [next(iter(self.commands))])


def subcommands(summary: str, *, cls: type[CommandGroup] = CommandGroup) -> typer.Typer:
    """Return an empty group of subcommands.

    Args:
        summary: Its help, the first line at most 45 characters.
        cls: `DefaultGroup` where the first subcommand may be left out, `BareGroup` where it also needs no argument.
    """
    return typer.Typer(cls=cls, help=summary, no_args_is_help=True, add_completion=False, rich_markup_mode=None)


class GroupedCommand(_WithExample, TyperCommand):
    """A command whose help shows its options under titles, and an example."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  typer keeps these classes to itself
        """Write the options of each title, titles in the order of ``PANELS``."""
        rows = rows_by_title(self, ctx)
        for title in sorted(rows, key=PANELS.index):
            with formatter.section(title):
                formatter.write_dl(rows[title])


def rows_by_title(command: TyperCommand, ctx: Any) -> dict[str, list[tuple[str, str]]]:  # noqa: ANN401  typer's
    """Return the arguments and options of a command with their help, by title.

    Args:
        command: The command.
        ctx: The context in which typer shows its help.
    """
    rows: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            is_argument = parameter.param_type_name == "argument"
            title = getattr(parameter, "rich_help_panel", None) or ("Arguments" if is_argument else "Options")
            rows.setdefault(title, []).append(_with_choices_beside(*record))
    return rows


def _with_choices_beside(name: str, told: str) -> tuple[str, str]:
    """Move choices that are too many for a line from the name of a value to what is told of it."""
    choices = re.search(r" <([^<>|]+(?:\|[^<>|]+)+)>", name)
    if choices is None or len(name) <= _WIDEST_NAME:
        return name, told
    said, space, required = told.partition("  [")
    named = f"{said} One of {', '.join(choices[1].split('|'))}."
    return name.replace(choices[0], " NAME" if name.startswith("-") else ""), f"{named}{space}{required}"


def print_list(lines: Iterable[str], *, shown: int, rest: str) -> None:
    """Print the first lines on standard error, and how many more there are.

    Args:
        lines: The lines.
        shown: Most lines that are printed.
        rest: What follows the number of the other lines, as " more".
    """
    from goldbench.cli.output import screen

    every = list(lines)
    screen.note(*every[:shown])
    if len(every) > shown:
        screen.note(f"and {len(every) - shown:,} {rest}")


def progress_console() -> Console:
    """Return the console for progress, on standard error; it prints nothing with ``--quiet``, and takes no markup."""
    from rich.console import Console

    from goldbench.cli.output import screen

    return Console(stderr=True, soft_wrap=True, markup=False, highlight=False, quiet=screen.quiet)


def beside(folder: Path, ending: str) -> Path:
    """Return the path of a new folder beside another, named like that with an ending; ``.`` and ``..`` have names too.

    Args:
        folder: The folder.
        ending: What follows its name.
    """
    named = folder if folder.name not in {"", ".."} else folder.resolve()
    return named.with_name(f"{named.name}{ending}")
