"""One setting: what a person is told about it, written beside its type, range and default in a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

SHARE = "share"
"""The unit of a number that is a part of a whole: 0.05 is shown as 5 %, too."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Stands in the ``Annotated`` type of a field; help pages, examples and the reference are written from it.

    A field without one is a setting of a file alone, which its ``description`` explains.

    Attributes:
        help: One phrase without a full stop; with the default behind it at most 60 characters.
        keyword: The option of a command, as a keyword; None where only the configuration file has the setting.
        panel: The title under which ``--help`` shows the option.
        metavar: What the help calls the option's value; None lets it name the type.
        unit: The unit of a number.
        unset: What happens where the setting has no value.
        example: What a commented-out line of the example configuration shows where there is no default.
    """

    help: str
    keyword: str | None = None
    panel: str = ""
    metavar: str | None = None
    unit: str = ""
    unset: str = ""
    example: Any = None


@dataclass(frozen=True, slots=True)
class SettingDeclaration:
    """A setting where it is declared: ``path`` holds the names of its tables and its key."""

    path: tuple[str, ...]
    field: FieldInfo
    setting: Setting

    @property
    def key(self) -> str:
        """The key with its tables, as ``model.max_usd``."""
        return ".".join(self.path)

    @property
    def type(self) -> Any:  # noqa: ANN401  an int, an Enum, a tuple of them …
        """The type of a value, without the None of a setting that may be unset."""
        return _without_none(self.field.annotation)

    @property
    def default(self) -> Any:  # noqa: ANN401  any value
        """The value of a file without this key."""
        return self.field.get_default(call_default_factory=True)

    def kind(self) -> str:
        """Return what may be given, as ``whole number from 1 to 50``."""
        return f"{_named(self.type)}{_range(self.field.metadata)}"

    def default_text(self) -> str:
        """Return the default in words; for an unset one what happens then."""
        value = self.default
        if self.field.is_required():
            return "required"
        if value is None or value in ("", ()) or isinstance(value, dict | BaseModel):
            return self.setting.unset or ("none" if value == () else "")
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, Enum):
            return str(value.value)
        return share_text(value) if self.setting.unit == SHARE else f"{value}"

    def option_help(self) -> str:
        """Return the help of the option: one line, with the default."""
        default = "" if self.type is bool else self.default_text()
        return f"{self.setting.help}{f' (default: {default})' if default else ''}."


def share_text(share: float) -> str:
    """Return a share as a number and in percent: ``0.05 = 5 %``."""
    return f"{share:g} = {share:.0%}".replace("%", " %")


def declared(table: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[SettingDeclaration]:
    """Yield the settings of a table and of the tables in it, in the order of the record's fields.

    Args:
        table: The record.
        path: The names of the tables that the record stands in.
    """
    for name, field in table.model_fields.items():
        keys = (*path, field.alias or name)
        inner = _without_none(field.annotation)
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from declared(inner, keys)
            continue
        setting = next((item for item in field.metadata if isinstance(item, Setting)), None)
        yield SettingDeclaration(keys, field, setting or Setting((field.description or "").rstrip(".")))


def put(settings: dict[str, Any], path: Sequence[str], value: object) -> None:
    """Put the value of a setting into the tables of a configuration.

    Args:
        settings: The tables: name -> key -> value, tables within tables likewise.
        path: The names of the setting's tables and its key.
        value: The value.
    """
    table = settings
    for name in path[:-1]:
        table = table.setdefault(name, {})
    table[path[-1]] = value


def _without_none(annotation: Any) -> Any:  # noqa: ANN401  a type
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    return kinds[0] if type(None) in get_args(annotation) and len(kinds) == 1 else annotation


def _named(kind: Any) -> str:  # noqa: ANN401  a type
    origin = get_origin(kind)
    inner = get_args(kind)
    if origin is Literal:
        return _choices([str(choice) for choice in inner])
    if origin is tuple:
        return f"list of {_named(inner[0])}"
    if origin is dict:
        return f"table of {_named(inner[1])} by {_named(inner[0])}"
    if origin is Union or (origin is not None and inner and not isinstance(kind, type)):
        return _named(inner[0])
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _choices([str(member.value) for member in kind])
    return {bool: "true or false", int: "whole number", float: "number", str: "text", Path: "path"}.get(kind, "value")


def _choices(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _range(metadata: list[Any]) -> str:
    """Return the range in words: ``ge``, ``gt`` and ``le`` of the field's metadata."""
    bounds = {name: getattr(item, name) for item in metadata for name in ("ge", "gt", "le") if hasattr(item, name)}
    bounds_in_words = {name: f"{value:,}" if isinstance(value, int) else f"{value:g}" for name, value in bounds.items()}
    least, above, most = (bounds_in_words.get(name) for name in ("ge", "gt", "le"))
    if least is not None:
        return f" from {least} to {most}" if most is not None else f" of at least {least}"
    if above is not None:
        return f" above {above}" + (f", at most {most}" if most is not None else "")
    return ""
