"""Options that commands share, options of the tables of the configuration, and how help shows them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from goldbench.cli.output import screen
from goldbench.errors import Parameter, UsageError
from goldbench.goldset.file_names import ANSWERS, DATASET

if TYPE_CHECKING:
    from goldbench.records.settings import SettingDeclaration

PANELS = (
    "Arguments", "Input", "Chunks", "Queries", "Systems", "Judging", "Measures", "Statistics", "People", "Model",
    "Limits", "Output", "Options",
)  # fmt: skip
"""The titles under which help shows options, in order."""

Input = partial(typer.Option, rich_help_panel="Input")
Chunks = partial(typer.Option, rich_help_panel="Chunks")
Queries = partial(typer.Option, rich_help_panel="Queries")
Systems = partial(typer.Option, rich_help_panel="Systems")
Judging = partial(typer.Option, rich_help_panel="Judging")
Measures = partial(typer.Option, rich_help_panel="Measures")
Statistics = partial(typer.Option, rich_help_panel="Statistics")
People = partial(typer.Option, rich_help_panel="People")
Model = partial(typer.Option, rich_help_panel="Model")
Limits = partial(typer.Option, rich_help_panel="Limits")
Output = partial(typer.Option, rich_help_panel="Output")


def complete_sets(incomplete: str) -> Iterator[str]:
    """Yield the folders that begin so: those of gold sets, and with a slash those that may hold some."""
    for path in sorted(Path(incomplete).parent.glob(f"{Path(incomplete).name}*/")):
        yield str(path) if (path / DATASET).is_file() else f"{path}/"


def _check_cutoffs(cutoffs: str | None) -> str | None:
    """Refuse cutoffs that are not whole numbers."""
    for text in (cutoffs or "").replace(",", " ").split():
        if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text)):
            raise UsageError(f"--k {cutoffs}: not a valid cutoff: {text!r}; give whole numbers from 1, as 1,3,5,10")
    return cutoffs


def _check_alpha(alpha: float) -> float:
    """Refuse a significance level outside 0 to 1."""
    if not 0 < alpha < 1:
        raise UsageError(f"--alpha: not a valid probability: {alpha:g}; give one between 0 and 1, as 0.05")
    return alpha


GoldPath = Annotated[
    str,
    typer.Argument(
        metavar="GOLD", help=f"Folder of a gold set, {DATASET}, TREC or BEIR judgments.", autocompletion=complete_sets
    ),
]
SearchedGold = Annotated[
    str,
    typer.Argument(
        metavar="GOLD", help=f"Folder of a gold set, {DATASET} or a BEIR folder.", autocompletion=complete_sets
    ),
]
Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of a gold set.", exists=True, autocompletion=complete_sets)
]
SystemOption = Annotated[str, Systems(metavar="NAME", help="Retrieval system.")]
BenchConfig = Annotated[Path | None, Input("--config", "-c", help="A bench.toml that describes systems.")]
RunOption = Annotated[list[str], Input(metavar="NAME=FILE", help="Results: TREC, JSON, CSV or Parquet; - is stdin.")]
MatchOption = Annotated[Literal["id", "text"], Input(help="How retrieved passages are recognised.")]
MeasureOption = Annotated[list[str] | None, Measures(metavar="NAMES", help="As ndcg@10 or 'recall@5,map@100'.")]
CutoffOption = Annotated[
    str | None,
    Measures("--k", metavar="LIST", help="Cutoffs of measures without one: 1,3,5,10.", callback=_check_cutoffs),
]
MissingOption = Annotated[Literal["zero", "skip", "error"], Measures(help="How queries that a run lacks count.")]
ScoresOption = Annotated[Literal["float64", "float32"], Measures(help="float32: ties as in trec_eval 9.")]
Permutations = Annotated[int, Statistics(min=1, help="Draws of the randomization test.")]
Seed = Annotated[int, Statistics(min=0, help="The same seed gives the same figures.")]
Alpha = Annotated[float, Statistics(metavar="P", help="Accepted chance of a false claim.", callback=_check_alpha)]
ConfigFile = Annotated[Path | None, Input(help="A goldbench.toml.")]
LedgerOption = Annotated[str | None, Input(metavar="FILE", help="People's decisions (default: in DIR).")]
Answers = Annotated[Path | None, Model(help=f"Store of model answers (default: {ANSWERS} beside DIR).")]
Replay = Annotated[bool, Model("--replay", help="Take every answer from the store; use no network.")]
Batch = Annotated[bool, Model("--batch", help="Send batches: half the price, within a day.")]
DryRun = Annotated[bool, Limits("--dry-run", help="Show the expected cost; send and write nothing.")]
Yes = Annotated[bool, Output("--yes", help="Do not ask before replacing a set people judged.")]
Wide = Annotated[bool, Output("--wide", help="Show every measure and column.")]
TableForm = Annotated[Literal["table", "markdown", "json"], Output("--format", help="What to print.")]

Given = dict[str, Any]
"""What the command line says of the tables of the configuration: table -> key -> value."""
Command = TypeVar("Command", bound=Callable[..., Any])

_OUTPUT = {
    "quiet": Annotated[bool | None, Output("--quiet", "-q", help="Print the result alone: no progress, no notes.")],
    "verbose": Annotated[bool | None, Output("--verbose", "-v", help="Print every detail.")],
    "as_json": Annotated[bool | None, Output("--json", help="Print the result as JSON.")],
}
WITHOUT_JSON = ("chunk", "open_", "serve")
"""Functions of the commands without ``--json``: they print JSON anyway, or serve a page."""


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


def with_declared_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with the options that `takes` promised, and ``--quiet``, ``--verbose`` and ``--json``.

    A command with an option ``--format`` gets ``json`` as its value; any other prints what it gave to `Output.add`.
    """
    own = inspect.signature(command, eval_str=True, locals={"Config": object}).parameters
    settings: Mapping[str, SettingDeclaration] = {}
    if {"settings", "given"} & own.keys():
        from goldbench.config import given_by, load_config, settings_in

        settings = settings_in(*command.__dict__["settings"])
    output = {
        name: option for name, option in _OUTPUT.items() if name != "as_json" or command.__name__ not in WITHOUT_JSON
    }

    def run(**values: Any) -> None:  # noqa: ANN401  whatever the command takes
        quiet, verbose, as_json = (bool(values.pop(name, None)) for name in _OUTPUT)
        if quiet and verbose:
            raise UsageError("--quiet and --verbose contradict one another; give one of them")
        if as_json and "form" in own:
            if values["form"] not in {own["form"].default, "json"}:
                raise UsageError(f"--json and --format {values['form']} contradict one another; give one of them")
            values["form"] = "json"
        screen.begin(quiet=quiet, verbose=verbose, json=as_json and "form" not in own)
        if {"settings", "given"} & own.keys():
            values["given"] = given_by({name: values.pop(name) for name in settings}, settings)
        if "settings" in own:
            values["settings"] = load_config(values.pop("config"), values.pop("given"))
        try:
            command(**values)
        except typer.Exit:
            screen.end()
            raise
        screen.end()

    added = {name: _annotation(setting) for name, setting in settings.items()} | output
    if "settings" in own:
        added["config"] = ConfigFile
    parameters = [
        *(
            own_parameter.replace(kind=own_parameter.KEYWORD_ONLY)
            for own_parameter in own.values()
            if own_parameter.name not in {"settings", "given"}
        ),
        *(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=added[name])
            for name in added
        ),
    ]
    run.__dict__["__signature__"] = inspect.Signature(parameters)
    run.__name__ = command.__name__
    run.__doc__ = command.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _annotation(setting: SettingDeclaration) -> Any:  # noqa: ANN401  a type with typer's option
    declared = setting.setting
    name = str(Parameter(str(declared.keyword)))
    option = typer.Option(name, metavar=declared.metavar, help=setting.option_help(), rich_help_panel=declared.panel)
    kind: Any = setting.type if setting.type in {bool, int, float} else str
    if isinstance(setting.type, type) and issubclass(setting.type, Enum):
        kind = Literal[tuple(member.value for member in setting.type)]
    return Annotated[kind | None, option]


