"""Values of the command line that are plain text, numbers or choices as they stand.

Typer converts every value with pydantic, whose import takes longer than scoring a small run.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints


def spare_conversions(command: Any, parameters: list[Any]) -> list[Any]:  # noqa: ANN401  typer keeps its classes to itself
    """Return the parameters of a command, which take plain values as they are; typer converts and refuses all others.

    Args:
        command: The command.
        parameters: Its parameters, the option ``--help`` among them.
    """
    kinds = get_type_hints(command.callback)
    for parameter in parameters:
        if "process_value" not in vars(parameter):
            kind = kinds.get(parameter.name)
            members = [one for one in get_args(kind) if one is not NoneType]
            kind = members[0] if NoneType in get_args(kind) else kind
            parameter.process_value = partial(_value, parameter, kind, parameter.process_value)
    return parameters


def _value(parameter: Any, kind: Any, convert: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:  # noqa: ANN401
    """Return the value of a parameter of a kind."""
    if value is None and not parameter.required:
        plain: Any = () if parameter.multiple else None
    elif kind is Path and _may_be_read(value):
        plain = Path(value)
    elif _is(kind, value):
        plain = value
    else:
        return convert(ctx, value)
    return parameter.callback(ctx, parameter, plain) if parameter.callback else plain


def _may_be_read(value: object) -> bool:
    """Return whether a value is text and names a file that may be read, or that does not exist."""
    return isinstance(value, str) and (not os.path.exists(value) or os.access(value, os.R_OK))  # noqa: PTH110


def _is(kind: Any, value: object) -> bool:  # noqa: ANN401  a type, a list of one, or choices
    """Return whether a value is of that kind already."""
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_origin(kind) is list:
        return isinstance(value, list | tuple) and bool(value) and all(_is(get_args(kind)[0], one) for one in value)
    return type(value) is kind
