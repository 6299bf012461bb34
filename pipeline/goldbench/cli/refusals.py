"""What is wrong with the words of a command line, told as every other error of goldbench: what, where, what to do."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from goldbench.text.display import shown

_LONGEST = 60
"""Characters of a wrong value that are shown."""
_NEARBY = 2
"""Letters by which the lengths of two options differ at most where one is probably meant by the other."""


def refusal(error: Any) -> str:  # noqa: ANN401  typer keeps its classes to itself
    """Return one line for an error of typer, without the phrases of its libraries."""
    kind, message = type(error).__name__, error.format_message()
    command = getattr(getattr(error, "ctx", None), "command", None)
    path = getattr(getattr(error, "ctx", None), "command_path", "goldbench")
    if found := re.match(r"No such command '(.*?)'\.", message, re.DOTALL):
        said = _unknown_command(found[1], getattr(command, "commands", ()))
    elif kind == "NoSuchOption":
        said = _unknown_option(error.option_name, getattr(command, "params", ()))
    elif kind == "MissingParameter" and error.param is not None:
        said = _missing(error.param)
    elif kind == "BadParameter" and error.param is not None:
        said = _wrong_value(error)
    elif found := re.match(r"Option '(.*?)' requires", message):
        said = f"{found[1]}: give a value"
    elif found := re.match(r"Got unexpected extra argument\S* \((.*)\)", message, re.DOTALL):
        said = f"unexpected argument: {shown(found[1])}{_question(found[1], getattr(command, 'params', ()))}"
    else:
        said = message.rstrip(".")
    return f"{said} (see {path} --help)"


def _unknown_command(name: str, known: Iterable[str]) -> str:
    from goldbench.text.suggestion import did_you_mean

    return f"no such command: {shown(name)}{did_you_mean(name, known)}"


def _question(asked: str, parameters: Iterable[Any]) -> str:
    """Return how words that are no option's are asked as a question, empty if the command takes none."""
    takes = any("--question" in one.opts for one in parameters)
    return f"; did you mean --question {shown(shlex.quote(asked))}?" if takes else ""


def _unknown_option(option: str, parameters: Iterable[Any]) -> str:
    """Return what is wrong with an option; the two dashes, which all options share, do not make two of them alike."""
    from goldbench.text.suggestion import did_you_mean

    name = option.lstrip("-")
    known = {one.removeprefix("--") for parameter in parameters for one in parameter.opts if one.startswith("--")}
    near = [one for one in known | {"help"} if abs(len(one) - len(name)) <= _NEARBY]
    return f"no such option: {shown(option)}{did_you_mean(name, near).replace('mean ', 'mean --')}"


def _missing(parameter: Any) -> str:  # noqa: ANN401  typer keeps its classes to itself
    if parameter.param_type_name == "argument":
        return f"missing argument: {_named(parameter)}"
    return f"missing option: {_named(parameter)} {parameter.metavar or ''}".rstrip()


def _named(parameter: Any) -> str:  # noqa: ANN401
    """Return an option as it is typed, or the name of an argument as help shows it."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper()).strip("[]").removesuffix("...")
    return next((one for one in parameter.opts if one.startswith("--")), str(parameter.opts[0]))


def _wrong_value(error: Any) -> str:  # noqa: ANN401
    """Return what is wrong with a value: one that pydantic refused, or what a check of typer says of it."""
    problems = getattr(error.__cause__, "errors", None)
    if problems is None:
        said = re.sub(r"^(Invalid value[^:]*: )?", "", error.format_message())
        return f"{_named(error.param)}: {said.rstrip('.')}"
    problem = problems(include_url=False)[0]
    value, told = problem.get("input"), error.param.type_descriptor
    wanted = _choice(value, told.choices) if told.choices is not None else _range(problem, told)
    return f"{_named(error.param)}: not a valid value: {shown(str(value))[:_LONGEST]!r}{wanted}"


def _choice(value: object, choices: Iterable[object]) -> str:
    from goldbench.text.suggestion import did_you_mean

    names = [str(one.value if isinstance(one, Enum) else one) for one in choices]
    *most, last = names
    offered = f"; give {', '.join(most)} or {last}" if most else f"; give {last}"
    return f"{offered}{did_you_mean(str(value), names)}"


def _range(problem: Mapping[str, Any], told: Any) -> str:  # noqa: ANN401
    """Return what to give in the place of a number, or what pydantic says of any other value."""
    kind = {int: "a whole number", float: "a number"}.get(told.annotation)
    if kind is None:
        kind = {"int": "a whole number", "float": "a number"}.get(str(problem["type"]).partition("_")[0])
    if kind is None and problem["type"] not in {"greater_than_equal", "less_than_equal"}:
        return f" ({str(problem['msg']).removeprefix('Value error, ').rstrip('.')})"
    low, high = told.parameter_info.min, told.parameter_info.max
    if low is not None and high is not None:
        return f"; give {kind or 'a number'} from {low:,} to {high:,}"
    if low is not None or high is not None:
        bound = f"at least {low:,}" if high is None else f"at most {high:,}"
        return f"; give {kind or 'a number'} of {bound}"
    return f"; give {kind}"