class DefaultGroup(TyperGroup):
    """Subcommands of which the first may be left out: ``goldbench review DIR`` runs ``goldbench review serve DIR``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  typer keeps its classes to itself
        """Put the first subcommand in front of arguments that name none, nor nearly one."""
        first = args[0] if args else ""
        exists = first.startswith("-") or os.path.exists(first)  # noqa: PTH110  Path's own raises on a name too long
        names_one = first in {*self.commands, "--help"} or (
            not exists and get_close_matches(first, self.commands, 1, 0.7)
        )
        if not names_one and (args or not self.no_args_is_help):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


def subcommands(text: str, *, cls: type[TyperGroup] = TyperGroup, no_args_is_help: bool = True) -> typer.Typer:
    """Return an empty group of subcommands.

    Args:
        text: Its help, the first line at most 45 characters, and an example.
        cls: `DefaultGroup` where the first subcommand may be left out.
        no_args_is_help: False where the first subcommand is run by the name of the group alone.
    """
    return typer.Typer(cls=cls, help=text, no_args_is_help=no_args_is_help, add_completion=False, rich_markup_mode=None)


class PanelCommand(TyperCommand):
    """A command whose help shows its options under titles."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  typer keeps these classes to itself
        """Write the options of each title, titles in the order of ``PANELS``."""
        for title, rows in rows_by_title(self, ctx).items():
            with formatter.section(title):
                formatter.write_dl(rows)


def rows_by_title(command: TyperCommand, ctx: Any) -> dict[str, list[tuple[str, str]]]:  # noqa: ANN401  typer's
    """Return the arguments and options of a command with their help, by title.

    Args:
        command: The command.
        ctx: The context in which typer shows its help.
    """
    rows: dict[str, list[tuple[str, str]]] = {title: [] for title in PANELS}
    for parameter in command.get_params(ctx):
        title = "Arguments" if parameter.param_type_name == "argument" else "Options"
        record = parameter.get_help_record(ctx)
        if record is not None:
            rows[getattr(parameter, "rich_help_panel", None) or title].append(record)
    return {title: records for title, records in rows.items() if records}


def beside(folder: Path, ending: str) -> Path:
    """Return the path of a new folder beside another, named like that with an ending; ``.`` and ``..`` have names too.

    Args:
        folder: The folder.
        ending: What follows its name.
    """
    named = folder if folder.name not in {"", ".."} else folder.resolve()
    return named.with_name(f"{named.name}{ending}")
